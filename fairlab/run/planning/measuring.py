"""Input of a run's benchmarks: the number of tokens that a model processes, from each benchmark's known workload."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fairlab.run.config.build import described_node
from fairlab.run.planning.sizes import KNOWN

AT_MOST = ("limit", "lines", "contexts")  # settings that bound the items of every part


def head_of(settings: Mapping[str, Any]) -> str:
    """Return the language-modelling head of ``load_backbone`` settings: ``masked``, ``causal``, or an empty text."""
    if settings.get("adapters"):
        return "masked"
    return str(KNOWN["heads"].get(str(settings["name"]), ""))


def tokens_read(config: Mapping[str, Any], head: str) -> tuple[float, list[str]]:
    """Return the tokens that all benchmarks of a run give a model in one phase, and benchmarks of unknown workload.

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
    """Return the number of measurements of a training: after it, and also before it unless readings are reused."""
    return 1 + bool(config.get("measure_before", True) and not config.get("before"))
