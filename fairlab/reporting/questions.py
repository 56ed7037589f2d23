"""Questions under which readings are shown, and verdicts on changes of readings."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from fairlab.metrics.bootstrap import FEWEST_ITEMS
from fairlab.metrics.significance import ALPHA
from fairlab.record import Comparison, Reading, Record
from fairlab.reporting.collapse import collapsed_readings
from fairlab.reporting.headlines import Named, description, few_compared, judging_rules, key, represents, title, too_few
from fairlab.reporting.page import BETTER, WORSE, Whisker
from fairlab.reporting.tables.marks import is_spoiled, marks_beside
from fairlab.types import ALIKE, ELSE, EQUAL, KEPT, PERSIST

T = TypeVar("T")
CHANGE = "change"  # phase of comparisons between one model before and after training

QUESTIONS = (EQUAL, PERSIST, ALIKE, KEPT)  # in display order, followed by questions of other benchmarks
WITHIN, NOT_SHOWN = "kept within the margin", "neither a change nor its absence is shown"
SIDEWAYS = "changed beyond chance, but not shown to be nearer to the ideal value or farther from it"
FELL_BY_COLLAPSE, TOO_FEW = "fell by collapse alone", f"fewer than {FEWEST_ITEMS} items, too few for a verdict"
MOST_NAMED = 5  # maximum number of readings named in one line of a verdict
# By state: wording for a number of changes that are neither better nor worse, for a trained model and for two models.
STATES = {
    BETTER: ("", ""),
    WORSE: ("", ""),
    FELL_BY_COLLAPSE: ("fell by collapse alone", "smaller by collapse alone"),
    WITHIN: ("stayed within the benchmark's margin", "alike within the benchmark's margin"),
    SIDEWAYS: ("changed beyond chance without a direction", "differ beyond chance without a direction"),
    NOT_SHOWN: ("showed neither a change nor its absence", "showed neither a difference nor its absence"),
    TOO_FEW: ("had too few items for a verdict",) * 2,
}
OF_MODELS = {
    BETTER: "nearer to the ideal value",
    WORSE: "farther from the ideal value",
    FELL_BY_COLLAPSE: "smaller by collapse alone: all distances are smaller",
    WITHIN: "alike within the margin",
    SIDEWAYS: "different beyond chance, but not shown to be nearer to the ideal value or farther from it",
    NOT_SHOWN: "neither a difference nor its absence is shown",
}
WIDEST = 1.5  # forest plots are cut off at this change, as a share of the distance to the ideal


def question(named: Named) -> str:
    """Return the question under which a reading is shown.

    Example:
        >>> question(Reading("stereoset@meade", "gender", "ss", 50.0, "%", 50.0, 9, 49.0, 51.0))
        'Do associations persist?'
        >>> question(Reading("mnli", "dev", "accuracy", 80.0, "%", 100.0, 9, 79.0, 81.0))
        'Is utility kept?'
    """
    found = description(named)
    info = found.quantity(named.quantity) if found else None
    return KEPT if info and info.useful else found.topic if found else ELSE


@dataclass(frozen=True)
class Shift:
    """Change of one reading relative to its ideal value.

    Attributes:
        comparison: Paired comparison of the two readings.
        before, after: Readings of the earlier and the later model.
        collapsed: Whether the reading is a gap that fell only through collapse, which is no improvement.
        few_parts: Whether the reading is a mean of absolute values that all have too few items.
        is_spoiled: Whether the later model did not train, or has readings that do not show bias. Its changes then do
            not count as improvements.
    """

    comparison: Comparison
    before: Reading
    after: Reading
    collapsed: bool = False
    few_parts: bool = False
    is_spoiled: bool = False

    @property
    def headline(self) -> bool:
        """Return whether the change counts for the verdict."""
        return represents(self.comparison)

    @property
    def changed(self) -> bool:
        """Return whether one model is compared before and after training, rather than two models with each other."""
        return self.comparison.phase == CHANGE

    @property
    def significant(self) -> bool:
        """Return whether the change is significant, by the adjusted p-value if there is one."""
        return (self.comparison.p if self.comparison.p_holm is None else self.comparison.p_holm) < ALPHA

    @property
    def span(self) -> tuple[float, float, float] | None:
        """Return the change in the distance to the ideal value with its interval: lower bound, centre and upper bound.

        The unit is the original distance: -1 means that no distance is left, and 0 that the distance is unchanged. The
        result is None if there is no ideal value, or if the original distance is 0.
        """
        ideal = self.before.ideal
        if ideal is None or not abs(self.before.value - ideal):
            return None
        start = self.before.value - ideal
        ends = [start + self.comparison.low, start + self.comparison.high]
        low = 0.0 if min(ends) <= 0 <= max(ends) else min(map(abs, ends))
        centre, high = abs(start + self.comparison.difference), max(map(abs, ends))
        return low / abs(start) - 1, centre / abs(start) - 1, high / abs(start) - 1

    @property
    def tone(self) -> str:
        """Return ``better`` or ``worse`` if the reading moved significantly towards or away from its ideal value.

        Otherwise, return an empty text. A gap that fell only because embeddings collapsed, and a change over too few
        items, are neither better nor worse.
        """
        if self.before.ideal is None or not self.significant or self.collapsed or self.few:
            return ""
        if self.span is None:  # the earlier value was the ideal one
            return WORSE
        low, _, high = self.span
        return BETTER if high < 0 else WORSE if low > 0 else ""

    @property
    def colour(self) -> str:
        """Return the tone to show on pages, which is empty if the later model is unusable."""
        return "" if self.is_spoiled else self.tone

    @property
    def few(self) -> bool:
        """Return whether there are too few items for a verdict, in total or in all averaged parts."""
        return self.few_parts or few_compared(self.comparison)

    @property
    def kept(self) -> bool:
        """Return whether the change is shown to be within the benchmark's margin.

        Both bounds of the 95 % interval must be within the margin, which is equivalent to two one-sided tests at 2.5 %
        each.
        """
        info, c = judging_rules(self.comparison), self.comparison
        within = info is not None and info.margin is not None and max(abs(c.low), abs(c.high)) < info.margin
        return within and not self.few

    @property
    def state(self) -> str:
        """Return the verdict: ``better``, ``worse``, within the margin, or the reason why there is no verdict."""
        if self.tone:
            return self.tone
        if self.collapsed:
            return FELL_BY_COLLAPSE
        if self.few:
            return TOO_FEW
        return WITHIN if self.kept else SIDEWAYS if self.significant else NOT_SHOWN

    @property
    def drawn(self) -> Whisker | None:
        """Return the interval for the forest plot.

        The centre means no change, and the left is nearer to the ideal value. The result is None if :attr:`span` is
        None.
        """
        if self.span is None:
            return None
        return Whisker(*((max(-WIDEST, min(WIDEST, value)) / WIDEST + 1) / 2 for value in self.span))

    @property
    def said(self) -> str:
        """Return the change as text, such as ``−76 %`` of the distance to the ideal value.

        Without a distance to compare with, return the difference with its unit.
        """
        if self.span is None:
            return f"{self.comparison.difference:+.3g} {self.comparison.unit}".strip()
        return f"{self.span[1]:+.0%} of its distance to {self.before.ideal:g}".replace("%", " %")


def shifts(record: Record) -> list[Shift]:
    """Return a record's comparisons with their two readings. Headline readings come first."""
    by_key = {reading.key: reading for reading in record.readings}
    collapsed = collapsed_readings(record)
    found = []
    for comparison in sorted(record.comparisons, key=lambda comparison: not represents(comparison)):
        earlier, later = phases_of(comparison.phase)
        before, after = (by_key.get(f"{phase}/{key(comparison)}") for phase in (earlier, later))
        if before is not None and after is not None:
            info = judging_rules(comparison)
            few = info is not None and info.folded and too_few(record, after)
            spoiled = is_spoiled(marks_beside(record, after))
            found.append(Shift(comparison, before, after, after.key in collapsed, few, spoiled))
    return found


