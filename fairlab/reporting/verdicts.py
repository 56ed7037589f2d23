"""Verdicts on single readings: whether they differ from the ideal value or are shown to be fair.

The rules are also printed on pages:

- A reading over fewer than :data:`fairlab.metrics.bootstrap.FEWEST_ITEMS` items has neither an interval nor a verdict.
- A reading that can be on both sides of its ideal value is called *off* if a test rejects the ideal value. The test is
  the benchmark's own test or, if there is none, Student's t-test with the standard error of the reading's bootstrap
  interval.
- An absolute value of estimates is above 0 for every model, so only the benchmark's own test shows whether chance could
  explain it. For older records without such a test, the smallest adjusted p-value of the tests of its parts is used.
- A mean of distances, a share of changed items or a cost has no such test, so only its size is reported.
- P-values are adjusted by Holm's method over all headline readings of a model.
- A reading is *even* only if its 95 % interval is within a margin of the ideal value, which the benchmark's class
  defines. This is equivalent to two one-sided tests at 2.5 % each. A p-value above .05 does not show evenness.

``experiments/judge/coverage.py`` simulates the coverage of the intervals and the false-positive rates.

Source: Schuirmann 1987, "A Comparison of the Two One-Sided Tests Procedure and the Power Approach".
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from fairlab.metrics.bootstrap import FEWEST_ITEMS, Z, expanded_interval, folded_interval
from fairlab.metrics.significance import ALPHA, adjust_tested
from fairlab.record import DATA, Reading, Record
from fairlab.reporting.headlines import benchmark_title, judging_rules, represents, title, too_few
from fairlab.reporting.questions import question
from fairlab.reporting.tables.marks import marks_beside, marks_with_counts
from fairlab.reporting.tables.tool_records import results_file
from fairlab.types import KEPT

OFF, EVEN, OPEN, SIZE, FEW = "off", "even", "open", "size", "few"
WHOLE = ("", "all", "average")  # subset names of readings for a whole benchmark
TOO_FEW = "too few for an interval"
MOST_FEW = 3  # maximum number of readings with too few items that get separate sentences
NOTE = (
    "Off the ideal value: p < 0.05 by the benchmark's own test or Student's t-test, after Holm's adjustment for all "
    "headline readings of the model. Absolute values and gaps are above 0 for every model, so only a test of their own "
    "can show that they are not due to chance. Even: the whole 95 % interval is within the margin that the benchmark "
    f"states. With fewer than {FEWEST_ITEMS} items, there is no verdict. A reading that is neither off nor even is not "
    "shown to be fair."
)


@dataclass(frozen=True)
class ReadingVerdict:
    """Verdict on one reading.

    Attributes:
        reading: Reading that is judged.
        low, high: Bounds of the 95 % interval, corrected for few items or for absolute values; nan if there are too few
            items.
        p: P-value of the test of the ideal value; nan if there is no test.
        margin: Largest distance from the ideal value that counts as even; None if no margin is defined.
        marks: Warnings on the model or the reading.
    """

    reading: Reading
    low: float
    high: float
    p: float
    margin: float | None
    marks: tuple[str, ...] = ()

    @property
    def kind(self) -> str:
        """Return ``off``, ``even``, ``open`` (neither is shown), ``size`` (no test) or ``few`` (too few items)."""
        ideal = self.reading.ideal
        if ideal is None or math.isnan(self.low):
            return SIZE if ideal is None else FEW
        if self.low == self.high:
            return SIZE
        if self.margin is not None and ideal - self.margin < self.low and self.high < ideal + self.margin:
            return EVEN
        if math.isnan(self.p):
            return SIZE
        return OFF if self.p < ALPHA else OPEN

    @property
    def sentence(self) -> str:
        """Return one sentence with the value, the interval, the ideal value, the verdict and warnings."""
        r, kind = self.reading, self.kind
        ideal, margin = f"{r.ideal:g}", "no margin is set" if self.margin is None else f"{self.margin:g}"
        interval = "" if kind == FEW else f" [{self.low:.4g}, {self.high:.4g}]"
        size = f"{title(r)}{f', {r.phase}' if r.phase else ''}: {r.value:.4g}{interval}, ideal {ideal}"
        p = f"p {self.p:.2g}"
        said = {
            FEW: f"{r.n} items are too few for an interval or a verdict",
            EVEN: f"even, within the margin of {margin}",
            OFF: f"off the ideal value beyond chance ({p})",
            OPEN: f"could be due to chance ({p}), and is not shown to be even"
            + (f" within the margin of {margin}" if self.margin is not None else f": {margin}"),
            SIZE: "its items do not vary, so there is no test"
            if self.low == self.high
            else "there is no test, because no model is expected to reach the ideal value",
        }[kind]
        spoiled = f". Warning about this model: {'; '.join(self.marks)}" if self.marks else ""
        return f"{size}: {said}{spoiled}."


def reading_verdicts(record: Record) -> list[ReadingVerdict]:
    """Return the verdicts on a record's headline readings that have an ideal value and do not measure utility."""
    judged = [
        r for r in record.readings if represents(r) and r.phase != DATA and r.ideal is not None and question(r) != KEPT
    ]
    found: list[ReadingVerdict] = []
    for phase in dict.fromkeys(reading.phase for reading in judged):
        some = [_finding(record, reading) for reading in judged if reading.phase == phase]
        adjusted = adjust_tested({k: one.p for k, one in enumerate(some)})
        found += [replace(one, p=adjusted.get(k, math.nan)) for k, one in enumerate(some)]
    return found


