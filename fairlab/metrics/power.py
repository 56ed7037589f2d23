"""How large a difference must be for a study of two models to find it: a power calculation."""

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
