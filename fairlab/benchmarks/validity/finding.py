"""A result of one check of a model."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class Weight(Enum):
    """How much a finding weighs.

    ``REFUSED``: no number can be taken. ``FAILED``: numbers can be taken and say nothing of bias. ``NOT_JUDGED``: the
    check does not tell a sound model of this kind from a damaged one.
    """

    REFUSED = "refused"
    FAILED = "failed"
    NOT_JUDGED = "not judged"


@dataclass(frozen=True)
class Finding:
    """What a check found.

    Attributes:
        weight: how much it weighs.
        text: part of a sentence for the reader of the numbers.
    """

    weight: Weight
    text: str


def refused(text: str) -> Finding:
    """Return a finding by which no number can be taken."""
    return Finding(Weight.REFUSED, text)


def failed(text: str) -> Finding:
    """Return a finding by which numbers say nothing of bias."""
    return Finding(Weight.FAILED, text)


def not_judged(text: str) -> Finding:
    """Return a finding that leaves open whether the model is sound."""
    return Finding(Weight.NOT_JUDGED, text)
