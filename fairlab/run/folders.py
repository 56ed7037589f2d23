"""Folders of new and resumed runs."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any, NotRequired, TypedDict

from omegaconf import DictConfig, OmegaConf

from fairlab.checks.escapes import print_escaped
from fairlab.checks.foreign import read_json, require_form
from fairlab.checks.redaction import without_secrets
from fairlab.files import SWEEP, check_folder, holds_run, read_bounded, write_whole
from fairlab.record import Record
from fairlab.types import FairlabError

OUTPUTS = Path("outputs")
MULTIRUN = Path("multirun")
AUGMENTED = OUTPUTS / "augmented"  # training data that runs generated from texts, in folders named by a hash
REPLACED = "replaced by model"  # backbone in a configuration that does not have the backbone of its model yet
# Settings that control how a sweep is run and do not change its results.
OF_LAUNCHER = re.compile(r"launcher\b|hydra[./](launcher|mode|sweep\.)")
# Settings that may differ in a continued run, because they change its speed or location but not its results.
# Records of earlier versions have calibrate.
NOT_COMPARED = re.compile(
    r"(name|ckpt|before|strict|output|dry_run|calibrate|push|license|num_proc|engine|rewriter\.unanswered|processes|logger"
    r"|trainer\.(devices|num_nodes|compile)"
    r"|llm\.(base_url|program|port|api_key_env|concurrency|tokens_per_minute|retries|probe_above|total_timeout|price|budget"
    r"|batch|ledger))(\.|$)"
)


class SweepFile(TypedDict):
    """Keys of ``sweep.json``."""

    overrides: list[str]
    status: str
    best_by_validation: NotRequired[list[dict[str, Any]]]


def run_folder(experiment: str, now: str, ckpt: str | None, *, _root_: DictConfig) -> str:
    """Return the folder that a run writes to.

    This folder is the ``hydra.run.dir`` of every entry point.

    Args:
        experiment: Name of the experiment, and of the folder between ``outputs`` and the run.
        now: Time stamp of a new run.
        ckpt: Run to continue: None for a new run, ``last`` for the newest unfinished run of the experiment, or the
            folder of a run.
        _root_: Composed configuration, passed in by OmegaConf.

    Raises:
        FairlabError: The run does not exist, is finished, or has another configuration; no file is written.
    """
    if ckpt is None:
        return str(OUTPUTS / experiment / now)
    folder = newest_unfinished(OUTPUTS / experiment) if ckpt == "last" else Path(str(ckpt))
    refuse_changed_config(folder, _without_replaced(plain_config(_root_)))
    return str(folder)


def sweep_folder(name: str, now: str, *, _root_: DictConfig) -> str:
    """Return the folder of the newest sweep with the same overrides if it has unfinished runs, else a new folder.

    This folder is the ``hydra.sweep.dir`` of the entry points, in ``multirun/NAME``.
    """
    given = sweep_overrides([*_root_.hydra.overrides.task, *_root_.hydra.overrides.hydra])
    return _sweep_folder(name, now, tuple(given))


@cache  # a sweep keeps its folder after it has finished
def _sweep_folder(name: str, now: str, overrides: tuple[str, ...]) -> str:
    for file in sorted((MULTIRUN / name).glob(f"*/{SWEEP}"), reverse=True):
        sweep = read_json(file)
        require_form(file, sweep, SweepFile)
        if sweep["overrides"] == list(overrides):
            if sweep["status"] != "finished":
                check_folder(file.parent)
                return str(file.parent)
            break
    return str(MULTIRUN / name / now)


def sweep_of(folder: Path) -> str | None:
    """Return the name of the sweep that a run's folder belongs to, or None if the run is not part of a sweep."""
    if not (folder.parent / SWEEP).is_file():
        return None
    return "/".join(folder.resolve().parts[-3:-1])


def sweep_overrides(overrides: Sequence[str]) -> list[str]:
    """Return the overrides that identify a sweep, without secrets and without the choice of a launcher."""
    return [without_secrets(one) for one in overrides if not OF_LAUNCHER.match(one)]


def write_sweep_state(
    folder: Path, overrides: Sequence[str], status: str, chosen: Sequence[dict[str, Any]] = ()
) -> None:
    """Record the state of a sweep for :func:`sweep_folder`, and remove secrets from Hydra's copy of the configuration.

    The status is ``running`` until all runs are finished. ``chosen`` are settings with the best validation result.
    """
    content: dict[str, Any] = {"overrides": sweep_overrides(overrides), "status": status}
    if chosen:
        content["best_by_validation"] = list(chosen)
    write_whole(folder / SWEEP, json.dumps(content, indent=1) + "\n")
    hydra = folder / "multirun.yaml"
    if hydra.is_file():
        write_whole(hydra, without_secrets(read_bounded(hydra)))


def refuse_other_run_of_sweep(place: Path, config: dict[str, Any]) -> None:
    """Raise if ``ckpt`` is given in a sweep, or if the folder of one of the sweep's runs contains another run."""
    if config.get("ckpt") is not None:
        raise FairlabError("ckpt continues one run and cannot be used with -m; to continue a sweep, repeat its command")
    if holds_run(place) and (key := changed_key(Record.load(place), _without_replaced(config))):
        raise FairlabError(f"{place} holds another run ({key}); choose another hydra.sweep.dir")


