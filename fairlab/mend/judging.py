"""Comparison of a debiased model with the original: whether it is significantly fairer and keeps its utility."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from fairlab.record import Comparison, Record
from fairlab.reporting.headlines import few_compared, title
from fairlab.reporting.page import BETTER, WORSE
from fairlab.reporting.questions import shifts
from fairlab.reporting.tables.marks import failed_models
from fairlab.types import FairlabError

KEEP = re.compile(r"(\w+):(-?\d+(?:\.\d+)?)")


@dataclass(frozen=True)
class KeptUtility:
    """Limit on the loss of utility.

    Attributes:
        name: Benchmark that measures utility (``stsb``), or ``accuracy`` for a classifier.
        least: Smallest change that counts as kept, at most 0, in the unit of the reading.
    """

    name: str
    least: float

    def is_of(self, change: Comparison) -> bool:
        """Return whether a comparison measures the change in utility."""
        of_model = self.name == "accuracy" and change.quantity == "model_accuracy"
        return of_model or (change.benchmark == self.name and change.headline)

    def __str__(self) -> str:
        return f"{self.name}:{self.least:g}"


def price_of(keep: str, known: str) -> KeptUtility:
    """Parse a limit such as ``stsb:-0.5`` on the ``known`` utility, which fits the model.

    Raises:
        FairlabError: The text has a different form or name, or the change is above 0.
    """
    found = KEEP.fullmatch(keep)
    if found is None or float(found[2]) > 0:
        raise FairlabError(
            f"keep must be {known} and the smallest change that counts as kept, such as {known}:-0.5, not {keep}"
        )
    if found[1] != known:
        raise FairlabError(f"keep={keep} does not fit this model, whose utility is {known}; give keep={known}:-0.5")
    return KeptUtility(found[1], float(found[2]))


@dataclass(frozen=True)
class MendJudgement:
    """Verdict on a debiased model, compared with the original on one set of readings.

    Attributes:
        label: Name of the method.
        fairer, worse: Titles of the readings that became significantly fairer, or significantly less fair.
        tested: Number of fairness readings.
        remaining: Remaining proportion of the distance to the ideal values: the ratio of sums over the readings of each
            unit, averaged over units. It is 1 if no reading changed. Readings are excluded if the original's interval
            includes the ideal value; nan if all readings are excluded.
        kept: Whether the 95 % interval of the change in utility is above the limit.
        utility: Change in utility, as text.
        failed: Models, of the two compared, that fail the behaviour check, with the reasons.
        broken: Reason why the readings of the debiased model are meaningless although the original's are not; empty if
            they are valid.
    """

    label: str
    fairer: list[str]
    worse: list[str]
    tested: int
    remaining: float
    kept: bool
    utility: str
    failed: tuple[str, ...] = ()
    broken: str = ""

    @property
    def mends(self) -> bool:
        """Return whether a reading is fairer, no reading is less fair, utility is kept, and all readings are valid."""
        return self.kept and bool(self.fairer) and not self.worse and not self.broken

    @property
    def line(self) -> str:
        """Return the verdict as a sentence."""
        fair = f"{len(self.fairer)} of {self.tested} readings are significantly closer to the ideal value"
        worse = f", further away: {'; '.join(self.worse)}" if self.worse else " and none is significantly further away"
        kept = "is within" if self.kept else "is not shown to be within"
        left = (
            "no reading was shown to be off its ideal value before"
            if math.isnan(self.remaining)
            else f"{self.remaining:.0%} of the distance to the ideal values is left"
        )
        broken = f"; {self.broken}" if self.broken else ""
        return f"{self.label}: {fair}{worse}; {self.utility} {kept} the limit; {left}{broken}"


def judge_change(record: Record, label: str, original: str, price: KeptUtility) -> MendJudgement:
    """Compare one model in a record with the original.

    Fairness readings are the headline readings with an ideal value, except the utility. Their p-values are adjusted
    together by Holm's method. A reading is fairer under the same rule as in reports: the change is significant and over
    enough items, the interval of the distance to the ideal value is below the original distance, and the change is not
    due to collapse alone.

    Raises:
        FairlabError: The utility was not measured; the message states the reason from the record.
    """
    changes = [one for one in shifts(record) if one.comparison.phase == f"{label} less {original}"]
    utility = next((one.comparison for one in changes if price.is_of(one.comparison)), None)
    if utility is None:
        reason = next((f": {one.reason}" for one in record.not_run if one.benchmark == price.name), "")
        raise FairlabError(f"{price.name} was not measured, so its change is unknown{reason}; fix its data")
    fairer: list[str] = []
    worse: list[str] = []
    distances: dict[str, list[tuple[float, float]]] = {}
    tested = 0
    for one in changes:
        before, after = one.before, one.after
        if price.is_of(one.comparison) or not one.comparison.headline or before.ideal is None:
            continue
        tested += 1
        if not before.low <= before.ideal <= before.high:
            earlier, later = abs(before.value - before.ideal), abs(after.value - before.ideal)
            distances.setdefault(after.unit, []).append((earlier, later))
        if one.tone in (BETTER, WORSE):
            (fairer if one.tone == BETTER else worse).append(title(after))
    words = f"{price.name} {utility.difference:+.3g} [{utility.low:+.3g}, {utility.high:+.3g}]"
    kept = utility.low >= price.least and not few_compared(utility)
    return MendJudgement(
        label,
        fairer,
        worse,
        tested,
        _mean_ratio(distances.values()),
        kept,
        words,
        _failed(record, (original, label)),
        _broken(record, label, original),
    )


def _broken(record: Record, label: str, original: str) -> str:
    """Return the reason why a model fails the behaviour check although the original passes it.

    The result is empty otherwise.
    """
    reasons = {} if original in (failed := failed_models(record)) else failed
    return "; ".join(reasons.get(label, []))


def _failed(record: Record, labels: Iterable[str]) -> tuple[str, ...]:
    """Return the models that fail the behaviour check, each with the reasons."""
    checks = record.provenance.get("validity", {})
    return tuple(
        f"{one} ({'; '.join(checks[one]['failures'])})" for one in labels if checks.get(one, {}).get("failures")
    )


def _mean_ratio(of_units: Iterable[Sequence[tuple[float, float]]]) -> float:
    """Return the mean over units of the summed distances after debiasing divided by those before."""
    sums = [tuple(map(sum, zip(*pairs, strict=True))) for pairs in of_units]
    shares = [later / earlier for earlier, later in sums if earlier]
    return sum(shares) / len(shares) if shares else math.nan


def best_of(judged: Sequence[MendJudgement]) -> MendJudgement | None:
    """Return the positive verdict with the smallest remaining distance to the ideal values, or None."""
    mending = [one for one in judged if one.mends]
    return min(mending, key=lambda one: math.inf if math.isnan(one.remaining) else one.remaining, default=None)
