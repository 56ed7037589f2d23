"""Report that is written after the last job of a sweep over strengths of reweighting."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from hydra.experimental.callback import Callback
from omegaconf import DictConfig

from fairlab.checks.escapes import print_escaped
from fairlab.files import write_whole
from fairlab.reporting.tables.runs import read_runs


class ChooseReweighting(Callback):
    """Callback that compares a sweep's finished runs in ``reweighting.html`` and ``.json`` and selects among them."""

    def on_multirun_end(self, config: DictConfig, **_: Any) -> None:
        """Select a strength per harm by validation, write ``reweighting.html`` and ``.json``, and print the result."""
        folder = Path(config.hydra.sweep.dir)
        records = read_runs(folder, unread=[])  # unreadable records are named in the sweep's own report
        finished = [record for record in records if record.status == "finished"]
        if not finished:
            return

        from fairlab.reporting.many_runs.reweighting import compare_strengths, rendered_strengths, strength_verdict

        found = compare_strengths(finished)
        write_whole(folder / "reweighting.json", json.dumps(found, indent=1) + "\n")
        write_whole(folder / "reweighting.html", rendered_strengths(finished, found))
        for harm, of_harm in found.items():
            print_escaped(f"{harm}: {strength_verdict(of_harm)}")
        print_escaped(f"{folder / 'reweighting.html'}, .json")
