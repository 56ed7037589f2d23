"""``python -m fairlab.report``: write a page that shows the runs of a sweep side by side."""

from __future__ import annotations

from pathlib import Path

import hydra
from omegaconf import DictConfig

from fairlab.reporting.many_runs.sweep import report_sweep
from fairlab.reporting.tables.folder_tables import write_tables
from fairlab.reporting.tables.runs import read_runs
from fairlab.run.command_line import cli
from fairlab.run.command_line.pipes import quiet_when_unread
from fairlab.run.config.schema import refuse_misfits

QUESTION = "Does a claim hold?"


@hydra.main(version_base="1.3", config_path=cli.conf_dir(), config_name="report")
def main(config: DictConfig) -> None:
    """Write the page as Hydra's entry point."""
    with cli.one_sentence():
        report(config)


def report(config: DictConfig) -> None:
    """Write the page and the tables of a sweep.

    Raises:
        FairlabError: A value is wrong, or there are no runs.
    """
    refuse_misfits("report", config)
    runs = Path(config.runs)
    report_sweep(runs, config.readings)
    write_tables(read_runs(runs), runs)


@quiet_when_unread()
def command() -> None:
    """Run the command as the console script does."""
    cli.run(main, "report")


if __name__ == "__main__":
    command()
