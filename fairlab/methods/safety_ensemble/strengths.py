"""Choosing the strength of reweighting by what it costs in performance and what it gains in fairness."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

MOST_LOST = 3.0  # per cent of the baseline's AU-PRC that a choice may cost


@dataclass(frozen=True)
class Candidate:
    """What one setting did to a harm on validation, per cent of the baseline.

    Attributes:
        name: name of the setting.
        precision: change of AU-PRC on the seeds, in per cent of the baseline's; higher is better.
        variance: change of ACV, in per cent of the baseline's; lower is better.
    """

    name: str
    precision: float
    variance: float


def pareto_front(candidates: Sequence[Candidate]) -> list[Candidate]:
    """The Pareto front: those that no other beats in one of the two without being worse in the other.

    Example:
        >>> some = [Candidate("a", -1, -10), Candidate("b", -2, -30), Candidate("c", -3, -20)]
        >>> [one.name for one in pareto_front(some)]
        ['a', 'b']
    """
    return [one for one in candidates if not any(_beats(other, one) for other in candidates)]


def choose(candidates: Sequence[Candidate], most_lost: float = MOST_LOST) -> Candidate:
    """Of the front, the one of lowest ACV that loses no more AU-PRC than allowed; if all lose more, the one least.

    Args:
        candidates: at least one candidate.
        most_lost: largest loss of AU-PRC that is allowed, in per cent of the baseline's.
    """
    best = pareto_front(candidates)
    allowed = [one for one in best if one.precision >= -most_lost]
    return min(allowed, key=lambda one: one.variance) if allowed else max(best, key=lambda one: one.precision)


def _beats(other: Candidate, one: Candidate) -> bool:
    no_worse = other.precision >= one.precision and other.variance <= one.variance
    return no_worse and (other.precision > one.precision or other.variance < one.variance)
