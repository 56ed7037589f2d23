"""Reports that are written after the last job of a sweep."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from hydra.experimental.callback import Callback
from omegaconf import DictConfig

from fairlab.checks.escapes import print_escaped
from fairlab.files import write_whole
from fairlab.record import Record
from fairlab.reporting.tables.runs import read_runs


def finished_in(folder: Path) -> list[Record]:
    """Return the records of a sweep's finished runs, ordered by folder name.

    Unreadable records are skipped.
    """
    records = read_runs(folder, unread=[])  # unreadable records are named in the sweep's own report
    return [record for record in records if record.status == "finished"]


class CompareLanguageModels(Callback):
    """Callback that compares the finished runs of a sweep in ``mb_index.md`` and ``mb_index.json`` in its folder."""

    def on_multirun_end(self, config: DictConfig, **_: Any) -> None:
        """Compare the finished runs, write ``mb_index.md`` and ``mb_index.json``, and print the table."""
        folder = Path(config.hydra.sweep.dir)
        finished = finished_in(folder)
        if not finished:
            return

        from fairlab.reporting.many_runs.mb_index import compare_models, rendered_models

        found = compare_models(finished)
        write_whole(folder / "mb_index.json", json.dumps(found, indent=1) + "\n")
        write_whole(folder / "mb_index.md", rendered_models(found))
        print_escaped(rendered_models(found))
        print_escaped(f"{folder / 'mb_index.md'}, .json")


class ChooseReweighting(Callback):
    """Callback that compares a sweep's finished runs in ``reweighting.html`` and ``.json`` and selects among them."""

    def on_multirun_end(self, config: DictConfig, **_: Any) -> None:
        """Select a strength per harm by validation, write ``reweighting.html`` and ``.json``, and print the result."""
        folder = Path(config.hydra.sweep.dir)
        finished = finished_in(folder)
        if not finished:
            return

        from fairlab.reporting.many_runs.reweighting import compare_strengths, rendered_strengths, strength_verdict

        found = compare_strengths(finished)
        write_whole(folder / "reweighting.json", json.dumps(found, indent=1) + "\n")
        write_whole(folder / "reweighting.html", rendered_strengths(finished, found))
        for harm, of_harm in found.items():
            print_escaped(f"{harm}: {strength_verdict(of_harm)}")
        print_escaped(f"{folder / 'reweighting.html'}, .json")
