"""Power calculations: the smallest difference between two models that a study can detect."""

from __future__ import annotations

import math
from statistics import NormalDist


def detectable_difference(
    share: float, pairs: int, seeds: int, *, own: float, level: float = 0.05, power: float = 0.8
) -> float:
    r"""Return the smallest difference between two models' proportions that a two-sided test detects with a given power.

    Each model is trained with several seeds, and is measured by the proportion of pairs on which its prediction flips
    (fairscore), averaged over seeds. A proportion ``own`` of the variance of a flip belongs to the pair and is the same
    for every seed; the rest is independent between seeds. Flips of the two models are assumed to be independent, which
    overestimates the number of pairs needed by models that flip on the same ones.

    .. math:: (z_{1 - level / 2} + z_{power}) \sqrt{2 p (1 - p) (own + (1 - own) / seeds) / pairs}

    Args:
        share: Proportion of pairs that flip, in [0, 1].
        pairs: Number of pairs, at least 1.
        seeds: Number of seeds per model, at least 1.
        own: Proportion of the variance that belongs to the pair, in [0, 1]. With 1, a further seed adds no information;
            with 0, it adds as much as the same number of new pairs.
        level: Significance level.
        power: Probability of detecting a difference of this size.

    Returns:
        Difference, in [0, 1].

    Raises:
        ValueError: a value is out of its range.

    Example:
        >>> round(detectable_difference(0.05, 400, 1, own=1.0), 4)
        0.0432

    Source: the usual normal approximation for two proportions, for example in Cohen 1988, "Statistical Power Analysis".
    """
    if not (0 <= share <= 1 and 0 <= own <= 1 and 0 < level < 1 and 0 < power < 1) or min(pairs, seeds) < 1:
        raise ValueError(f"out of range: share {share}, own {own}, level {level}, power {power}, {pairs}, {seeds}")
    quantiles = NormalDist().inv_cdf(1 - level / 2) + NormalDist().inv_cdf(power)
    return quantiles * math.sqrt(2 * share * (1 - share) * (own + (1 - own) / seeds) / pairs)


def detectable_mean(deviation: float, n: int, *, level: float = 0.05, power: float = 0.8) -> float:
    r"""Return the smallest mean of ``n`` paired differences that a two-sided t-test detects with a given power.

    The power for a mean :math:`d` above 0 is that of the noncentral t-distribution with n - 1 degrees of freedom and
    noncentrality :math:`d \sqrt{n} / s`.

    Args:
        deviation: Standard deviation of a difference, at least 0.
        n: Number of differences, for example of seeds, at least 3.
        level: Significance level.
        power: Probability of detecting a mean of this size, above ``level``.

    Returns:
        Mean, in units of the deviation.

    Raises:
        ValueError: a value is out of its range.

    Example:
        >>> round(detectable_mean(1.0, 5), 2)
        1.68

    Source: Cohen 1988, "Statistical Power Analysis", section 2.3.
    """
    if deviation < 0 or n < 3 or not 0 < level < power < 1:
        raise ValueError(f"out of range: deviation {deviation}, n {n}, level {level}, power {power}")
    from scipy.optimize import brentq
    from scipy.stats import nct, t

    critical = t.ppf(1 - level / 2, n - 1)

    def missed(noncentrality: float) -> float:
        return float(power - nct.sf(critical, n - 1, noncentrality))

    high = 1.0
    while missed(high) > 0:
        high *= 2
    return float(deviation * brentq(missed, 0.0, high) / math.sqrt(n))
