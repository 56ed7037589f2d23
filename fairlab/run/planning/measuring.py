"""Search for benchmarks that cannot measure a model, before the model is loaded."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fairlab.backbones.heads import CAUSAL_LM, MASKED_LM
from fairlab.benchmarks.needs import offered_by, why_lacking
from fairlab.checks.foreign import read_object
from fairlab.run.config.build import described_node
from fairlab.run.planning.sizes import KNOWN, folder_at_hand


def kind_of(settings: Mapping[str, Any]) -> str:
    """Return the class name of the model that ``load_backbone`` would load with the settings, or the name's ending.

    The name is empty if the class is unknown before the model is loaded.
    """
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
    """Return the benchmarks that cannot measure a model, with the reasons.

    The result is empty for a training run, because its method may add a head that the model lacks.
    """
    if "method" in config or not (kind := kind_of(settings)):
        return {}
    described = {name: described_node(name, node) for name, node in config.get("benchmark", {}).items()}
    return {
        name: why
        for name, one in described.items()
        if one is not None and (why := why_lacking(kind, offered_by(kind), one.needs))
    }
