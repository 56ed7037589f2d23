"""Grouping of runs that differ only in their seed, settings that distinguish the groups, and averages over seeds."""

from __future__ import annotations

import math
import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairlab.judge.reading import read_tool_runs, shortened, unread_files
from fairlab.metrics.bootstrap import Z
from fairlab.record import DATA, Reading, Record
from fairlab.reporting.collapse import collapsed_readings
from fairlab.reporting.headlines import judging_rules
from fairlab.reporting.tables.marks import COLLAPSED, is_spoiled, marks_of_runs
from fairlab.reporting.tables.naming import common_name, differing, distinct_names, overrides_text
from fairlab.reporting.tables.runs import read_runs
from fairlab.reporting.tables.tool_records import tool_records
from fairlab.reporting.verdicts import corrected_interval
from fairlab.types import FairlabError

# Overrides that describe where and how a run was executed, or identify one of several equal runs.
NO_SETTING = re.compile(r"[+~]*(hydra[./]|launcher\b|(sweep|ckpt|before|output|seed|name)=)")
# Parts of a configuration that describe where, how or with which seed a run was executed; settings that inherit the
# seed.
BESIDES = {"seed", "name", "ckpt", "before", "output", "logger", "processes", "num_proc", "launcher"}
CONTENT = {"data.path": "data", "backbone.name": "weights"}  # paths, and provenance with their hashes
FEW_ITEMS = "too few items to conclude from"
FEWEST_SEEDS = 3  # minimum number of seeds for an interval over seeds and items with the right coverage
TWO_SEEDS = "two seeds, too few for an interval"
FEW_SEEDS = 8  # with fewer seeds, the interval over seeds alone is also shown
# Parts of a configuration that do not affect methods without training steps; data and device do affect them.
OF_STEPS = re.compile(
    r"(optimizer|schedule|callbacks|loader)\.|trainer\.(?!accelerator$|devices$|precision$)|data\.batch_size$"
)
SEED = re.compile(r"(^|\.)(seed|fresh)$")


@dataclass(frozen=True)
class Point:
    """Reading averaged over the runs of one group, which differ only in their seed.

    Attributes:
        value: Mean over the runs, in the reading's unit.
        low, high: Bounds of the 95 % interval over items and, with several seeds, over seeds (nested); nan with two
            seeds; see :func:`over_seeds`.
        ideal: Value of a perfectly fair or useful model, or None.
        n: Number of averaged runs. Repetitions of the same computation are not counted.
        marks: Warnings shown with the value, for example that the method did not train, with the number of runs that
            have them.
        over_seeds: Bounds of Student's t-interval over the seeds alone if there are fewer than :data:`FEW_SEEDS` seeds;
            otherwise None.
    """

    value: float
    low: float
    high: float
    ideal: float | None
    n: int
    marks: tuple[str, ...] = ()
    over_seeds: tuple[float, float] | None = None

    @property
    def distance(self) -> float:
        """Return the distance from the ideal value, or nan if there is no ideal value."""
        return math.nan if self.ideal is None else abs(self.value - self.ideal)

    @property
    def distances(self) -> tuple[float, float]:
        """Return the lower and upper bound of the distance from the ideal value.

        Values on opposite sides of the ideal can have the same distance.
        """
        ideal = self.ideal or 0.0
        ends = sorted((abs(self.low - ideal), abs(self.high - ideal)))
        return 0.0 if self.low <= ideal <= self.high else ends[0], ends[1]

    @property
    def interval(self) -> str:
        """Return the bounds of the interval in brackets, or an empty string if there are too few items or seeds."""
        shown = math.isfinite(self.low) and FEW_ITEMS not in self.marks
        return f"[{self.low:.4g}, {self.high:.4g}]" if shown else ""


