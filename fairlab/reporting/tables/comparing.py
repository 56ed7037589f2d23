"""Comparison of two finished runs on the same items, based on their stored bootstrap draws."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairlab.benchmarks.inputs import other_input
from fairlab.benchmarks.kept_items import draws_file
from fairlab.benchmarks.runner import adjusted
from fairlab.benchmarks.versions import other_definition
from fairlab.checks.foreign import read_tensors
from fairlab.metrics.bootstrap import RESAMPLES, percentile_interval, two_sided_p
from fairlab.record import Comparison, Reading, Record
from fairlab.reporting.tables.naming import distinct_names
from fairlab.types import FairlabError

Place = tuple[str, str, str]  # benchmark, subset and quantity of a reading
CHANGE = "change"


@dataclass(frozen=True)
class Side:
    """Model that was measured in a run, as one side of a comparison.

    Attributes:
        record: Record of the run.
        phase: Phase of the model in the record; empty if it is the only model.
    """

    record: Record
    phase: str

    @cached_property
    def readings(self) -> dict[Place, Reading]:
        """Return the model's readings by benchmark, subset and quantity."""
        return {place_of(reading): reading for reading in self.record.readings if reading.phase == self.phase}

    @cached_property
    def draws(self) -> dict[Place, NDArray[np.float64]]:
        """Return the bootstrap draws (2,000,) of each reading for which the run stored them.

        Raises:
            FairlabError: A file is damaged or contains another number of draws.
        """
        found: dict[Place, NDArray[np.float64]] = {}
        for benchmark in {benchmark for benchmark, _, _ in self.readings}:
            file = draws_file(self.record.folder, self.phase, benchmark)
            held = read_tensors(file) if file.is_file() else {}
            for name, values in held.items():
                subset, _, quantity = name.rpartition("/")
                if values.shape != (RESAMPLES,):
                    raise FairlabError(
                        f"{file} has {values.size:,} draws of {name}, not {RESAMPLES:,}; put a complete copy there, or "
                        "measure again"
                    )
                found[benchmark, subset, quantity] = values.astype(np.float64)
        return found

    @property
    def name(self) -> str:
        """Return the name of the run, or its folder if it has no name, with the label of the model if there is one."""
        name = self.record.name or str(self.record.folder)
        return f"{name} ({self.phase})" if self.phase else name


def place_of(one: Reading | Comparison) -> Place:
    """Return the benchmark, subset and quantity of a reading or of a comparison."""
    return one.benchmark, one.subset, one.quantity


def sides_of(record: Record) -> list[Side]:
    """Return the models of a run that take part in comparisons: the trained model, or else all measured models."""
    phases = record.phases
    return [Side(record, phase) for phase in (["after"] if "after" in phases else phases)]


def only_side(record: Record) -> Side:
    """Return the model of a run that takes part in comparisons.

    Raises:
        FairlabError: The run measured no model, or several, or has not measured its trained model.
    """
    found = sides_of(record)
    is_untrained = "method" in record.config and [side.phase for side in found] == ["before"]
    if record.status != "finished" and (not found or is_untrained):
        raise FairlabError(f"{record.folder} is not finished ({record.state}); finish it, or leave it out")
    if len(found) != 1:
        have = f"several models ({', '.join(side.phase for side in found)})" if found else "no model"
        raise FairlabError(f"{record.folder} measured {have}; give a run of one model")
    return found[0]


def names_of(sides: Sequence[Side]) -> list[str]:
    """Return unique names for models. If several models have the same name, the run's folder is added."""
    return distinct_names([side.name for side in sides], [str(side.record.folder) for side in sides])


def compare_sides(before: Side, after: Side) -> list[Comparison]:
    """Return the differences between two models on all readings that both have, paired by item.

    The method is the same as for the models before and after training in one run. P-values of headline readings are
    adjusted by Holm's method.

    Raises:
        FairlabError: No reading can be compared; the message gives the reason.
    """
    shared = [place for place in after.readings if place in before.readings]
    first, second = names_of([before, after])
    if not shared:
        raise FairlabError(f"{first} and {second} share no reading; measure both with the same benchmarks")
    reasons = {place: why_not(before, after, place) for place in shared}
    alike = [place for place in shared if not reasons[place]]
    if not alike:
        raise FairlabError(f"{first} and {second} cannot be compared: {reasons[shared[0]]}")
    return adjusted([_comparison(before, after, place) for place in alike], CHANGE)


def of_other_definitions(before: Side, after: Side) -> list[str]:
    """Return one sentence for each benchmark that is left out because its readings have different versions."""
    pairs = [(before.readings[place], reading) for place, reading in after.readings.items() if place in before.readings]
    return list(dict.fromkeys(filter(None, (other_definition(*pair) for pair in pairs))))


def why_not(before: Side, after: Side, place: Place) -> str:
    """Return the reason why a reading of two models cannot be compared, or an empty string if it can be compared."""
    name = "/".join(place)
    if key := _other_setting(before.record, after.record, place[0]):
        return f"they were measured with different settings ({key})"
    if reason := other_data(before.record, after.record, place):
        return f"they were measured on different data ({reason})"
    if before.readings[place].n != after.readings[place].n:
        return f"{name} is over {before.readings[place].n} and {after.readings[place].n} items"
    if reason := other_definition(before.readings[place], after.readings[place]):
        return reason
    for side, called in zip((before, after), names_of([before, after]), strict=True):
        if place not in side.draws:
            return f"{called} keeps no draws of {name}, as runs of older versions; measure it again"
    return ""


def other_data(first: Record, second: Record, place: Place) -> str:
    """Return what differs between the data of a reading in two records, or an empty string."""
    return other_input(first, second, place[0].partition("@")[0], place[1])


def _other_setting(first: Record, second: Record, benchmark: str) -> str:
    """Return the first setting of a benchmark that differs between two runs.

    The result is empty if no setting differs, or if the settings are unknown.
    """
    name = re.split("[@]", benchmark)[0]
    nodes: list[Any] = [(record.config.get("benchmark") or {}).get(name) for record in (first, second)]
    if not all(isinstance(node, dict) for node in nodes):
        return ""
    differing = [key for key in {**nodes[0], **nodes[1]} if nodes[0].get(key) != nodes[1].get(key)]
    return f"{name}.{differing[0]}={nodes[0].get(differing[0])} and {nodes[1].get(differing[0])}" if differing else ""


def _comparison(before: Side, after: Side, place: Place) -> Comparison:
    """Return the difference between two models on a reading."""
    earlier, later = before.readings[place], after.readings[place]
    draws = after.draws[place] - before.draws[place]
    return Comparison(
        *place,
        later.value - earlier.value,
        later.unit,
        *percentile_interval(draws),
        two_sided_p(draws),
        later.n,
        headline=later.headline,
        phase=CHANGE,
        description=later.description,
    )