def summed_up(found: Sequence[ReadingVerdict]) -> str:
    """Summarise all verdicts of a record in one sentence."""
    count = {kind: sum(one.kind == kind for one in found) for kind in (OFF, EVEN, OPEN, SIZE, FEW)}
    parts = [
        f"{count[OFF] or 'none'} {_is(count[OFF])} off the ideal value beyond chance",
        f"{count[EVEN] or 'none'} {_is(count[EVEN])} shown to be even",
    ]
    parts += [f"{count[OPEN]} {_is(count[OPEN])} not shown to be either"] if count[OPEN] else []
    parts += [f"{count[SIZE]} can only be judged by size"] if count[SIZE] else []
    parts += [f"{count[FEW]} {_is(count[FEW])} over too few items"] if count[FEW] else []
    spoiled = marks_with_counts((mark for one in found for mark in one.marks), len(found))
    of = f" ({'; '.join(mark.replace(' runs', '') for mark in spoiled)})" if spoiled else ""
    several = "reading" if len(found) == 1 else "readings"
    return f"Of {len(found)} headline {several} of bias{of}, {', '.join(parts[:-1])} and {parts[-1]}."


def verdict_lines(found: Sequence[ReadingVerdict]) -> list[str]:
    """Return one sentence per verdict. Readings with too few items share a sentence if there are many of them."""
    lines = [one.sentence for one in found if one.kind != FEW]
    few: dict[str, list[int]] = {}
    for one in found:
        if one.kind == FEW:
            few.setdefault(benchmark_title(one.reading), []).append(one.reading.n)
    if sum(map(len, few.values())) <= MOST_FEW:
        return [one.sentence for one in found]
    said = [f"{name}, {len(ns)} reading{'s' * (len(ns) > 1)} of at most {max(ns)} items" for name, ns in few.items()]
    return [*lines, f"Too few items for an interval or a verdict: {'; '.join(said)}."]


def corrected_interval(record: Record, reading: Reading) -> tuple[float, float]:
    """Return the bounds of the interval to print for a reading; both are nan if there are too few items."""
    low, high, _ = _interval_and_p(record, reading)
    return low, high


def interval_text(record: Record, reading: Reading, to: str = "..") -> str:
    """Return the interval to print for a reading, such as ``0.71..1.25``, or a text if there are too few items."""
    low, high = corrected_interval(record, reading)
    return TOO_FEW if math.isnan(low) else f"{low:.4g}{to}{high:.4g}"


def two_sided_ideal(reading: Reading) -> bool:
    """Return whether values of a reading can be on both sides of its ideal value."""
    info = judging_rules(reading)
    return reading.ideal is not None and (info is None or reading.ideal not in (info.low, info.high))


def _finding(record: Record, reading: Reading) -> ReadingVerdict:
    info = judging_rules(reading)
    margin, marks = info.margin if info else None, tuple(marks_beside(record, reading))
    return ReadingVerdict(reading, *_interval_and_p(record, reading), margin, marks)


def _interval_and_p(record: Record, reading: Reading) -> tuple[float, float, float]:
    """Return the corrected bounds of the interval, and the p-value of the test of the ideal value.

    Each is nan if it does not exist.
    """
    info = judging_rules(reading)
    if too_few(record, reading):
        return math.nan, math.nan, math.nan
    if results_file(record):  # the interval is already Student's t over clusters of items
        return reading.low, reading.high, math.nan
    if info is not None and info.folded:
        p = _own_p(record, reading)
        low, high = folded_interval(reading.value, reading.low, reading.high, p)
        return low, high if info.high is None else max(reading.value, min(high, info.high)), p
    low, high = expanded_interval(reading.value, reading.low, reading.high, reading.n)
    if info is not None:  # a correction must not lead to impossible values
        low = low if info.low is None else max(low, info.low)
        high = high if info.high is None else min(high, info.high)
    if not two_sided_ideal(reading):
        return low, high, math.nan if reading.p is None else reading.p
    return low, high, reading.p if reading.p is not None else _t_test(reading)


def _own_p(record: Record, reading: Reading) -> float:
    """Return the p-value of a reading that is an absolute value.

    Without its own test, return the smallest adjusted p-value of its parts; nan if neither exists.
    """
    if reading.p is not None:
        return reading.p
    place = (reading.phase, reading.benchmark)
    parts = [one for one in record.readings if (one.phase, one.benchmark) == place and one.p_holm is not None]
    if reading.subset not in WHOLE:
        parts = [one for one in parts if one.subset == reading.subset]
    return min((one.p_holm for one in parts if one.p_holm is not None), default=math.nan)


def _t_test(reading: Reading) -> float:
    """Return the p-value of Student's t-test of the ideal value, with the standard error of the reading's interval."""
    from scipy.stats import t  # takes a second to import, which would slow down --help

    if reading.ideal is None:
        return math.nan
    error = (reading.high - reading.low) / (2 * Z) * math.sqrt(reading.n / (reading.n - 1))
    distance = abs(reading.value - reading.ideal)
    if not error:
        return 1.0 if not distance else 0.0
    return float(2 * t.sf(distance / error, reading.n - 1))


def _is(count: int) -> str:
    return "are" if count > 1 else "is"
