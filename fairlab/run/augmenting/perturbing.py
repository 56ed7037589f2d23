"""Plan of perturbation: all words and target attributes are chosen before any text is rewritten.

Source: Qian et al. 2022, "Perturbation Augmentation for Fairer NLP", algorithm 1.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fairlab.checks.foreign import read_json, require_form
from fairlab.files import gather, sha256, write_whole
from fairlab.record import Note, Reading
from fairlab.run.augmenting.building import PlanOfRun, build_choosing, build_perturbation
from fairlab.types import Row

if TYPE_CHECKING:  # imported lazily so that --help is fast
    from fairlab.data.stream.manifest import Manifest


class Perturbing(PlanOfRun):
    """Plan of perturbation, an implementation of :class:`fairlab.protocols.Plan`.

    If there is no rewriter, the plan ends after the words and attributes are chosen.
    """

    @property
    def builder(self) -> partial[Any]:
        """Return a function that builds the perturbation in a worker process."""
        return partial(build_perturbation, self.values)

    def prepare(self) -> tuple[Iterator[Any], partial[Any]] | None:
        """Return the rows with their choices and a builder of the perturbation, or None if there is no rewriter."""
        from fairlab.data.stream.choices import with_choices

        given = self.values["augmentation"]["choices"]
        choices = self._choices() if given is None else Path(given)
        return (with_choices(self.read(), choices), self.builder) if self.values["rewriter"] else None

    def _choices(self) -> Path:
        """Draw the choices for all rows, write them to the run folder, and return the path of the file."""
        from fairlab.data.stream.choices import CHOICES
        from fairlab.data.stream.rows import row_progress
        from fairlab.data.stream.shards import make_shards

        record = self.record
        folder = record.folder / "choices"
        folder.mkdir(exist_ok=True)
        weights = self._weights(folder / "weights.json")
        made = make_shards(
            row_progress(self.read(), self.read),
            partial(build_choosing, self.values, weights),
            folder,
            **{name: self.values[name] for name in ("shard_rows", "num_proc", "engine")},
        )
        names, read = list[str](), 0
        for summary in made:
            read += summary["read"]
            names += [summary["files"]["data"]["file"]] if "data" in summary["files"] else []
        path = record.folder / CHOICES
        gather(path, [folder / name for name in names])
        with path.open("rb") as lines:
            count = sum(1 for _ in lines)
        record.provenance["choices"] = {"rows": count, "sha256": sha256(path), "weights": weights}
        record.notes = [Note("augmentation", f"{count:,} choices of {read:,} rows")]
        record.status = record.status if self.values["rewriter"] else "finished"
        record.save()
        return path

    def _weights(self, file: Path) -> dict[str, float]:
        """Return the sampling weight of each axis, computed from all texts or read from an earlier attempt's file."""
        if not file.exists():
            perturbation = build_choosing(self.values, {}).perturbation
            weights = perturbation.weights(row.text for row in self.read() if isinstance(row, Row))
            write_whole(file, json.dumps(weights) + "\n")
        found = read_json(file)
        require_form(file, found, dict[str, float])
        return found  # type: ignore[no-any-return]

    def provenance(self) -> dict[str, Any]:
        """Return the provenance of the rewriter."""
        return self.builder().rewriter.provenance

    def report(self, manifest: Manifest, made: int) -> tuple[list[Reading], list[Note]]:
        """Return the percentages of changed rows, and write an annotation sheet for people next to the data."""
        from fairlab.reporting.reading_sheet import write_sheet

        write_sheet(manifest, self.record.folder)
        return changed_shares(manifest, self.values["seed"]), []


def changed_shares(manifest: Manifest, seed: int) -> list[Reading]:
    """Return the percentage of readable rows whose text changed, in total and per axis.

    Source: table 13 of Qian et al. 2022.
    """
    from fairlab.augmentation.perturbation import PERTURBED
    from fairlab.benchmarks.readings import described_reading
    from fairlab.data.stream.shards import BAD
    from fairlab.metrics.significance import wilson_interval

    readable = manifest.read - manifest.counts.get(BAD, 0)
    readings = []
    for axis in ("all", *manifest.made_by["axis"].split(", ")):
        count = manifest.counts.get("perturbed" if axis == "all" else f"perturbed/{axis}", 0)
        low, high = (100.0 * bound for bound in wilson_interval(count, readable))
        value = 100.0 * count / readable
        rank = {"headline": axis == "all", "seed": seed}
        readings.append(described_reading(PERTURBED, axis, "perturbed", value, readable, (low, high), **rank))
    return readings
