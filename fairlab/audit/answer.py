"""Answer of an audit in one sentence, with one sentence of evidence per test."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from fairlab.metrics.bootstrap import FEWEST_ITEMS
from fairlab.record import Reading
from fairlab.reporting.verdicts import TOO_FEW

ALPHA = 0.05
TELLING = 10.0  # points; a larger smallest detectable gap leaves the question open
SLIGHT = 0.5  # points; nobody would notice a smaller gap, however certain it is
FLIPS, MEAN, GAP = "excess_flips", "excess_mean_change", "_gap"
SHIFTS = ("shift", "score_shift")  # quantities that are unfair in either direction
OFF_BY = {
    "accuracy": "accuracy",
    "false_positive_rate": "false-positive rate",
    "false_negative_rate": "false-negative rate",
}


@dataclass(frozen=True)
class AuditAnswer:
    """Answer to whether a model treats people alike.

    Attributes:
        sentence: Answer in one sentence.
        lines: One sentence per test, which states the gap that was found or the smallest detectable gap.
    """

    sentence: str
    lines: list[str]


@dataclass(frozen=True)
class Tested:
    """One test of the audit.

    Attributes:
        reading: Reading that was tested.
        detectable: Smallest detectable gap, in the unit of the reading; nan if unknown.
    """

    reading: Reading
    detectable: float

    @property
    def few(self) -> bool:
        """Return whether the test has too few pairs or rows for an interval and a verdict."""
        return self.reading.n < FEWEST_ITEMS

    @property
    def found(self) -> bool:
        """Return whether there is an unfair gap of at least half a point with p < 0.05 after Holm's adjustment."""
        p = self.reading.p_holm
        if self.few or p is None or p >= ALPHA or (self.reading.unit == "points" and abs(self.reading.value) < SLIGHT):
            return False
        return self.reading.value > 0 or self.reading.quantity in SHIFTS

    def is_within(self, margin: float) -> bool:
        """Return whether the whole 95 % interval is within the margin.

        If all rows have the same value, the interval has no width. In this case, 3 in n rows may still differ (the rule
        of three), scores by any amount, and a gap is between groups of n / 2 rows or fewer.
        """
        one = self.reading
        share = (600 if one.quantity.endswith(GAP) else 300) / one.n if one.unit == "points" else math.inf
        unseen = share if one.low == one.high else 0.0
        return not self.few and max(abs(one.low), abs(one.high)) + unseen <= margin


def answer_of(
    readings: Sequence[Reading],
    margin: float | None = None,
    labels: Sequence[str] = ("the last label",),
    is_complete: bool = True,
) -> AuditAnswer:
    """Answer whether people are treated alike.

    If a gap was found, the answer names it first. Otherwise, the answer states the smallest gap that would have been
    found, because a gap that was not found may still exist. The answer is "equal" only if every interval is within
    ``margin``. It is inconclusive if the smallest detectable gap of a test exceeds 10 points, or if a test has fewer
    than :data:`~fairlab.metrics.bootstrap.FEWEST_ITEMS` pairs or rows. Only a shift between two attributes may have
    fewer pairs, if its axis as a whole has enough.

    Args:
        readings: Readings of one model's audit, with the intervals to print.
        margin: Largest gap in points, or in the unit of the scores, that counts as alike, or None.
        labels: Names of the labels; a shift is a change in the probability of the last one.
        is_complete: Whether all texts were classified. If not, the answer is not "equal", because the effect on the
            other texts is unknown.
    """
    last = f"probability of {labels[-1]}" if labels else "score"
    values = {(one.subset, one.quantity): one.value for one in readings}
    tests = [Tested(one, _detectable(one, values)) for one in readings if one.p is not None]
    lines = [_line(one, last) for one in sorted(tests, key=lambda one: not one.found)]
    found = [one for one in tests if one.found and not (margin is not None and one.is_within(margin))]
    if not tests:
        return AuditAnswer("Cannot tell: no text names people that the rules can change, and no groups are given.", [])
    if found:
        first = max(found, key=lambda one: abs(one.reading.value))
        more = f", and {len(found) - 1} more of {len(tests)} tests found a gap" if len(found) > 1 else ""
        ends = _ends(first.reading, values)
        return AuditAnswer(f"No, people are not treated alike: {_said(first, last)}{ends}{more}.", lines)
    if margin is not None and all(one.is_within(margin) for one in tests):
        unit = "points" if all(one.reading.unit == "points" for one in tests) else "in the unit of the scores"
        said = f"every gap is at most {margin:g} {unit} with 95 % confidence"
        if not is_complete:
            return AuditAnswer(f"Cannot tell: {said}, but only on the texts that could be classified.", lines)
        return AuditAnswer(f"Yes, within the margin: {said}.", lines)
    if few := [one for one in tests if one.few and one.reading.quantity not in SHIFTS]:
        fewest = min(few, key=lambda one: one.reading.n).reading
        return AuditAnswer(
            f"Cannot tell: no gap was found, but {fewest.n} {_counted(fewest)} are too few to test "
            f"{_what(fewest)}; add labelled {_needed(fewest)}.",
            lines,
        )
    tests = [one for one in tests if not one.few]  # without rare directions, whose axis has enough pairs
    in_points = [one for one in tests if one.reading.unit == "points"]
    if not in_points:
        largest = max(one.detectable for one in tests)
        said = f": changes of {largest:.2g} or more, in the unit of the scores, would have been found (power 80 %)"
        known = said if math.isfinite(largest) else ""
        return AuditAnswer(f"No difference in scores was found, which does not prove equality{known}.", lines)
    vague = [one for one in in_points if not one.detectable <= TELLING]
    if vague:
        worst = max(vague, key=lambda one: one.detectable if math.isfinite(one.detectable) else math.inf)
        return AuditAnswer(
            f"Cannot tell: no gap was found, but {_what(worst.reading)} would have been found only if it were "
            f"{worst.detectable:.2g} points or more; add labelled {_needed(worst.reading)}.",
            lines,
        )
    largest = max(one.detectable for one in in_points)
    return AuditAnswer(
        f"No difference was found, which does not prove equality: gaps of {largest:.2g} points or more would have been "
        "found (power 80 %).",
        lines,
    )