def phases_of(change: str) -> tuple[str, str]:
    """Return the two phases that are compared, the earlier one first.

    A comparison is named ``change`` (after training minus before) or ``B less A``.
    """
    if change == CHANGE:
        return "before", "after"
    later, _, earlier = change.rpartition(" less ")
    return earlier, later


def by_question(found: Iterable[T], named: Callable[[T], Named]) -> dict[str, list[T]]:
    """Group items by the question under which the readings that they are ``named`` by are shown, in display order."""
    sorted_: dict[str, list[T]] = {name: [] for name in QUESTIONS}
    for one in found:
        sorted_.setdefault(question(named(one)), []).append(one)
    sorted_[ELSE] = sorted_.pop(ELSE, [])  # move to the end
    return {name: some for name, some in sorted_.items() if some}


def verdict(found: Sequence[Shift], marks: Sequence[str] = ()) -> tuple[str, list[str]]:
    """Summarise changes of headline readings: one sentence, and one or more lines per question and state.

    A trained model is described as changed, and two models as different. Warnings on the later model, ``marks``, are
    included in the sentence.
    """
    told = [one for one in found if one.headline]
    pairs: dict[str, list[Shift]] = {}
    for one in told:
        pairs.setdefault(one.comparison.phase, []).append(one)
    spoiled = f" of a model that {', '.join(marks)}" if marks else ""
    if len(pairs) == 1:
        sentence = f"Of {_headlines(told)}{spoiled}, {_states_text(told)}."
    else:
        sentence = "; ".join(f"of {_headlines(some)}{spoiled}, {_states_text(some)}" for some in pairs.values())
        sentence = f"{sentence[0].upper()}{sentence[1:]}."
    lines = []
    for phase, some in pairs.items():
        name = f"{phase}: " if len(pairs) > 1 else ""
        for asked, of_question in by_question(some, lambda one: one.comparison).items():
            lines += [f"{name}{asked} {line}" for line in _lines(of_question)]
    return sentence, lines


