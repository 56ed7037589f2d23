"""How large a difference must be for a study of two models to find it: power calculations."""

from __future__ import annotations

import math
from statistics import NormalDist


def detectable_difference(
    share: float, pairs: int, seeds: int, *, own: float, level: float = 0.05, power: float = 0.8
) -> float:
    r"""Smallest difference of two models' shares that a two-sided test finds with a given power.

    Each of two models is trained with several seeds, and is measured by the share of pairs on which its prediction
    flips (fairscore), as a mean over seeds. Of the variance of a flip, ``own`` is the pair's own, the same for every
    seed, and the rest is drawn anew by every seed. The models are taken to flip independently of one another, which
    asks for more pairs than models do that flip on the same ones.

    .. math:: (z_{1 - level / 2} + z_{power}) \sqrt{2 p (1 - p) (own + (1 - own) / seeds) / pairs}

    Args:
        share: share of pairs that flip, in [0, 1].
        pairs: number of pairs, at least 1.
        seeds: number of seeds of each model, at least 1.
        own: in [0, 1]; 1: a further seed tells nothing new, 0: it is as good as as many new pairs.
        level: of significance.
        power: chance to find a difference of that size.

    Returns:
        The difference, in [0, 1].

    Raises:
        ValueError: a value is out of its range.

    Example:
        >>> round(detectable_difference(0.05, 400, 1, own=1.0), 4)
        0.0432

    Source: the usual normal approximation for two proportions, such as in Cohen 1988, "Statistical Power Analysis".
    """
    if not (0 <= share <= 1 and 0 <= own <= 1 and 0 < level < 1 and 0 < power < 1) or min(pairs, seeds) < 1:
        raise ValueError(f"out of range: share {share}, own {own}, level {level}, power {power}, {pairs}, {seeds}")
    quantiles = NormalDist().inv_cdf(1 - level / 2) + NormalDist().inv_cdf(power)
    return quantiles * math.sqrt(2 * share * (1 - share) * (own + (1 - own) / seeds) / pairs)


def detectable_mean(deviation: float, n: int, *, level: float = 0.05, power: float = 0.8) -> float:
    r"""Smallest mean of ``n`` paired differences that a two-sided t-test finds, as above 0, with a given power.

    The power of a mean :math:`d` is that of the noncentral t-distribution of n - 1 degrees of freedom with
    noncentrality :math:`d \sqrt{n} / s`.

    Args:
        deviation: standard deviation of a difference, at least 0.
        n: number of differences, such as seeds, at least 3.
        level: of significance.
        power: chance to find a mean of that size, above ``level``.

    Returns:
        The mean, in units of the deviation.

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
