"""Pairwise comparison of several runs on every headline reading, with adjusted p-values and ranks with ties."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import TYPE_CHECKING

from fairlab.checks.escapes import frame_of
from fairlab.judge.verdicts import ADJUSTMENTS, letters, possible_ranks
from fairlab.metrics.significance import ALPHA, adjust_tested
from fairlab.record import Comparison, Reading
from fairlab.reporting.collapse import collapsed_readings
from fairlab.reporting.exports.measured_model import model_given
from fairlab.reporting.headlines import title, too_few
from fairlab.reporting.questions import Shift
from fairlab.reporting.tables.comparing import Place, Side, compare_sides, names_of, of_other_definitions, place_of
from fairlab.reporting.tables.marks import marks_beside
from fairlab.reporting.verdicts import TOO_FEW
from fairlab.types import FairlabError

if TYPE_CHECKING:  # pandas takes a second to import
    import pandas


@dataclass(frozen=True)
class RunPair:
    """Comparison of two runs on one headline reading.

    Attributes:
        first, second: Names of the runs.
        before, after: Readings of the first and second run.
        comparison: Difference, second minus first run.
        p_adjusted: P-value adjusted for all pairs and readings; nan if there are too few items.
        spoiled: Names of runs that are never called better, because of a warning about their training or model.
    """

    first: str
    second: str
    before: Reading
    after: Reading
    comparison: Comparison
    p_adjusted: float
    spoiled: frozenset[str] = frozenset()

    @property
    def differs(self) -> bool:
        """Return whether the two runs differ significantly."""
        return self.p_adjusted < ALPHA

    @property
    def better(self) -> str:
        """Return the name of the run that is significantly nearer to the ideal value; empty if there is no such run."""
        span = Shift(self.comparison, self.before, self.after).span
        if not self.differs or span is None:
            return ""
        low, _, high = span  # different values on either side of the ideal can be equally near
        nearer = self.first if low > 0 else self.second if high < 0 else ""
        return "" if nearer in self.spoiled else nearer

    def said(self, first: str, second: str) -> str:
        """Return one sentence on the difference between two runs, given their names."""
        c = self.comparison
        size = f"{second} minus {first}: {c.difference:+.3g}"
        if math.isnan(self.p_adjusted):
            return f"{size} ({TOO_FEW} or a verdict)."
        size += f" [{c.low:+.3g}, {c.high:+.3g}]"
        if not self.differs:
            return f"{size}, which could be due to chance (p {self.p_adjusted:.2g})."
        name = {self.first: first, self.second: second, "": ""}[self.better]
        return f"{size}, beyond chance (p {self.p_adjusted:.2g}){f'; {name} is nearer to the ideal' if name else ''}."


@dataclass(frozen=True)
class RunsCompared:
    """Comparison of all pairs of several runs on the headline readings that both runs of a pair have.

    Attributes:
        sides: Compared models, by name.
        pairs: One entry per reading and pair of runs.
        adjustment: Method that adjusted the p-values.
        left_out: One sentence for each reading that was not compared and each run with warnings.
    """

    sides: dict[str, Side]
    pairs: Sequence[RunPair]
    adjustment: str
    left_out: Sequence[str] = ()

    def ranks(self) -> list[tuple[Place, str, int, int]]:
        """Return a tuple of reading, run, best possible rank and worst possible rank for each reading and run."""
        found = []
        for place in dict.fromkeys(place_of(one.before) for one in self.pairs if one.before.ideal is not None):
            some = [one for one in self.pairs if place_of(one.before) == place]
            ranks = possible_ranks([(one.first, one.second, one.better) for one in some])
            found += [(place, name, *ends) for name, ends in ranks.items()]
        return found

    def to_pandas(self) -> pandas.DataFrame:
        """Return a table with one row per reading and pair of runs."""
        return frame_of(
            [
                {
                    "first": one.first,
                    "second": one.second,
                    "benchmark": one.comparison.benchmark,
                    "subset": one.comparison.subset,
                    "quantity": one.comparison.quantity,
                    "value_first": one.before.value,
                    "value_second": one.after.value,
                    "difference": one.comparison.difference,
                    "low": one.comparison.low,
                    "high": one.comparison.high,
                    "unit": one.comparison.unit,
                    "p": one.comparison.p,
                    "p_adjusted": one.p_adjusted,
                    "n": one.comparison.n,
                    "ideal": one.before.ideal,
                    "better": one.better,
                }
                for one in self.pairs
            ]
        )

    def __str__(self) -> str:
        letter = {name: letters(k) for k, name in enumerate(self.sides)}
        lines = [f"{letter[name]}: {name} ({_about(side)})" for name, side in self.sides.items()]
        lines += ["", *self.left_out] if self.left_out else []
        lines += ["", f"p-values are adjusted by {self.adjustment} over {len(self.pairs)} comparisons."]
        ranks = self.ranks()
        for place in dict.fromkeys(place_of(one.before) for one in self.pairs):
            some = [one for one in self.pairs if place_of(one.before) == place]
            values = {name: r.value for one in some for name, r in ((one.first, one.before), (one.second, one.after))}
            first = some[0].before
            ideal = "" if first.ideal is None else f", ideal {first.ideal:g}"
            shown = ", ".join(f"{letter[name]} {value:.4g}" for name, value in values.items())
            lines.append(f"{title(first)} ({first.n} items{ideal}): {shown}")
            lines += [f"  {one.said(letter[one.first], letter[one.second])}" for one in some]
            ranked = [
                f"{letter[name]} {best if best == worst else f'{best} to {worst}'}"
                for of, name, best, worst in ranks
                if of == place
            ]
            lines += (
                [f"  Possible ranks, as ranges if differences could be due to chance: {', '.join(ranked)}."]
                if ranked
                else []
            )
        return "\n".join(lines)


def compare_runs(sides: Sequence[Side], adjust: str = "holm") -> RunsCompared:
    """Compare runs pairwise on the headline readings that both runs of a pair have.

    The p-values are adjusted by the method ``holm`` or ``bh`` (Benjamini-Hochberg).

    Raises:
        FairlabError: The adjustment is unknown, or no two runs can be compared.
    """
    if adjust not in ADJUSTMENTS:
        raise FairlabError(f"adjust must be {' or '.join(ADJUSTMENTS)}, not '{adjust}'")
    named = dict(zip(names_of(sides), sides, strict=True))
    pairs: list[RunPair] = []
    left_out: list[str] = []
    for (first, before), (second, after) in combinations(named.items(), 2):
        left_out += of_other_definitions(before, after)
        try:
            found = compare_sides(before, after)
        except FairlabError as error:
            left_out.append(f"not compared: {error}")
            continue
        pairs += [_pair(first, second, before, after, one) for one in found if one.headline]
    if not pairs:
        raise FairlabError(left_out[0].removeprefix("not compared: ") if left_out else "no run has a headline reading")
    name, method = ADJUSTMENTS[adjust]
    adjusted = adjust_tested({k: one.p_adjusted for k, one in enumerate(pairs)}, method)
    pairs = [replace(one, p_adjusted=adjusted.get(k, math.nan)) for k, one in enumerate(pairs)]
    return RunsCompared(named, pairs, name, list(dict.fromkeys([*left_out, *warnings_on(sides)])))


def warnings_on(sides: Sequence[Side]) -> list[str]:
    """Return one sentence for each run whose headline readings have warnings, for example because it did not train."""
    named = zip(names_of(sides), sides, strict=True)
    return [f"{name}: {', '.join(marks)}" for name, side in named if (marks := _marks(side))]


def _about(side: Side) -> str:
    """Return the method and the model of a run, or the run's folder if both are unknown."""
    method = str((side.record.config.get("method") or {}).get("_target_", "")).rpartition(".")[2]
    model = model_given(side.record)
    return " on ".join(filter(None, (method, model if isinstance(model, str) else ""))) or str(side.record.folder)


def _pair(first: str, second: str, before: Side, after: Side, comparison: Comparison) -> RunPair:
    """Return the comparison of two runs on one reading, with a p-value that is not adjusted yet."""
    place = place_of(before.readings[place_of(comparison)])
    readings = {first: (before, before.readings[place]), second: (after, after.readings[place])}
    few = any(too_few(side.record, reading) for side, reading in readings.values())
    spoiled = frozenset(
        name
        for name, (side, reading) in readings.items()
        if marks_beside(side.record, reading) or reading.key in collapsed_readings(side.record)
    )
    p = math.nan if few else comparison.p
    return RunPair(first, second, before.readings[place], after.readings[place], comparison, p, spoiled)


def _marks(side: Side) -> list[str]:
    """Return the warnings on a run's headline readings."""
    found = [mark for one in side.readings.values() if one.headline for mark in marks_beside(side.record, one)]
    collapsed = any(one.headline and one.key in collapsed_readings(side.record) for one in side.readings.values())
    return list(dict.fromkeys([*found, *(["its gap fell by collapse alone"] if collapsed else [])]))
