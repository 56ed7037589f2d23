"""Run folders: a new one, or the one of a run that is continued."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

from omegaconf import DictConfig, OmegaConf

from fairlab.files import holds_run, write_whole
from fairlab.record import Record, without_secrets
from fairlab.types import FairlabError

OUTPUTS = Path("outputs")
MULTIRUN = Path("multirun")
AUGMENTED = OUTPUTS / "augmented"  # training data that runs made of texts, in folders named by their content
SWEEP = "sweep.json"  # in a sweep's folder: its overrides, and whether all its runs finished
# How and where a sweep is done, not what is done.
OF_LAUNCHER = re.compile(r"launcher\b|hydra[./](launcher|mode|sweep\.)")
# What may differ when a run is continued: where and how fast it is done, not what is done.
NOT_COMPARED = re.compile(
    r"(ckpt|before|strict|output|dry_run|calibrate|push|license|num_proc|engine|rewriter\.unanswered|processes|logger"
    r"|trainer\.(devices|num_nodes|compile)"
    r"|llm\.(base_url|program|port|api_key_env|concurrency|total_timeout|price|budget|ledger))(\.|$)"
)


def run_folder(experiment: str, now: str, ckpt: str | None, *, _root_: DictConfig) -> str:
    """The folder a run writes into; the ``hydra.run.dir`` of every entry point.

    Args:
        experiment: name of the experiment, and of the folder between ``outputs`` and the run.
        now: time stamp of a new run.
        ckpt: run to continue: None starts a new run; ``last`` continues the newest unfinished run of the experiment;
            anything else is the folder of the run to continue.
        _root_: the composed configuration, handed in by OmegaConf.

    Raises:
        FairlabError: there is no such run, it is finished, or its configuration differs; nothing is written.
    """
    if ckpt is None:
        return str(OUTPUTS / experiment / now)
    folder = newest_unfinished(OUTPUTS / experiment) if ckpt == "last" else Path(str(ckpt))
    refuse_changed_config(folder, plain_config(_root_))
    return str(folder)


def sweep_folder(name: str, now: str, *, _root_: DictConfig) -> str:
    """The folder of a sweep; the ``hydra.sweep.dir`` of the entry points.

    Args:
        name: name of the folder between ``multirun`` and the sweep.
        now: time stamp of a new sweep.
        _root_: the composed configuration, handed in by OmegaConf.

    Returns:
        Folder of the newest sweep of the same overrides where some run has not finished, else of a new one.
    """
    given = sweep_overrides([*_root_.hydra.overrides.task, *_root_.hydra.overrides.hydra])
    return _sweep_folder(name, now, tuple(given))


@cache  # a sweep stays in its folder once it is finished
def _sweep_folder(name: str, now: str, overrides: tuple[str, ...]) -> str:
    for file in sorted((MULTIRUN / name).glob(f"*/{SWEEP}"), reverse=True):
        sweep = json.loads(file.read_text(encoding="utf-8"))
        if sweep["overrides"] == list(overrides):
            if sweep["status"] != "finished":
                return str(file.parent)
            break
    return str(MULTIRUN / name / now)


def sweep_of(folder: Path) -> str | None:
    """Name of the sweep that the run in a folder belongs to; None for a run of its own."""
    if not (folder.parent / SWEEP).is_file():
        return None
    return "/".join(folder.resolve().parts[-3:-1])


def sweep_overrides(overrides: Sequence[str]) -> list[str]:
    """Those that say what is done; a sweep may be gone on with by another launcher."""
    return [without_secrets(one) for one in overrides if not OF_LAUNCHER.match(one)]


def write_sweep_state(
    folder: Path, overrides: Sequence[str], status: str, chosen: Sequence[dict[str, Any]] = ()
) -> None:
    """Note what a sweep does, for :func:`sweep_folder` to find it; what Hydra wrote beside is rid of secrets.

    Args:
        folder: of the sweep.
        overrides: of its command line.
        status: ``running`` until all of its runs are finished.
        chosen: the settings that are best by validation, where there are any.
    """
    content: dict[str, Any] = {"overrides": sweep_overrides(overrides), "status": status}
    if chosen:
        content["best_by_validation"] = list(chosen)
    write_whole(folder / SWEEP, json.dumps(content, indent=1) + "\n")
    hydra = folder / "multirun.yaml"
    if hydra.is_file():
        write_whole(hydra, without_secrets(hydra.read_text(encoding="utf-8")))


def refuse_other_run_of_sweep(place: Path, config: dict[str, Any]) -> None:
    """Raise where a sweep was given a run to continue, or the folder of one of its runs holds another run."""
    if config.get("ckpt") is not None:
        raise FairlabError(
            "ckpt continues one run and cannot be used with -m; a sweep goes on when its command is given again"
        )
    if holds_run(place) and (key := changed_key(Record.load(place), config)):
        raise FairlabError(f"{place} holds another run ({key}); choose another hydra.sweep.dir")


def is_finished(folder: Path) -> bool:
    """Whether a folder holds a run that came to its end."""
    return holds_run(folder) and Record.load(folder).status == "finished"


def newest_unfinished(folder: Path) -> Path:
    """The newest run in ``folder`` that was stopped; where none was, the newest that failed.

    A run that failed of its own would fail again, and must not hide an older one that was only stopped. Records that
    cannot be read are passed over, and said.
    """
    failed: Path | None = None
    for record in sorted(folder.glob("*/record.json"), key=lambda path: path.parent.name, reverse=True):
        try:
            status = Record.load(record.parent).status
        except FairlabError as error:
            print(f"fairlab: passed over: {error}", file=sys.stderr)
            continue
        if status in ("running", "interrupted"):
            return record.parent
        if status != "finished":
            failed = failed or record.parent
    if failed is not None:
        return failed
    raise FairlabError(f"there is no unfinished run in {folder}; leave ckpt out to start one")


def plain_config(config: DictConfig) -> dict[str, Any]:
    """What a run does, as plain containers, resolved, without how it is launched; a missing value is ``???``."""
    if "hydra" in config:
        config = OmegaConf.masked_copy(config, [str(key) for key in config if key != "hydra"])
    values: dict[str, Any] = OmegaConf.to_container(config, resolve=True, throw_on_missing=False)  # type: ignore[assignment]
    return {key: value for key, value in values.items() if key != "launcher"}


def refuse_changed_config(folder: Path, config: dict[str, Any]) -> None:
    """Raise unless ``folder`` holds an unfinished run of the same configuration."""
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
    """The first value in which a configuration differs from a record's: ``key=OLD, not NEW``; empty if none does."""
    old, new = compared(record.config), compared(config)
    for key in sorted(old.keys() | new.keys()):
        if old.get(key) != new.get(key):
            return f"{key}={old.get(key)}, not {new.get(key)}"
    return ""