def _without_replaced(config: dict[str, Any]) -> dict[str, Any]:
    """Mark the backbone of a composed configuration that ``model`` will replace when the run starts.

    The run then compares the backbone of the model with that of its record.
    """
    return config if config.get("model") is None or "backbone" not in config else config | {"backbone": REPLACED}


def is_finished(folder: Path) -> bool:
    """Return whether a folder contains a finished run."""
    return holds_run(folder) and Record.load(folder).status == "finished"


def newest_unfinished(folder: Path) -> Path:
    """Return the newest interrupted run in ``folder``, or the newest failed run if no run was interrupted.

    An interrupted run takes precedence over a newer failed run, which would fail again with the same error. Unreadable
    records are skipped with a message.
    """
    failed: Path | None = None
    for record in sorted(folder.glob("*/record.json"), key=lambda path: path.parent.name, reverse=True):
        try:
            status = Record.load(record.parent).status
        except FairlabError as error:
            print_escaped(f"fairlab: skipped: {error}", error=True)
            continue
        if status in ("running", "interrupted"):
            return record.parent
        if status != "finished":
            failed = failed or record.parent
    if failed is not None:
        return failed
    raise FairlabError(f"there is no unfinished run in {folder}; leave ckpt out to start a new one")


def plain_config(config: DictConfig) -> dict[str, Any]:
    """Return a run's resolved configuration as plain containers, without its launcher.

    Missing values are represented by ``???``.
    """
    if "hydra" in config:
        config = OmegaConf.masked_copy(config, [str(key) for key in config if key != "hydra"])
    values: dict[str, Any] = OmegaConf.to_container(config, resolve=True, throw_on_missing=False)  # type: ignore[assignment]
    return {key: value for key, value in values.items() if key != "launcher"}


def refuse_changed_config(folder: Path, config: dict[str, Any]) -> None:
    """Raise an error unless ``folder`` contains an unfinished run with the same configuration."""
    if not holds_run(folder):
        raise FairlabError(f"{folder} holds no run to continue (no record.json); give a run folder or ckpt=last")
    record = Record.load(folder)
    if record.status == "finished":
        raise FairlabError(f"the run in {folder} is finished; leave ckpt out to start a new one")
    if key := changed_key(record, config):
        raise FairlabError(
            f"the run in {folder} has {key}; continue it with the same configuration, or start a new run without ckpt"
        )


def changed_key(record: Record, config: dict[str, Any]) -> str:
    """Return the first difference between a record's configuration and ``config``, as ``key=OLD, not NEW``.

    The string is empty if there is no difference. A backbone of :data:`REPLACED` is not compared.
    """
    old, new = compared(record.config), compared(config)
    if config.get("backbone") == REPLACED:
        old, new = ({key: one[key] for key in one if key.partition(".")[0] != "backbone"} for one in (old, new))
    for key in sorted(old.keys() | new.keys()):
        if old.get(key) != new.get(key):
            return f"{key}={old.get(key)}, not {new.get(key)}"
    return ""


def output_folder(*, _root_: DictConfig) -> str:
    """Return the folder that an augmentation writes to.

    The folder must be new, or contain an augmentation that has the same configuration, which is then continued, or that
    failed before it wrote any data.

    Raises:
        FairlabError: No folder was given, or it has other content; no file is written.
    """
    if OmegaConf.is_missing(_root_, "output") or not isinstance(_root_.output, str | int):
        raise FairlabError("output has no value; give the folder to write to, output=DIR")
    folder = Path(str(_root_.output))
    if file := next((above for above in folder.parents if above.is_file()), None):
        raise FairlabError(f"{file} is a file, so it cannot contain folders; choose another output")
    if folder.is_dir():
        check_folder(folder)
    if holds_run(folder):
        refuse_other_augmentation(Record.load(folder), plain_config(_root_))
    elif folder.exists() and (not folder.is_dir() or any(not path.name.startswith(".") for path in folder.iterdir())):
        raise FairlabError(f"{folder} already exists and does not contain an augmentation; choose another output")
    return str(folder)


def refuse_other_augmentation(record: Record, config: dict[str, Any]) -> None:
    """Raise if an augmentation wrote data with another configuration."""
    if not made_nothing(record) and (key := changed_key(record, config)):
        raise FairlabError(
            f"{record.folder} already holds another run ({key}); choose another output, or repeat the same "
            "configuration"
        )


def made_nothing(record: Record) -> bool:
    """Return whether an augmentation failed before it wrote any data.

    A corrected command may overwrite it.
    """
    files = {path.name for path in record.folder.rglob("*") if path.is_file() and not path.name.startswith(".")}
    return record.status == "failed" and files <= {"record.json", "metrics.json"}


def compared(config: dict[str, Any]) -> dict[str, Any]:
    """Return the settings that affect results, by dotted key."""
    return {key: value for key, value in flatten(config).items() if not NOT_COMPARED.match(key)}


def flatten(tree: Any, prefix: str = "") -> dict[str, Any]:
    """Flatten nested dictionaries to one dictionary with dotted keys."""
    if isinstance(tree, dict) and tree:
        items = [flatten(value, f"{prefix}{key}.") for key, value in tree.items()]
        return {key: value for item in items for key, value in item.items()}
    return {prefix[:-1]: tree}


for _resolver in (run_folder, sweep_folder, output_folder):  # resolvers used in the configurations of the entry points
    OmegaConf.register_new_resolver(_resolver.__name__, _resolver, replace=True)
