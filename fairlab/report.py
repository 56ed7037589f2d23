"""``python -m fairlab.report``: the runs of a sweep side by side, as a page."""

from __future__ import annotations

from pathlib import Path

import hydra
from omegaconf import DictConfig, OmegaConf

from fairlab.reporting.sweep import report_sweep
from fairlab.run import cli
from fairlab.types import FairlabError


@hydra.main(version_base="1.3", config_path=cli.conf_dir(), config_name="report")
def main(config: DictConfig) -> None:
    """Hydra's entry."""
    with cli.one_sentence():
        if OmegaConf.is_missing(config, "runs"):
            raise FairlabError("runs has no value; give a folder of runs, for example runs=multirun/ccd_bert/DATE_TIME")
        report_sweep(Path(config.runs), config.readings)


def command() -> None:
    """The console script's entry."""
    cli.run(main, "report")


if __name__ == "__main__":
    command()