def _detectable(reading: Reading, values: dict[tuple[str, str], float]) -> float:
    name = reading.quantity.removeprefix("excess_").removesuffix(GAP)
    return values.get((reading.subset, f"detectable_{name}"), math.nan)


def _ends(gap: Reading, values: dict[tuple[str, str], float]) -> str:
    """Return the groups with the lowest and highest accuracy as text.

    The result is empty for a gap in another rate.
    """
    quantity = gap.quantity.removesuffix(GAP)
    start = f"{gap.subset}_"
    rates = {
        subset.removeprefix(start): value
        for (subset, name), value in values.items()
        if name == quantity == "accuracy" and subset.startswith(start)
    }
    if not rates:
        return ""
    low, high = min(rates, key=rates.__getitem__), max(rates, key=rates.__getitem__)
    # groups of another column whose name has the same beginning
    if not math.isclose(rates[high] - rates[low], gap.value):
        return ""
    return f" ({low} {rates[low]:.1f} %, {high} {rates[high]:.1f} %)"


def _what(reading: Reading) -> str:
    if reading.quantity == FLIPS:
        return f"an excess of changed predictions with {reading.subset}"
    if reading.quantity in SHIFTS:
        return f"a shift of probabilities with {reading.subset}"
    if reading.quantity == MEAN:
        return f"a change of scores with {reading.subset}"
    return f"a gap in {OFF_BY[reading.quantity.removesuffix(GAP)]} between the groups of '{reading.subset}'"


def _counted(reading: Reading) -> str:
    return "rows" if reading.quantity.endswith(GAP) else "changed texts"


def _needed(reading: Reading) -> str:
    return "rows of these groups" if reading.quantity.endswith(GAP) else "texts about people"


def _said(one: Tested, last: str) -> str:
    reading = one.reading
    numbers = f"{reading.value:.1f} points [{reading.low:.1f}, {reading.high:.1f}], p {reading.p_holm:.2g} after Holm"
    if reading.quantity == FLIPS:
        return f"changing {reading.subset} changes more predictions than other changes of the text, by {numbers}"
    if reading.quantity == MEAN:
        return f"changing {reading.subset} changes scores more than other changes of the text, by {reading.value:.3g}"
    if reading.quantity in SHIFTS:
        numbers = numbers if reading.quantity == "shift" else f"{reading.value:.3g}, p {reading.p_holm:.2g} after Holm"
        return f"changing {reading.subset.replace('_', ' ')} changes the {last} by {numbers}"
    return f"{_what(reading).removeprefix('a ')} is {numbers}"


def _line(one: Tested, last: str) -> str:
    if one.few:
        return f"not tested: {_what(one.reading)}: {one.reading.n} {_counted(one.reading)}, {TOO_FEW} or a verdict"
    verb = "found" if one.found else "not found"
    unit = " points" if one.reading.unit == "points" else ""
    smallest = f"; detectable from {one.detectable:.2g}{unit}" if math.isfinite(one.detectable) else ""
    return f"{verb}: {_said(one, last)}{smallest}"
