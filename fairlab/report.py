"""``python -m fairlab.report``: the runs of a sweep side by side, as a page."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import hydra
from omegaconf import DictConfig, OmegaConf

from fairlab import cli
from fairlab.types import FairlabError


@hydra.main(version_base="1.3", config_path=cli.conf_dir(), config_name="report")
def main(config: DictConfig) -> None:
    """Hydra's entry."""
    with cli.one_sentence():
        if OmegaConf.is_missing(config, "runs"):
            raise FairlabError("runs has no value; give a folder of runs, for example runs=multirun/ccd_bert/DATE_TIME")
        report_sweep(Path(config.runs), config.readings)


def report_sweep(folder: Path, readings: Sequence[str] | None = None) -> None:
    """Write the page of a folder of runs, and say where it is.

    Args:
        folder: with runs at any depth.
        readings: keys in ``metrics.json``; None takes the headline readings.

    Raises:
        FairlabError: there is no such folder, no run in it, or no such reading.
    """
    from fairlab.reporting.sweep import headlines, read_runs, write_sweep

    if not folder.is_dir():
        raise FairlabError(f"{folder} is no folder; give runs=DIR, a folder of runs")
    records = read_runs(folder)
    if not records:
        raise FairlabError(f"{folder} holds no run (no record.json below it); give runs=DIR, a folder of runs")
    known = {reading.key for record in records for reading in record.readings}
    if unknown := [key for key in readings or () if key not in known]:
        raise FairlabError(f"no run in {folder} has {unknown[0]}; readings takes keys of metrics.json")
    page = write_sweep(folder, records, list(readings or headlines(records)))
    print(f"report: {page}")


def command() -> None:
    """The console script's entry."""
    cli.run(main, "report")


if __name__ == "__main__":
    command()
