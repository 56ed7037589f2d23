"""Reports that a sweep writes after its last job."""

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
    """Return the readable records of a sweep's finished runs, by the names of their folders."""
    records = read_runs(folder, unread=[])  # unreadable records are named in the sweep's own report
    return [record for record in records if record.status == "finished"]


class CompareLanguageModels(Callback):
    """Writer of ``mb_index.md`` and ``mb_index.json`` in the sweep's folder, which compare its finished runs."""

    def on_multirun_end(self, config: DictConfig, **_: Any) -> None:
        """Compare the finished runs and print the table."""
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
    """Writer of ``reweighting.html`` and ``reweighting.json`` in the sweep's folder: finished runs and the choice."""

    def on_multirun_end(self, config: DictConfig, **_: Any) -> None:
        """Choose among the finished runs by validation, and print the choice."""
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
