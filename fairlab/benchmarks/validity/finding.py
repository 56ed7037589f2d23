"""Result of one check of a model."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class Weight(Enum):
    """Severity of a finding.

    ``REFUSED``: the model cannot be measured. ``FAILED``: it can be measured, but its numbers are uninformative about
    bias. ``NOT_JUDGED``: the check cannot distinguish a sound model of this kind from a damaged one.
    """

    REFUSED = "refused"
    FAILED = "failed"
    NOT_JUDGED = "not judged"


@dataclass(frozen=True)
class Finding:
    """Finding of a check.

    Attributes:
        weight: Severity of the finding.
        text: Explanation for the reader of the numbers, as part of a sentence.
    """

    weight: Weight
    text: str


def refused(text: str) -> Finding:
    """Return a finding that prevents any measurement."""
    return Finding(Weight.REFUSED, text)


def failed(text: str) -> Finding:
    """Return a finding that makes numbers uninformative about bias."""
    return Finding(Weight.FAILED, text)


def not_judged(text: str) -> Finding:
    """Return a finding that leaves open whether the model is sound."""
    return Finding(Weight.NOT_JUDGED, text)
