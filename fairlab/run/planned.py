"""Implementation of ``dry_run=true``, which prints the plan of a command without creating a run folder."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from omegaconf import DictConfig

from fairlab.backbones.gguf_file import is_gguf_file
from fairlab.backbones.peft_folder import is_adapter_folder
from fairlab.checks.escapes import print_escaped
from fairlab.run.command_line import cli
from fairlab.run.command_line.options import config_folder, with_plus, with_quotes, without_config_folder
from fairlab.run.config.composing import composed, composing, from_model
from fairlab.run.config.schema import refuse_misfits
from fairlab.run.config.served_nodes import served_node
from fairlab.run.folders import plain_config, run_folder
from fairlab.run.planning.needs import model_settings, needs_of
from fairlab.run.planning.plan import RunPlan, plan_of_run, plan_text
from fairlab.run.planning.sizes import ModelSize, model_size
from fairlab.run.planning.work import at_hand, named_files
from fairlab.types import FairlabError

SMALL = 200_000_000  # maximum number of parameters of a model that is built for a plan
SHORT = 50_000_000  # maximum size in bytes of the data that is read for a plan


def print_plan(entry: str, rehearse: Callable[[DictConfig], None]) -> None:
    """Print the plan of the command, or exit with one sentence if the run would be refused.

    No file is written. ``rehearse`` prepares a run without doing its work, and raises the errors that the run would
    raise. It is called only if models and data are available and small.
    """
    try:
        given = single_run()
        with composing(config_folder(sys.argv[1:])):
            config = composition_of(entry, given)
            refuse_misfits(entry, config, given)
            refuse_other_run(entry, given, config)
            values = settings_to_plan(entry, config)
            if is_cheap(values):
                rehearse(config)  # may change the configuration
            run = plan_of_run(f"fairlab.{entry}", values)
        print_escaped(text_of(entry, run))
    except FairlabError as error:
        cli.stop(str(error))


def print_augmentation_plan() -> None:
    """Print what ``fairlab augment`` would need for its input, or exit with one sentence.

    The time is measured on a sample of the rows, unless a language model would be called. No file is written.
    """
    from fairlab.run.augmenting.running import refuse_unplanned
    from fairlab.run.augmenting.sampled import estimate

    try:
        given = ["output=none", *with_plus(single_run())]  # a plan writes nothing, so it needs no folder
        with composing(config_folder(sys.argv[1:])):
            config = composition_of("augment", given)
            refuse_misfits("augment", config, given)
            values, chosen = plain_config(config), dict(one.partition("=")[::2] for one in given)
            refuse_unplanned(values, chosen.get("+augmentation"))
            text = text_of("augment", plan_of_run("fairlab.augment", values)) if values["llm"] else estimate(values)
        print_escaped(text)
    except FairlabError as error:
        cli.stop(str(error))


def single_run() -> list[str]:
    """Return the overrides of the command.

    Raises:
        FairlabError: The command has an option, which would start several runs or none.
    """
    given = with_quotes(without_config_folder(sys.argv[1:]))
    if options := [one for one in given if one.startswith("-")]:
        raise FairlabError(f"dry_run=true plans one run; leave out {options[0]}")
    return given


def text_of(entry: str, run: RunPlan) -> str:
    """Return the plan of a command as text."""
    return plan_text(f"Plan: python -m fairlab.{entry}", [run], single=True)


def refuse_other_run(entry: str, given: Sequence[str], config: DictConfig) -> None:
    """Raise an error if the command would continue a run that does not exist or has another configuration."""
    values = dict(one.lstrip("+").split("=", maxsplit=1) for one in given if "=" in one)
    if values.get("ckpt", "null") != "null":
        run_folder(values.get("experiment", entry), "", values["ckpt"], _root_=config)


def is_cheap(values: dict[str, Any]) -> bool:
    """Return whether the models and data of a run are available and small enough to be built for its plan.

    A file or folder of the wrong kind counts as available, because the attempt to read it raises the error of the run.
    The values are those of :func:`settings_to_plan`.
    """
    if not all(need.there or Path(need.name).exists() for need in needs_of(values)):
        return False
    sizes = map(model_size, model_settings(values))
    names = [*named_files(values.get("data") or {}), *map(str, _listed_names(values.get("dataset")))]
    places = [place for name in names if (place := at_hand(name))]
    small = all(size is None or size.parameters <= SMALL for size in sizes)
    return small and sum(map(_size, places)) <= SHORT


def _size(place: Path) -> int:
    """Return the size in bytes of a file, or of all files in a folder."""
    return sum(file.stat().st_size for file in ([place] if place.is_file() else place.rglob("*")) if file.is_file())


def planned(
    entry: str,
    title: str,
    given: Sequence[str],
    commands: Sequence[Sequence[str]] = (),
    times: int = 1,
    made: dict[str, ModelSize] | None = None,
) -> RunPlan:
    """Return the plan of a command.

    ``problem`` is set if its configuration is not valid. The other arguments are those of
    :func:`fairlab.run.planning.plan.plan_of_run`.
    """
    overrides = without_config_folder(given)
    try:
        with composing(config_folder(given)):
            composition = composition_of(entry, overrides)
            refuse_misfits(entry, composition, overrides)
            config = settings_to_plan(entry, composition)
        return plan_of_run(title, config, commands, times, made)
    except FairlabError as error:
        return RunPlan(title, commands, problem=str(error), times=times)


def settings_to_plan(entry: str, composition: DictConfig) -> dict[str, Any]:
    """Convert a composed configuration to plain containers.

    For an evaluation, the settings of its models are added.
    """
    values = plain_config(composition)
    return values | {"models": models_of(values)} if entry == "evaluate" else values


def composition_of(entry: str, given: Sequence[str]) -> DictConfig:
    """Compose the configuration of a command without ``ckpt``, whose folder may not exist yet."""
    overrides = [one for one in given if not one.startswith("ckpt=")]
    composition = composed(entry, overrides, {})
    return from_model(composition, overrides) if entry == "train" else composition


def models_of(config: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the settings of all models that an evaluation loads, including those that embed its datasets."""
    base = config.get("base")
    with composing():
        return [_settings_of(str(name), base) for name in [*_listed_names(config["model"]), *embedders_of(config)]]


def _settings_of(name: str, base: str | None) -> dict[str, Any]:
    """Return the ``load_backbone`` settings of a model; for adapters, of the model that ``base`` names."""
    import hydra

    if base and is_adapter_folder(Path(name)):
        return _settings_of(str(base), None)
    if name in cli.choices("backbone"):
        return plain_config(hydra.compose(overrides=[f"+backbone={name}"]))["backbone"]  # type: ignore[no-any-return]
    if is_gguf_file(Path(name)):
        return {"name": str(Path(name).parent), "gguf": Path(name).name}
    return {"name": name, "served": served_node(name) is not None}


def embedders_of(config: dict[str, Any]) -> list[str]:
    """Return the names of the models that embed an evaluation's datasets.

    The result is empty if the evaluation measures models.
    """
    named = [str(node.get("vectors") or "") for node in (config["benchmark"] or {}).values()]
    return [name for name in named if name and not name.startswith("spacy:")] if config["dataset"] is not None else []


def _listed_names(named: Any) -> list[Any]:
    """Return a configuration value that names one or several models or datasets as a list."""
    if isinstance(named, dict):
        return list(named.values())
    return named if isinstance(named, list) else [] if named is None else [named]