def _headlines(some: Sequence[Shift]) -> str:
    return f"{len(some)} headline reading{'s' * (len(some) != 1)}"


def _states_text(some: Sequence[Shift]) -> str:
    """Return a text with the number of readings in each state, for one pair of models."""
    count = {state: sum(one.state == state for one in some) for state in STATES}
    better, worse = count[BETTER] or "none", count[WORSE] or "none"
    earlier, later = phases_of(some[0].comparison.phase)
    words: dict[str, str] = {state: text for state, (text, _) in STATES.items()}
    parts = [f"{better} moved nearer to the ideal value beyond chance", f"{worse} moved away from it"]
    if not some[0].changed:
        words = {state: text for state, (_, text) in STATES.items()}
        parts = [
            f"{better} {'lies' if count[BETTER] < 2 else 'lie'} nearer to the ideal value with {later} than with "
            f"{earlier} beyond chance",
            f"{worse} farther from it",
        ]
    parts += [f"{count[state]} {text}" for state, text in words.items() if text and count[state]]
    return f"{', '.join(parts[:-1])} and {parts[-1]}"


def _lines(some: Sequence[Shift]) -> list[str]:
    """Return lines for each state that list the readings by benchmark, with few readings per line."""
    lines = []
    for state in STATES:
        by_benchmark: dict[str, list[Shift]] = {}
        for one in (one for one in some if one.state == state):
            by_benchmark.setdefault(one.comparison.benchmark, []).append(one)
        packed: list[list[Shift]] = []
        for of_benchmark in by_benchmark.values():
            if packed and len(packed[-1]) + len(of_benchmark) <= MOST_NAMED:
                packed[-1] += of_benchmark
            else:
                packed.append(of_benchmark)
        word = state if some[0].changed else OF_MODELS.get(state, state)
        lines += [f"{word[0].upper()}{word[1:]}: {'; '.join(map(_change_text, part))}." for part in packed]
    return lines


def _change_text(one: Shift) -> str:
    """Return a text on the change of one reading, with its values, margin or interval depending on its state."""
    c, info = one.comparison, judging_rules(one.comparison)
    if one.state in (BETTER, WORSE):
        margin = f", within the margin of ±{info.margin:g}" if one.kept and info is not None else ""
        return f"{title(c)} ({one.before.value:.3g} to {one.after.value:.3g}, {one.said}{margin})"
    if one.state == SIDEWAYS:
        values = f"{one.before.value:.3g} to {one.after.value:.3g}"
        return f"{title(c)} ({values}, {c.difference:+.3g} [{c.low:+.3g}, {c.high:+.3g}])"
    if one.state == WITHIN and info is not None and info.margin is not None:
        return f"{title(c)} (±{info.margin:g})"
    if one.state == NOT_SHOWN and not math.isnan(c.low):
        return f"{title(c)} ({c.difference:+.3g} [{c.low:+.3g}, {c.high:+.3g}])"
    return title(c)
