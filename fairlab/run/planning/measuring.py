"""Number of tokens that a model processes in a run's benchmarks, from the known workload of each."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fairlab.backbones.heads import CAUSAL_LM, MASKED_LM
from fairlab.benchmarks.needs import offered_by, why_lacking
from fairlab.checks.foreign import read_object
from fairlab.run.config.build import described_node
from fairlab.run.planning.sizes import KNOWN, folder_at_hand
from fairlab.types import LIKELIHOODS

AT_MOST = ("limit", "lines", "contexts")  # settings that limit the number of items of every part


def head_of(settings: Mapping[str, Any]) -> str:
    """Return the head requested in settings of ``load_backbone``: ``masked``, ``causal``, or an empty text."""
    kind = kind_of(settings)
    return "causal" if kind.endswith(CAUSAL_LM) else "masked" if LIKELIHOODS in offered_by(kind) else ""


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


def tokens_read(config: Mapping[str, Any], head: str) -> tuple[float, list[str]]:
    """Return the tokens that a model reads in one phase of all benchmarks, and benchmarks without a known workload.

    A benchmark counts as 0 tokens if it needs a head that the model lacks.

    Args:
        config: Configuration of the run, as plain containers.
        head: Language-modelling head of the model, see :func:`head_of`.
    """
    tokens, unknown = 0.0, []
    for name, settings in config.get("benchmark", {}).items():
        description = described_node(name, settings)
        known = description.workload if description else None
        if known is None:
            unknown.append(name)
            continue
        bounds = [int(bound) for key in AT_MOST if (bound := settings.get(key))]
        bounds += [int(config["limit"])] if config.get("limit") else []
        items = sum(min([part, *bounds]) for part in known.parts)
        times = int(settings.get(known.per) or 1) if known.per else 1
        tokens += items * times * known.tokens.get("encoder", known.tokens.get(head, 0.0))
    return tokens, unknown


def phases(config: Mapping[str, Any]) -> int:
    """Return how often a training run measures: after training, and also before it unless readings are reused."""
    return 1 + bool(config.get("measure_before", True) and not config.get("before"))
