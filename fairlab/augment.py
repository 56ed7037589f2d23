"""``python -m fairlab.augment``: make counterfactual data from any amount of text, in shards with a manifest."""

from __future__ import annotations

import sys

import hydra
from hydra.core.hydra_config import HydraConfig
from omegaconf import DictConfig

from fairlab.record import Record
from fairlab.run.augmenting.running import augment_rows, refuse_unplanned
from fairlab.run.command_line import cli
from fairlab.run.command_line.pipes import quiet_when_unread
from fairlab.run.config.schema import refuse_misfits
from fairlab.run.folders import plain_config
from fairlab.run.job import job

QUESTION = "What reduces the bias, and at what cost?"


@hydra.main(version_base="1.3", config_path=cli.conf_dir(), config_name="augment")
def main(config: DictConfig) -> None:
    """Run one augmentation, or one job of a sweep, as Hydra's entry point."""
    with cli.one_sentence():
        refuse_misfits("augment", config)  # before a record that the corrected command could not continue
        job("augment", config)


def work(config: DictConfig, record: Record) -> None:
    """Stream the input through the augmentation into the run folder.

    Shards of earlier attempts are reused.
    """
    values, name = plain_config(config), HydraConfig.get().runtime.choices.get("augmentation")
    refuse_unplanned(values, name)
    augment_rows(values, str(name), record)


@quiet_when_unread()
def command() -> None:
    """Run the command as the console script does."""
    if cli.asks_for_plan(sys.argv[1:]):
        from fairlab.run.planned import print_augmentation_plan

        print_augmentation_plan()
        return
    cli.run(main, "augment")


if __name__ == "__main__":
    command()
