"""Augmentation of one row at a time, optionally after a search for the examples in the prompt."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Any

from fairlab.record import Note, Reading
from fairlab.run.augmenting.building import PlanOfRun, build_augmentation, build_llm, build_rewriter
from fairlab.run.config.build import build
from fairlab.types import FairlabError, Row

if TYPE_CHECKING:  # imported lazily so that --help is fast
    from fairlab.data.stream.manifest import Manifest


class RowByRow(PlanOfRun):
    """Plan of augmentations that process rows independently, an implementation of :class:`fairlab.protocols.Plan`."""

    examples: list[dict[str, str]] | None = None

    @property
    def builder(self) -> partial[Any]:
        """Return a function that builds the augmentation in a worker process."""
        return partial(build_augmentation, self.values, self.examples)

    def prepare(self) -> tuple[Iterator[Any], partial[Any]]:
        """Return the unchanged rows and a builder of the augmentation, after a prompt search if one is configured."""
        if self.values.get("search"):
            self.examples = self._search_prompt()
        return self.read(), self.builder

    def _search_prompt(self) -> list[dict[str, str]]:
        """Return the examples found by prompt search.

        The search stores its rounds in the folder ``search`` of the run.
        """
        from fairlab.augmentation.prompt_search import search_history

        values, record = self.values, self.record
        rewriter = build_rewriter(values, build_llm(values))
        search = build(values["search"], rewriter=rewriter)
        rows = (row for row in self.read() if isinstance(row, Row))
        texts = list(islice((row.text for row in rows if search.wanted(row.text)), search.texts))
        if not texts:
            raise FairlabError(f"no row of {values['input']} holds a word of the axis '{rewriter.lexicon.axis}'")
        rounds = search(texts, record.folder / "search")
        record.history = search_history(rounds)
        record.save()
        last = rounds[-1]
        return [*last["examples"], *([last["correction"]] if last["correction"] else [])]

    def provenance(self) -> dict[str, Any]:
        """Return the provenance of the rewriter."""
        return self.builder().rewriter.provenance

    def report(self, manifest: Manifest, made: int) -> tuple[list[Reading], list[Note]]:
        """Return the polarity accuracy and, if biasers expanded the data, a note on the number of new entries."""
        from fairlab.augmentation.biasers import COPIES, WITH_BIASER, expansion_verdict

        notes = []
        if COPIES in manifest.counts or WITH_BIASER in manifest.counts:
            notes = [Note("augmentation", expansion_verdict(manifest.read, len(manifest.made_by["attributes"]), made))]
        return polarity(manifest, self.values["seed"]), notes


def polarity(manifest: Manifest, seed: int) -> list[Reading]:
    """Return the polarity accuracy of the rewriter's output before filtering."""
    from fairlab.benchmarks.polarity import POLARITY
    from fairlab.benchmarks.readings import described_reading
    from fairlab.metrics.significance import wilson_interval

    judged = manifest.counts.get("judged", 0)
    readings = []
    for name in ("union", "neutral", *manifest.made_by["attributes"]) if judged else ():
        right = manifest.counts.get(f"right/{name}", 0)
        low, high = (100.0 * bound for bound in wilson_interval(right, judged))
        quantity = "union_accuracy" if name == "union" else f"accuracy_{name}"
        value = 100.0 * right / judged
        readings.append(described_reading(POLARITY, "rewrites", quantity, value, judged, (low, high), seed=seed))
    return readings