@dataclass(frozen=True)
class Choice:
    """Group of runs that differ only in their seed, with their averaged readings.

    Attributes:
        settings: Settings that distinguish the group from other groups, by key.
        seeds: Seeds of the runs.
        points: Averaged readings, by key.
        repeated: Number of runs that were left out because a later run has the same settings and seed.
        runs: Records of the remaining runs.
        called: User-given name of the runs, with the settings in which groups of the same name differ. Empty if the
            runs have no name, or different names.
    """

    settings: dict[str, str]
    seeds: list[int | None]
    points: dict[str, Point]
    repeated: int = 0
    runs: tuple[Record, ...] = ()
    called: str = ""

    @property
    def name(self) -> str:
        """Return the user-given name of the runs, or the settings as overrides if there is none."""
        return self.called or overrides_text(self.settings) or "all runs"


def records_below(folder: Path) -> list[Record]:
    """Return the records of all runs in a folder and its subfolders.

    If there are no fairlab runs, return records of other tools' results.

    Raises:
        FairlabError: The folder does not exist or contains no run.
    """
    if not folder.exists():
        raise FairlabError(f"{folder} is not a folder; give a folder of runs, such as outputs")
    if records := read_runs(folder) if folder.is_dir() else []:
        return records
    if records := tool_records(folder):
        return records
    if folder.is_file():
        read_tool_runs(folder)  # raises the reason why nothing is read
    unread = f" (not read: {shortened(found)})" if (found := unread_files(folder)) else ""
    raise FairlabError(
        f"{folder} holds no run (no record.json below it) and no results of another tool{unread}; give a folder of "
        "runs, such as outputs"
    )


def settings_of(records: Sequence[Record]) -> list[dict[str, str]]:
    """Return, for each run, the settings that distinguish it from the others, by key.

    These are the overrides that differ and, if necessary, other settings. Values come from the resolved configurations.
    If an override selects a whole part of the configuration, the value is taken from the command.
    """
    done = [identity(record) for record in records]
    given = [_overrides_of(record) for record in records]
    keys = dict.fromkeys(key for one in given for key in one)
    found = [
        {key: _configured_value(record.config, key) or one.get(key, "default") for key in keys}
        for one, record in zip(given, records, strict=True)
    ]
    differing = [key for key in keys if len({one[key] for one in found}) > 1]
    shown = [{key: one[key] for key in differing} for one in found]
    different = _kinds(done)
    for leaf in dict.fromkeys(leaf for one in done for leaf in one):
        if _kinds(shown) == different:
            break
        more = [one | {leaf: leaves.get(leaf, "none")} for one, leaves in zip(shown, done, strict=True)]
        shown = more if _kinds(more) > _kinds(shown) else shown
    return shown


def _kinds(found: Sequence[Mapping[str, str]]) -> int:
    return len({tuple(sorted(one.items())) for one in found})


def identity(record: Record) -> dict[str, str]:
    """Return the configuration values that affect a run, without the seed. Keys with the value null are left out.

    The optimizer, schedule, steps and batches do not affect a finished run of a method without training steps, such as
    a projection, so they are left out as well. Data and weights are identified by their hashes if the record contains
    them, and otherwise by their paths.
    """
    config = record.config
    what = {key: value for key, value in config.items() if key not in BESIDES}
    seed = _text(config.get("seed"))
    leaves = {
        key: value for key, value in _leaves(what, "") if value != "None" and not (SEED.search(key) and value == seed)
    }
    if (
        record.status == "finished"
        and "method" in config
        and not record.history
        and not record.provenance.get("sources")
    ):
        leaves = {key: value for key, value in leaves.items() if not OF_STEPS.match(key)}
    for key, facts in CONTENT.items():
        digest = record.provenance.get(facts, {}).get("sha256")
        if key in leaves and digest:
            leaves[key] = digest[:12]
    return leaves


def _leaves(content: Any, place: str) -> Iterator[tuple[str, str]]:
    if isinstance(content, dict):  # an empty dict is a group without a choice
        for key, value in content.items():
            yield from _leaves(value, f"{place}.{key}" if place else str(key))
    else:
        yield place, _text(content)


