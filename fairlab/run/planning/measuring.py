"""Benchmarks that cannot measure a model, known from its configuration before it is loaded."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fairlab.backbones.heads import CAUSAL_LM, MASKED_LM
from fairlab.benchmarks.needs import offered_by, why_lacking
from fairlab.checks.foreign import read_object
from fairlab.run.config.build import described_node
from fairlab.run.planning.sizes import KNOWN, folder_at_hand


def kind_of(settings: Mapping[str, Any]) -> str:
    """Return the class name of a model with given ``load_backbone`` settings, or its ending; empty if unknown."""
    if settings.get("adapters"):
        return MASKED_LM
    name = str(settings["name"])
    if head := KNOWN["heads"].get(name):
        return {"masked": MASKED_LM, "causal": CAUSAL_LM[0]}[head]
    folder = folder_at_hand(name, settings.get("package"), settings.get("revision"), settings.get("gguf"))
    if folder is None or not (folder / "config.json").is_file():
        return ""
    return str(next(iter(read_object(folder / "config.json").get("architectures") or ()), ""))


def not_measured(config: Mapping[str, Any], settings: Mapping[str, Any]) -> dict[str, str]:
    """Return why benchmarks cannot measure a model, by benchmark; empty for a training run, which may add a head.

    Args:
        config: Configuration of the run, as plain containers.
        settings: Settings of the model.
    """
    if "method" in config or not (kind := kind_of(settings)):
        return {}
    described = {name: described_node(name, node) for name, node in config.get("benchmark", {}).items()}
    return {
        name: why
        for name, one in described.items()
        if one is not None and (why := why_lacking(kind, offered_by(kind), one.needs))
    }
