"""Comparison of a mended model with the original: is it fairer beyond chance, and is its utility kept?"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from fairlab.record import Comparison, Record
from fairlab.reporting.headlines import title
from fairlab.types import FairlabError

ALPHA = 0.05
KEEP = re.compile(r"(\w+):(-?\d+(?:\.\d+)?)")


@dataclass(frozen=True)
class KeptUtility:
    """Utility that may be lost.

    Attributes:
        name: Benchmark of the utility (``stsb``), or ``accuracy`` of a classifier.
        least: Smallest change that counts as kept, at most 0, in the unit of the reading.
    """

    name: str
    least: float

    def is_of(self, change: Comparison) -> bool:
        """Return whether a change is one of the utility."""
        of_model = self.name == "accuracy" and change.quantity == "model_accuracy"
        return of_model or (change.benchmark == self.name and change.headline)

    def __str__(self) -> str:
        return f"{self.name}:{self.least:g}"


def price_of(keep: str, known: str) -> KeptUtility:
    """Return the price that a text such as ``stsb:-0.5`` names.

    Args:
        keep: Name and smallest change.
        known: Name that fits the model.

    Raises:
        FairlabError: It has another form, another name, or a change above 0.
    """
    found = KEEP.fullmatch(keep)
    if found is None or float(found[2]) > 0:
        raise FairlabError(f"keep must be {known} and the change that counts as kept, such as {known}:-0.5, not {keep}")
    if found[1] != known:
        raise FairlabError(f"keep={keep} does not fit this model, whose utility is {known}; give keep={known}:-0.5")
    return KeptUtility(found[1], float(found[2]))


@dataclass(frozen=True)
class MendJudgement:
    """Comparison of a mended model with the original, on one set of readings.

    Attributes:
        label: Name of the way of mending.
        fairer, worse: Titles of readings that moved towards fair, or away from it, beyond chance.
        tested: Number of readings of fairness.
        remaining: Remaining share of the distance to fair: summed over the readings of each unit, then averaged over
            units; 1 if no reading moved. Readings of which the original's interval holds the ideal value have no
            distance to lose and are left out; nan if these are all.
        kept: Whether the 95 % interval of the change of utility is above the price.
        utility: Change of utility in words.
        failed: Models of the two that fail the behaviour check, each with the reasons.
    """

    label: str
    fairer: list[str]
    worse: list[str]
    tested: int
    remaining: float
    kept: bool
    utility: str
    failed: tuple[str, ...] = ()

    @property
    def mends(self) -> bool:
        """Whether some reading is fairer, none is worse, and utility is kept."""
        return self.kept and bool(self.fairer) and not self.worse

    @property
    def line(self) -> str:
        """Return the judgement in a sentence."""
        fair = f"{len(self.fairer)} of {self.tested} readings nearer to fair beyond chance"
        worse = f", farther: {'; '.join(self.worse)}" if self.worse else ", none farther"
        kept = "within" if self.kept else "not shown to be within"
        left = (
            "no reading was off at first"
            if math.isnan(self.remaining)
            else f"{self.remaining:.0%} of the distance left"
        )
        return f"{self.label}: {fair}{worse}; {self.utility}, {kept} the price; {left}"


def judge_change(record: Record, label: str, original: str, price: KeptUtility) -> MendJudgement:
    """Compare one model of a record with the original.

    Readings of fairness are the headline ones with an ideal value, other than the utility. They are adjusted together
    by Holm's method.

    Raises:
        FairlabError: The utility was not measured, for which the record says why.
    """
    values = {(one.phase, one.benchmark, one.subset, one.quantity): one for one in record.readings}
    changes = [one for one in record.comparisons if one.phase == f"{label} less {original}"]
    utility = next((one for one in changes if price.is_of(one)), None)
    if utility is None:
        reason = next((f": {one.reason}" for one in record.not_run if one.benchmark == price.name), "")
        raise FairlabError(f"{price.name} was not measured, so its loss is unknown{reason}; fix its data")
    fairer: list[str] = []
    worse: list[str] = []
    distances: dict[str, list[tuple[float, float]]] = {}
    tested = 0
    for one in changes:
        before, after = (values[phase, one.benchmark, one.subset, one.quantity] for phase in (original, label))
        if price.is_of(one) or not one.headline or before.ideal is None:
            continue
        earlier, later = abs(before.value - before.ideal), abs(after.value - before.ideal)
        tested += 1
        if not before.low <= before.ideal <= before.high:
            distances.setdefault(one.unit, []).append((earlier, later))
        if one.p_holm is not None and one.p_holm < ALPHA:
            (fairer if later < earlier else worse).append(title(after))
    words = f"{price.name} {utility.difference:+.2f} [{utility.low:+.2f}, {utility.high:+.2f}]"
    kept = utility.low >= price.least
    return MendJudgement(
        label,
        fairer,
        worse,
        tested,
        _left(distances.values()),
        kept,
        words,
        _failed(record, (original, label)),
    )


def _failed(record: Record, labels: Iterable[str]) -> tuple[str, ...]:
    """Return the models that fail the behaviour check, each with the reasons."""
    checks = record.provenance.get("validity", {})
    return tuple(
        f"{one} ({'; '.join(checks[one]['failures'])})" for one in labels if checks.get(one, {}).get("failures")
    )


def _left(of_units: Iterable[Sequence[tuple[float, float]]]) -> float:
    """Return the mean over units of the sum of later distances as a share of the sum of earlier ones."""
    sums = [tuple(map(sum, zip(*pairs, strict=True))) for pairs in of_units]
    shares = [later / earlier for earlier, later in sums if earlier]
    return sum(shares) / len(shares) if shares else math.nan


def best_of(judged: Sequence[MendJudgement]) -> MendJudgement | None:
    """Return the judgement with the smallest remaining distance to fair among the successful ones, or None."""
    return min((one for one in judged if one.mends), key=_remaining, default=None)


def _remaining(one: MendJudgement) -> float:
    return math.inf if math.isnan(one.remaining) else one.remaining