def _text(value: Any) -> str:
    """Format a value as text, identically for 1 and 1.0."""
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def _overrides_of(record: Record) -> dict[str, str]:
    overrides = [part for part in shlex.split(record.command)[3:] if "=" in part and not NO_SETTING.match(part)]
    return {key.lstrip("+~"): value for key, _, value in (part.partition("=") for part in overrides)}


def _configured_value(config: Any, key: str) -> str:
    """Return the value of a configuration key, or an empty string if it is missing or denotes a group of settings."""
    for part in key.split("."):
        if not isinstance(config, dict) or part not in config:
            return ""
        config = config[part]
    return "" if isinstance(config, dict) else _text(config)


def choices_of(records: Sequence[Record], keys: Sequence[str]) -> list[Choice]:
    """Group the finished runs whose configurations differ only in their seed.

    If several runs have the same configuration and seed, only the last one is used. ``keys`` are the keys of the
    readings to average, as in ``metrics.json``.
    """
    done = [record for record in records if record.status == "finished"]
    grouped: dict[tuple[tuple[str, str], ...], list[int]] = {}
    for number, record in enumerate(done):
        grouped.setdefault(tuple(sorted(identity(record).items())), []).append(number)
    settings = settings_of(done)
    made = []
    for numbers in grouped.values():
        runs = list({done[number].config.get("seed"): done[number] for number in numbers}.values())
        found = {key: [(run, one) for run in runs for one in run.readings if one.key == key] for key in keys}
        points = {key: point_over(having) for key, having in found.items()}
        made.append(
            Choice(
                settings[numbers[0]],
                [record.config.get("seed") for record in runs],
                {key: point for key, point in points.items() if point is not None},
                len(numbers) - len(runs),
                tuple(runs),
            )
        )
    names = [common_name(choice.runs) for choice in made]
    called = distinct_names(names, differing([choice.settings for choice in made], names))
    return [replace(choice, called=name) for choice, name in zip(made, called, strict=True)]


def point_over(found: Sequence[tuple[Record, Reading]]) -> Point | None:
    """Return the average of a reading over runs, with warnings and the interval for verdicts, or None without runs."""
    one = len({(reading.value, reading.low, reading.high) for _, reading in found}) == 1
    point = over_seeds([_correct_interval(record, reading, one) for record, reading in found])
    if point is None:
        return None
    few = any(math.isnan(corrected_interval(record, reading)[0]) for record, reading in found)
    collapsed = any(reading.key in collapsed_readings(record) for record, reading in found)
    return replace(
        point,
        marks=marks_of_runs(found) + (COLLAPSED,) * collapsed + (FEW_ITEMS,) * few + (TWO_SEEDS,) * (point.n == 2),
    )


def _correct_interval(record: Record, reading: Reading, one: bool) -> Reading:
    """Widen the interval of a reading to correct for a small number of items.

    A reading without an interval is returned unchanged. If the runs differ, only absolute values of estimates are
    corrected, because :func:`over_seeds` already corrects all other readings. ``one`` states whether all runs have the
    same value and interval.
    """
    info = judging_rules(reading)
    low, high = corrected_interval(record, reading)
    correct = (one or (info is not None and info.folded)) and not math.isnan(low)
    return replace(reading, low=low, high=high) if correct else reading


