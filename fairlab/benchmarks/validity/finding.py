"""Result of one check of a model."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class Weight(Enum):
    """Severity of a finding.

    ``REFUSED``: no number can be taken. ``FAILED``: numbers can be taken but are uninformative about bias.
    ``NOT_JUDGED``: the check does not distinguish a sound model of this kind from a damaged one.
    """

    REFUSED = "refused"
    FAILED = "failed"
    NOT_JUDGED = "not judged"


@dataclass(frozen=True)
class Finding:
    """Finding of a check.

    Attributes:
        weight: Severity of the finding.
        text: Part of a sentence for the reader of the numbers.
    """

    weight: Weight
    text: str


def refused(text: str) -> Finding:
    """Return a finding that prevents taking any number."""
    return Finding(Weight.REFUSED, text)


def failed(text: str) -> Finding:
    """Return a finding that makes numbers uninformative about bias."""
    return Finding(Weight.FAILED, text)


def not_judged(text: str) -> Finding:
    """Return a finding that leaves open whether the model is sound."""
    return Finding(Weight.NOT_JUDGED, text)
