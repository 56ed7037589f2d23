"""Configurations of backbones that are given by name or folder."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import hydra
from omegaconf import DictConfig

from fairlab.backbones.gguf_file import is_gguf_file
from fairlab.backbones.loading import PUBLISHED, find_weights, is_published, weights_facts
from fairlab.backbones.peft_folder import base_named_by, is_adapter_folder
from fairlab.backbones.trust import is_static
from fairlab.benchmarks.generations import FOLDER
from fairlab.files import holds_run, sha256
from fairlab.record import Record
from fairlab.run.command_line import cli
from fairlab.run.config.build import as_config, plain
from fairlab.run.config.served_nodes import is_served, served_facts, served_node
from fairlab.types import FairlabError

SETTINGS = ("pooling", "normalize", "max_length", "dtype", "attention", "base")
LOAD_STORED = "fairlab.backbones.stored_texts.load_stored"
LOAD_STATIC = "fairlab.backbones.static_embeddings.load_static"
LOAD = "fairlab.backbones.loading.load_backbone"
FALLBACK = {"pooling": "mean", "normalize": False, "max_length": None, "longest": 128}
AS_PUBLISHED = {"pooling": PUBLISHED, "normalize": None, "max_length": None}


def backbone_node(
    model: str, settings: Mapping[str, Any], llm: DictConfig | Mapping[str, Any] | None = None
) -> DictConfig:
    """Return the configuration of a backbone, based on its named choice, its training run or the model itself.

    Args:
        model: Name of a backbone, folder of a run or of a model, GGUF file, model ID on the Hub, or served model; see
            :func:`fairlab.run.config.served_nodes.served_node`.
        settings: Values for some of ``SETTINGS``, used instead of the model's own settings. ``base`` is the base model
            of a folder of adapters, and has no effect on other models.
        llm: Configuration of the server of a served model, or None for the default configuration.

    Raises:
        FairlabError: The run has no model yet, the name is both a backbone and a folder of a model or run, or a setting
            is not available for served models.
    """
    node: Any
    if (served := served_node(model, llm)) is not None:
        if settings:
            raise FairlabError(f"the served model {model} has its own settings; leave out {', '.join(settings)}")
        return served
    if is_stored(model):
        if settings:
            raise FairlabError(f"{model} holds stored texts and has no settings; leave out {', '.join(settings)}")
        return as_config({"_target_": LOAD_STORED, "path": model})
    if is_adapter_folder(Path(model)):
        return _adapters_node(model, settings)
    settings = {key: value for key, value in settings.items() if key != "base"}
    if model in cli.choices("backbone"):
        if any((Path(model) / name).is_file() for name in ("config.json", "record.json")):
            raise FairlabError(
                f"{model} is both a backbone of fairlab and a folder with a model or a run; write ./{model} for "
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
            raise FairlabError(f"{model}/record.json does not name its backbone; give its model, {trained}, instead")
        own = {name: recorded[name] for name in SETTINGS if name in recorded}
        entries = record.provenance.get("data", {}).get("train_entries")
        node = {"_target_": LOAD, "name": str(trained), "entries": entries} | FALLBACK | own
    elif is_gguf_file(Path(model)):
        node = {"_target_": LOAD, "name": str(Path(model).parent), "gguf": Path(model).name} | FALLBACK
    else:
        folder = Path(model) if is_static(Path(model)) else find_weights(model)
        if is_static(folder):
            if settings:
                raise FairlabError(f"the static embeddings {model} have no settings; leave out {', '.join(settings)}")
            return as_config({"_target_": LOAD_STATIC, "name": model})
        published = is_published(folder) and settings.get("pooling", PUBLISHED) == PUBLISHED
        node = {"_target_": LOAD, "name": model} | (AS_PUBLISHED if published else FALLBACK)
    return as_config({**plain(node), **settings})


def is_stored(model: str) -> bool:
    """Return whether a model is given as stored texts: a ``.jsonl`` file, or a run's folder ``generations``."""
    path = Path(model)
    return path.suffix == ".jsonl" or (path.is_dir() and FOLDER in path.parts and any(path.glob("*.jsonl")))


def _adapters_node(folder: str, settings: Mapping[str, Any]) -> DictConfig:
    """Return the configuration of a base model with adapters from a folder.

    Raises:
        FairlabError: No base model is given, or its weights cannot be loaded.
    """
    own = {key: value for key, value in settings.items() if key != "base"}
    if not (base := settings.get("base")):
        named = base_named_by(Path(folder))
        of = f"of {named}, which is not loaded without your request" if named else "of a model that they do not name"
        raise FairlabError(f"{folder} holds adapters {of}; give base={named or 'NAME'}")
    node = backbone_node(str(base), own)
    if node.get("_target_") != LOAD:
        raise FairlabError(
            f"base={base} has no weights that can be loaded; give the model that {folder} was trained on"
        )
    return as_config({**plain(node), "peft": folder})


def model_facts(node: Mapping[str, Any] | DictConfig) -> dict[str, Any]:
    """Return facts about a model for the record: the name and hash of its weights, or the address of a served model.

    Raises:
        FairlabError: The weights are unavailable.
    """
    if node.get("_target_") == LOAD_STORED:
        path = Path(node["path"])
        files = sorted(path.glob("*.jsonl")) if path.is_dir() else [path]
        return {"name": str(path), "sha256": sha256(*files), "stored": True}
    if node.get("_target_") == LOAD_STATIC:
        from fairlab.backbones.static_embeddings import static_facts  # imports torch

        return static_facts(node["name"])
    return served_facts(node) if is_served(node) else weights_facts(node)
