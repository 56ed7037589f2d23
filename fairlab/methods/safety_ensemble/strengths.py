"""Selection of a setting of the debiased model by its loss of performance and its gain in fairness."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

MOST_LOST = 3.0  # maximum AU-PRC loss of the chosen setting, in per cent of the baseline's AU-PRC


@dataclass(frozen=True)
class Candidate:
    """Effect of a setting on one harm in validation, in per cent of the baseline.

    Attributes:
        name: Name of the setting.
        precision: Change of AU-PRC on the seeds, in per cent of the baseline's; higher is better.
        variance: Change of ACV, in per cent of the baseline's; lower is better.
    """

    name: str
    precision: float
    variance: float


def pareto_front(candidates: Sequence[Candidate]) -> list[Candidate]:
    """Return the Pareto front: candidates that no other candidate beats in one value without losing in the other.

    Example:
        >>> some = [Candidate("a", -1, -10), Candidate("b", -2, -30), Candidate("c", -3, -20)]
        >>> [one.name for one in pareto_front(some)]
        ['a', 'b']
    """
    return [one for one in candidates if not any(_beats(other, one) for other in candidates)]


def choose(candidates: Sequence[Candidate], most_lost: float = MOST_LOST) -> Candidate:
    """Return the candidate with the lowest ACV within the allowed loss of AU-PRC, from the Pareto front.

    If all candidates lose more, return the candidate with the smallest loss.
    """
    best = pareto_front(candidates)
    allowed = [one for one in best if one.precision >= -most_lost]
    return min(allowed, key=lambda one: one.variance) if allowed else max(best, key=lambda one: one.precision)


def _beats(other: Candidate, one: Candidate) -> bool:
    no_worse = other.precision >= one.precision and other.variance <= one.variance
    return no_worse and (other.precision > one.precision or other.variance < one.variance)
