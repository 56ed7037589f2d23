"""``dry_run=true`` of an entry point: the plan of a command, without a run folder made by Hydra."""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from typing import Any

from fairlab.checks.escapes import print_escaped
from fairlab.run.command_line import cli
from fairlab.run.config.composing import composed, composing, from_model
from fairlab.run.config.schema import refuse_misfits
from fairlab.run.folders import plain_config
from fairlab.run.planning.hours import Device, gpus, this_machine
from fairlab.run.planning.plan import RunPlan, plan_of_run, plan_text
from fairlab.run.planning.sizes import ModelSize
from fairlab.types import FairlabError


def print_plan(entry: str) -> None:
    """Print the plan of the command line, or one sentence if it cannot be planned; no file is written or downloaded."""
    try:
        given = sys.argv[1:]
        if options := [one for one in given if one.startswith("-")]:
            raise FairlabError(f"dry_run=true plans one run; leave out {options[0]}")
        run = planned(entry, f"fairlab.{entry}", given)
        if run.problem:
            raise FairlabError(run.problem)
        found, busy = devices(calibrate=calibrates(given))
        print_escaped(plan_text(f"Plan: python -m fairlab.{entry}", [run], found, busy=busy, single=True))
    except FairlabError as error:
        cli.stop(str(error))


def calibrates(given: Sequence[str]) -> bool:
    """Return whether this machine should be timed."""
    return not any(re.fullmatch(r"\+*calibrate=(false|0|no|off)", one.casefold()) for one in given)


def devices(*, calibrate: bool) -> tuple[list[Device], str]:
    """Return the devices for which hours are estimated, and the reason if this machine could not be timed."""
    if not calibrate:
        return gpus(), ""
    try:
        return [this_machine(), *gpus()], ""
    except FairlabError as error:
        return gpus(), str(error)


def planned(
    entry: str,
    title: str,
    given: Sequence[str],
    commands: Sequence[Sequence[str]] = (),
    times: int = 1,
    made: dict[str, ModelSize] | None = None,
) -> RunPlan:
    """Return the plan of a command; if its configuration cannot be composed, the plan holds the reason.

    Args:
        entry: Name of the entry point.
        title: Name of the run.
        given: Overrides of the run.
        commands: Commands of the run, as in :func:`fairlab.run.planning.plan.plan_of_run`.
        times: Number of seeds, as there.
        made: Sizes of models made by other runs, as there.
    """
    overrides = [one for one in given if not one.startswith("ckpt=")]  # the folder need not exist yet
    try:
        composition = (
            from_model(composed(entry, overrides, {}), overrides)
            if entry == "train"
            else composed(entry, overrides, {})
        )
        refuse_misfits(entry, composition)
        config = plain_config(composition)
        if entry == "evaluate":
            config |= {"models": models_of(config)}
        return plan_of_run(title, config, commands, times, made)
    except FairlabError as error:
        return RunPlan(title, commands, problem=str(error), times=times)


def models_of(config: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the settings of the models that an evaluation measures: named backbones, or a folder or hub name."""
    named = config["model"]
    names = named.values() if isinstance(named, dict) else named if isinstance(named, list) else [named]
    with composing():
        import hydra

        return [
            plain_config(hydra.compose(overrides=[f"+backbone={name}"]))["backbone"]
            if name in cli.choices("backbone")
            else {"name": str(name)}
            for name in names
            if name is not None
        ]
