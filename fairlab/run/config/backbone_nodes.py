"""Backbone configurations of models given by name or folder."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import hydra
from omegaconf import DictConfig

from fairlab.backbones.loading import PUBLISHED, find_weights, is_published
from fairlab.files import holds_run
from fairlab.record import Record
from fairlab.run.command_line import cli
from fairlab.run.config.build import as_config, plain
from fairlab.types import FairlabError

SETTINGS = ("pooling", "normalize", "max_length", "dtype")
LOAD = "fairlab.backbones.loading.load_backbone"
FALLBACK = {"pooling": "mean", "normalize": False, "max_length": None, "longest": 128}
AS_PUBLISHED = {"pooling": PUBLISHED, "normalize": None, "max_length": None}


def backbone_node(model: str, settings: Mapping[str, Any]) -> DictConfig:
    """Return the backbone configuration of a model: a named one, its training run's, or the model's own.

    Args:
        model: A backbone's name, the folder of a run or of a model, or a name on the hub.
        settings: Values for some of ``SETTINGS``, used instead of the model's own.

    Raises:
        FairlabError: the run has no model yet, or a named backbone is also a folder of a model or a run.
    """
    node: Any
    if model in cli.choices("backbone"):
        if any((Path(model) / name).is_file() for name in ("config.json", "record.json")):
            raise FairlabError(
                f"{model} is both a backbone of fairlab and a folder here with a model or a run; write ./{model} for "
                "the folder, or rename it to use the backbone"
            )
        node = hydra.compose(overrides=[f"+backbone={model}"]).backbone
    elif holds_run(Path(model)):
        trained = Path(model) / "model"
        if not trained.is_dir():
            raise FairlabError(f"the run in {model} has exported no model; let it finish with ckpt={model}")
        record = Record.load(Path(model))
        recorded = record.config.get("backbone")
        if not isinstance(recorded, dict):
            raise FairlabError(f"{model}/record.json says nothing of its backbone; give {trained}, its model, instead")
        own = {name: recorded[name] for name in SETTINGS if name in recorded}
        entries = record.provenance.get("data", {}).get("train_entries")
        node = {"_target_": LOAD, "name": str(trained), "entries": entries} | FALLBACK | own
    else:
        published = is_published(find_weights(model)) and settings.get("pooling", PUBLISHED) == PUBLISHED
        node = {"_target_": LOAD, "name": model} | (AS_PUBLISHED if published else FALLBACK)
    return as_config({**plain(node), **settings})