def over_seeds(readings: Sequence[Reading]) -> Point | None:
    r"""Return the mean of a reading over runs, with its 95 % interval over seeds and items, or None without runs.

    Runs with equal values and intervals count as one computation, because a deterministic method varies only with its
    items. Otherwise, the variance of the mean of S seeds over N items is :math:`a + b`, with :math:`a = s^2 / S` and
    :math:`b = e^2`, where s is the standard deviation of the values and e the mean standard error over items. All runs
    have the same items, so the variance over items does not average out.

    The half-width by Welch and Satterthwaite is :math:`t_f \sqrt{a + b}` with :math:`f = (a + b)^2 / (a^2 / (S - 1) +
    b^2 / (N - 1))`. Its coverage is too low for three seeds that vary. The half-width by Howe is :math:`\sqrt{t_{S-1}^2
    a + t_{N-1}^2 b}`. Its coverage is too high if seeds vary little. Three quarters of the first half-width plus one
    quarter of the second have the right coverage for at least :data:`FEWEST_SEEDS` seeds. For two seeds, no formula has
    the right coverage, and both bounds are nan.
    """
    if not readings:
        return None
    first = readings[0]
    computed = {(reading.value, reading.low, reading.high) for reading in readings}
    if len(computed) == 1:
        return Point(first.value, first.low, first.high, first.ideal, 1)
    from scipy import stats  # takes a second to import

    values = np.array([reading.value for reading in readings])
    n, mean = len(values), float(values.mean())
    errors = np.array([float(values.std(ddof=1)) / math.sqrt(n), 0.0])
    errors[1] = np.mean([(reading.high - reading.low) / (2 * Z) for reading in readings])
    alone = float(stats.t.ppf(0.975, n - 1)) * float(errors[0])
    half = nested_half_width(errors, np.array([n - 1, max(first.n - 1, 1)])) if n >= FEWEST_SEEDS else math.nan
    seeds = (mean - alone, mean + alone) if n < FEW_SEEDS else None
    return Point(mean, mean - half, mean + half, first.ideal, n, over_seeds=seeds)


def nested_half_width(errors: NDArray[np.float64], freedom: NDArray[np.int64]) -> float:
    """Return the half-width of a 95 % interval whose variance is the sum of two variances; see :func:`over_seeds`.

    The standard errors (2,) and their degrees of freedom (2,) are those due to seeds and due to items.
    """
    from scipy import stats  # takes a second to import

    variances = errors**2
    total = float(variances.sum())
    if not total > 0:
        return 0.0 if total == 0 else math.nan
    howe = math.hypot(*(stats.t.ppf(0.975, freedom) * errors))
    welch = float(stats.t.ppf(0.975, total**2 / float((variances**2 / freedom).sum()))) * math.sqrt(total)
    return howe / 4 + 3 * welch / 4


def headlines(records: Sequence[Record]) -> list[str]:
    """Return the keys of the headline readings of trained or evaluated models."""
    readings = [reading for record in records for reading in record.readings]
    return list(dict.fromkeys(r.key for r in readings if r.headline and r.phase not in ("before", DATA)))


def best(choices: Sequence[Choice], key: str) -> tuple[Choice, list[Choice]] | None:
    """Return the group whose mean is nearest to the ideal, and the groups whose intervals overlap with its interval.

    A model that did not train, or whose readings do not show bias, is never the best. The result is None if no other
    model has a reading with an ideal value.
    """
    having = [choice for choice in choices if key in choice.points and choice.points[key].ideal is not None]
    sound = [choice for choice in having if not spoiled(choice.points[key])]
    if not sound:
        return None
    first = min(sound, key=lambda choice: choice.points[key].distance)
    top = first.points[key]
    alike = [c for c in having if c is not first and not _intervals_disjoint(c.points[key], top)]
    return first, alike


def _intervals_disjoint(first: Point, second: Point) -> bool:
    """Return whether the intervals of two distances are disjoint. With too few items, the result is False."""
    few = FEW_ITEMS in (*first.marks, *second.marks)  # comparisons with nan, the bounds for two seeds, are false
    (low, high), (other_low, other_high) = first.distances, second.distances
    return not few and (low > other_high or high < other_low)


def spoiled(point: Point) -> bool:
    """Return whether any of the averaged runs has a warning that makes its reading unusable."""
    return is_spoiled(point.marks)


def trade_off_front(points: Sequence[tuple[float, float]]) -> list[int]:
    """Return the indices of the points on the Pareto front of two distances, ordered by the first distance."""
    kept = [k for k, (x, y) in enumerate(points) if not any(a <= x and b <= y and (a < x or b < y) for a, b in points)]
    return sorted(kept, key=lambda k: points[k])