def output_folder(*, _root_: DictConfig) -> str:
    """The folder an augmentation writes into: a new one, or one that holds the same augmentation, to go on with.

    Raises:
        FairlabError: no folder was given, or it holds something else; nothing is written.
    """
    if OmegaConf.is_missing(_root_, "output") or not isinstance(_root_.output, str | int):
        raise FairlabError("output has no value; give the folder to write into, output=DIR")
    folder = Path(str(_root_.output))
    if holds_run(folder):
        refuse_other_augmentation(folder, plain_config(_root_))
    elif folder.exists() and (not folder.is_dir() or any(not path.name.startswith(".") for path in folder.iterdir())):
        raise FairlabError(f"{folder} is there already and holds no augmentation; choose another output")
    return str(folder)


def refuse_other_augmentation(folder: Path, config: dict[str, Any]) -> None:
    """Raise unless ``folder`` holds an augmentation, finished or not, of the same configuration."""
    if key := changed_key(Record.load(folder), config):
        raise FairlabError(
            f"{folder} already holds another run ({key}); choose another output, or use the same configuration to go on"
        )


def compared(config: dict[str, Any]) -> dict[str, Any]:
    """What a configuration says of what is done, with dotted keys; where and how fast it is done is left out."""
    return {key: value for key, value in flat(config).items() if not NOT_COMPARED.match(key)}


def flat(tree: Any, prefix: str = "") -> dict[str, Any]:
    """Nested containers as one dictionary with dotted keys."""
    if isinstance(tree, dict) and tree:
        items = [flat(value, f"{prefix}{key}.") for key, value in tree.items()]
        return {key: value for item in items for key, value in item.items()}
    return {prefix[:-1]: tree}


for _resolver in (run_folder, sweep_folder, output_folder):  # the entry points' configurations name them
    OmegaConf.register_new_resolver(_resolver.__name__, _resolver, replace=True)
