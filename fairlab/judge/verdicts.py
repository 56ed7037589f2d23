"""Verdicts on paired scores: adjusted p-values, equivalence within a margin, and ranks with ties."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from fairlab.checks.escapes import frame_of
from fairlab.judge.paired import FEWEST, LEVEL, PairedDifference, paired_difference
from fairlab.judge.pairing import LIKENESS, Pairing, pair_items
from fairlab.judge.reading import shortened
from fairlab.judge.scores import TaskScores, ToolRun
from fairlab.metrics.significance import Array, benjamini_hochberg, holm
from fairlab.types import FairlabError

if TYPE_CHECKING:  # pandas takes a second to import
    import pandas

UNLIKE = 10  # largest score from which a scale differs from that of scores up to 1
ADJUSTMENTS: dict[str, tuple[str, Callable[[Sequence[float]], Array]]] = {
    "holm": ("Holm", holm),
    "bh": ("Benjamini-Hochberg", benjamini_hochberg),
}


@dataclass(frozen=True)
class PairVerdict:
    """Comparison of two runs on one task and metric.

    Attributes:
        task, metric: Names of the task and the metric.
        first, second: Names of the two models. Differences are second minus first.
        value_first, value_second: Mean scores over the matched items.
        found: Paired difference, with interval, p-value and power.
        pairing: Matched items, and the number of items that were left out.
        p_adjusted: P-value adjusted for all comparisons of the :class:`Judgement`.
        differing: Settings in which the two runs differ, each as ``name: first and second``.
        higher_is_better: Whether higher scores are better; None if unknown.
        margin: Largest difference that counts as equal; None if no margin was given.
    """

    task: str
    metric: str
    first: str
    second: str
    value_first: float
    value_second: float
    found: PairedDifference
    pairing: Pairing
    p_adjusted: float
    differing: tuple[str, ...]
    higher_is_better: bool | None
    margin: float | None

    @property
    def differs(self) -> bool:
        """Return whether the two models differ significantly, by the adjusted p-value."""
        return self.p_adjusted < LEVEL

    @property
    def better(self) -> str:
        """Return the name of the better model.

        The name is empty if the difference is not significant, or if it is unknown whether higher scores are better.
        """
        if not self.differs or self.higher_is_better is None:
            return ""
        return self.second if (self.found.difference > 0) == self.higher_is_better else self.first

    @property
    def equivalent(self) -> bool:
        """Return whether two one-sided tests at 5 % show that the difference is within the margin.

        If the models have equal scores on all items, the interval has no width. In this case, the proportion of items
        with different scores is taken to be at most 3 / n (the rule of three), and each difference to be at most 1,
        which is true for scores between 0 and 1.
        """
        if self.margin is None:
            return False
        if not self.found.changed:
            return 3 / self.found.units < self.margin
        return max(map(abs, self.found.inner)) < self.margin

    @property
    def sentence(self) -> str:
        """Return one sentence about the size and the significance of the difference."""
        return self.said(self.first, self.second)

    def said(self, first: str, second: str) -> str:
        """Return the sentence with other names for the two models."""
        found = self.found
        size = f"{second} minus {first}: {found.difference:+.3g}"
        size += f" [{found.low:+.3g}, {found.high:+.3g}]" if math.isfinite(found.low) else " (too few for an interval)"
        equal = "" if self.margin is None else f" within the margin of {self.margin:g}"
        equal = f", and is{'' if self.equivalent else ' not shown to be'}{equal}" if equal else ""
        if not found.changed:
            equal = equal.replace(", and", "; the difference")
            return f"{size}; the two have the same score on all {_count_text(found.n, 'item')}{equal}."
        if self.differs:
            better = f"; {first if self.better == self.first else second} is better" if self.better else ""
            return f"{size}, beyond chance (p {self.p_adjusted:.2g}){equal}{better}."
        power = ""
        if found.needed and not self.equivalent:
            power = (
                f" With these {found.n} items, a difference of {found.detectable:.2g} is detectable (power 80 %); "
                f"the difference found here would need about {found.needed:,} items."
            )
        return f"{size}, which could be due to chance (p {self.p_adjusted:.2g}){equal}.{power}"


@dataclass(frozen=True)
class Judgement:
    """Comparison of all pairs of runs, on all tasks and metrics that both runs of a pair have.

    Attributes:
        runs: Runs that were compared.
        verdicts: One entry per task, metric and pair of runs.
        adjustment: Method that adjusted the p-values.
        skipped: Tasks and metrics that only one run has.
        unread: Files in the folders of the runs that look like results but cannot be read, each with the reason.
    """

    runs: Sequence[ToolRun]
    verdicts: Sequence[PairVerdict]
    adjustment: str
    skipped: Sequence[str]
    unread: Sequence[str] = ()

    def to_pandas(self) -> pandas.DataFrame:
        """Return a table with one row per verdict."""
        return frame_of([_row(verdict) for verdict in self.verdicts])

    def ranks(self) -> list[tuple[str, str, str, int, int]]:
        """Return the task, the metric, the model, and the model's best and worst possible rank.

        Metrics for which it is unknown whether higher is better have no ranks.
        """
        found = []
        for task, metric in dict.fromkeys((verdict.task, verdict.metric) for verdict in self.verdicts):
            some = [one for one in self.verdicts if (one.task, one.metric) == (task, metric)]
            if all(one.higher_is_better is not None for one in some):
                ranks = possible_ranks([(one.first, one.second, one.better) for one in some])
                found += [(task, metric, name, *ends) for name, ends in ranks.items()]
        return found

    def __str__(self) -> str:
        return "\n".join(_lines(self))


def judge(
    runs: Sequence[ToolRun],
    *,
    adjust: str = "holm",
    margin: float | None = None,
    seed: int = 0,
    unread: Sequence[str] = (),
) -> Judgement:
    """Compare runs pairwise on all tasks and metrics that both runs of a pair have.

    Args:
        runs: At least two runs. If a name occurs several times, the name of the file is added.
        adjust: Method that adjusts p-values. ``holm`` limits the probability of any false positive, and ``bh`` the
            expected proportion of false positives (Benjamini and Hochberg 1995).
        margin: Largest difference that counts as equal, in the unit of the metric.
        seed: Random seed of the permutations.
        unread: Files that could not be read, with the reasons; the result only names them.

    Raises:
        FairlabError: An argument is invalid, or no two runs share a task and a metric.
    """
    if adjust not in ADJUSTMENTS:
        raise FairlabError(f"adjust must be {' or '.join(ADJUSTMENTS)}, not '{adjust}'")
    if margin is not None and not (margin > 0 and math.isfinite(margin)):
        raise FairlabError(f"margin must be a number above 0, not {margin}")
    if len(runs) < 2:
        said = f" (not read: {shortened(unread)})" if unread else ""
        raise FairlabError(f"a single run cannot be compared{said}; give at least two")
    named = _make_distinct(_join_tasks(runs))
    verdicts = []
    for first, second in combinations(named, 2):
        mine = {(scores.task, scores.metric): scores for scores in first.tasks}
        theirs = {(scores.task, scores.metric): scores for scores in second.tasks}
        verdicts += [
            _verdict(first, second, scores, theirs[key], margin, seed) for key, scores in mine.items() if key in theirs
        ]
    if not verdicts:
        raise FairlabError(f"the runs share no task and metric, so they cannot be compared; {_task_names(named)}")
    held = Counter((scores.task, scores.metric) for run in named for scores in run.tasks)
    skipped = sorted(f"{task}/{metric}" for (task, metric), runs in held.items() if runs == 1)
    adjusted = ADJUSTMENTS[adjust][1]([verdict.found.p for verdict in verdicts])
    verdicts = [replace(one, p_adjusted=float(p)) for one, p in zip(verdicts, adjusted, strict=True)]
    return Judgement(named, verdicts, ADJUSTMENTS[adjust][0], skipped, unread)


def _verdict(
    first: ToolRun, second: ToolRun, mine: TaskScores, theirs: TaskScores, margin: float | None, seed: int
) -> PairVerdict:
    pairing = pair_items(mine, theirs)
    a, b = mine.values[pairing.first], theirs.values[pairing.second]
    grouped, places = (mine, pairing.first) if mine.clusters else (theirs, pairing.second)
    clusters = [grouped.clusters[k] for k in places] if grouped.clusters else []
    return PairVerdict(
        mine.task,
        mine.metric,
        first.name,
        second.name,
        float(np.mean(a)),
        float(np.mean(b)),
        paired_difference(a, b, clusters, seed),
        pairing,
        math.nan,
        tuple(
            f"{name}: {_format_setting(mine.settings.get(name))} and {_format_setting(theirs.settings.get(name))}"
            for name in {**mine.settings, **theirs.settings}
            if mine.settings.get(name) != theirs.settings.get(name)
        )
        + _different_scales(a, b),
        mine.higher_is_better if mine.higher_is_better is not None else theirs.higher_is_better,
        margin,
    )


def _different_scales(first: Array, second: Array) -> tuple[str, ...]:
    """Return a description of the scales if one run has scores up to 1, and the other has much larger ones."""
    largest = float(np.abs(first).max()), float(np.abs(second).max())
    if not min(largest) <= 1 or not max(largest) > UNLIKE:
        return ()
    return (f"largest score: {largest[0]:.4g} and {largest[1]:.4g}; if one run is in per cent, convert it",)


def _join_tasks(runs: Sequence[ToolRun]) -> Sequence[ToolRun]:
    """Join the runs of one model that are in one folder and have no task in common, as inspect writes a log per task.

    The runs are returned unchanged if only one would remain.
    """
    groups: dict[tuple[Path, str, str], list[ToolRun]] = {}
    for run in runs:
        groups.setdefault((run.place.parent, run.name, run.tool), []).append(run)
    joined = []
    for (folder, name, tool), some in groups.items():
        tasks = tuple(scores for run in some for scores in run.tasks)
        if len(some) > 1 and len({(scores.task, scores.metric) for scores in tasks}) == len(tasks):
            left_out = tuple(reason for run in some for reason in run.left_out)
            joined.append(ToolRun(name, tool, folder, tasks, left_out))
        else:
            joined += some
    return joined if len(joined) > 1 else runs


def _make_distinct(runs: Sequence[ToolRun]) -> list[ToolRun]:
    """Return the runs with distinct names. Equal names are extended by the names of the folder and file."""
    names = [run.name for run in runs]
    longer = [
        run
        if names.count(run.name) == 1
        else replace(run, name=f"{run.name} ({Path(run.place.parent.name) / run.place.name})")
        for run in runs
    ]
    names = [run.name for run in longer]
    return [
        run if names.count(run.name) == 1 else replace(run, name=f"{run.name} #{k + 1}") for k, run in enumerate(longer)
    ]


def _task_names(runs: Sequence[ToolRun]) -> str:
    return "; ".join(
        f"{run.name} has {', '.join(sorted({f'{scores.task}/{scores.metric}' for scores in run.tasks})[:5])}"
        for run in runs[:4]
    )


def _format_setting(value: str | None) -> str:
    if value is None:
        return "none"
    return repr(value if len(value) <= 60 else f"{value[:57]}...")


def _row(verdict: PairVerdict) -> dict[str, object]:
    found, pairing = verdict.found, verdict.pairing
    return {
        "task": verdict.task,
        "metric": verdict.metric,
        "first": verdict.first,
        "second": verdict.second,
        "value_first": verdict.value_first,
        "value_second": verdict.value_second,
        "difference": found.difference,
        "low": found.low,
        "high": found.high,
        "p": found.p,
        "p_adjusted": verdict.p_adjusted,
        "n": found.n,
        "clusters": found.units,
        "changed": found.changed,
        "detectable": found.detectable,
        "needed": found.needed,
        "joined_by": pairing.by,
        "only_first": pairing.only_first,
        "only_second": pairing.only_second,
        "conflicts": pairing.conflicts,
        "equivalent": verdict.equivalent if verdict.margin is not None else None,
        "differing_settings": "; ".join(verdict.differing),
    }


def _lines(judgement: Judgement) -> list[str]:
    """Return the lines of the report: names, warnings, verdicts and ranks."""
    letter = {run.name: letters(k) for k, run in enumerate(judgement.runs)}
    lines = [f"{letter[run.name]}: {run.name} ({run.tool}; {run.place})" for run in judgement.runs]
    warned = [line for verdict in judgement.verdicts for line in _warnings(verdict, letter)]
    warned += [f"left out of {letter[run.name]}: {reason}" for run in judgement.runs for reason in run.left_out]
    warned += [
        f"{letter[run.name]}, {remark}" for run in judgement.runs for scores in run.tasks for remark in scores.remarks
    ]
    warned += [
        f"{one.task}, {one.metric}: nothing states whether higher values are better, so no run is called better"
        for one in judgement.verdicts
        if one.differs and one.higher_is_better is None
    ]
    if judgement.skipped:
        warned.append(f"not compared, because only one run has them: {', '.join(judgement.skipped)}")
    if judgement.unread:
        warned.append(f"not read: {shortened(judgement.unread)}")
    lines += ["", *dict.fromkeys(warned)] if warned else []
    many = len(judgement.verdicts)
    lines += ["", f"p-values are adjusted by {judgement.adjustment} over {many} comparison{'s' * (many > 1)}."]
    for one in judgement.verdicts:
        first, second = letter[one.first], letter[one.second]
        items = _count_text(one.found.n, "item") + (
            f" in {_count_text(one.found.units, 'group')}" if one.found.units < one.found.n else ""
        )
        values = f"{first} {one.value_first:.4g}, {second} {one.value_second:.4g}"
        lines += [f"{one.task}, {one.metric} ({items}): {values}", f"  {one.said(first, second)}"]
    if len(judgement.runs) > 2 and (ranks := judgement.ranks()):
        lines += ["", "Possible ranks, as ranges if differences could be due to chance:"]
        lines += [
            f"  {task}, {metric}: {letter[name]} {best if best == worst else f'{best} to {worst}'}"
            for task, metric, name, best, worst in ranks
        ]
    return lines


def possible_ranks(pairs: Sequence[tuple[str, str, str]]) -> dict[str, tuple[int, int]]:
    """Return the best and worst possible rank of each run.

    The best rank follows from the number of significantly better runs, and the worst rank from the number of runs that
    are not significantly worse. Runs with overlapping ranks cannot be distinguished.

    Args:
        pairs: Names of two compared runs, and of the significantly better one or an empty string.

    Example:
        >>> possible_ranks([("a", "b", "a"), ("a", "c", ""), ("b", "c", "")])
        {'a': (1, 2), 'b': (2, 3), 'c': (1, 3)}
    """
    names = dict.fromkeys(name for first, second, _ in pairs for name in (first, second))
    found = {}
    for name in names:
        better = [one for first, second, one in pairs if name in (first, second)]
        found[name] = 1 + sum(one not in ("", name) for one in better), len(names) - better.count(name)
    return found


def letters(place: int) -> str:
    """Return a label for an index: A to Z, then AA, AB and so on."""
    return (letters(place // 26 - 1) if place >= 26 else "") + chr(ord("A") + place % 26)


def _warnings(verdict: PairVerdict, letter: Mapping[str, str]) -> list[str]:
    pairing, pair = verdict.pairing, f"{letter[verdict.first]} and {letter[verdict.second]}, {verdict.task}"
    warned = [f"different settings of {pair}: {differing}" for differing in verdict.differing]
    if pairing.only_first or pairing.only_second:
        alone = f"{_count_text(pairing.only_first, 'item')} only in the first, {pairing.only_second} only in the second"
        if pairing.alike:
            alone += f"; {pairing.alike} of them look alike in both, but differ in their {LIKENESS}"
        warned.append(f"left out of {pair}: {alone}")
    if pairing.conflicts:
        warned.append(
            f"left out of {pair}: {_count_text(pairing.conflicts, 'item')} with equal identifiers but different inputs"
        )
    if pairing.by == "text":
        warned.append(f"items of {pair} were matched by their input, because equal identifiers mean different items")
    if verdict.found.units < FEWEST:
        warned.append(f"{pair}: {_count_text(verdict.found.units, 'independent item')} shared, too few for an interval")
    return warned


def _count_text(count: int, name: str) -> str:
    return f"{count} {name}{'s' * (count != 1)}"
