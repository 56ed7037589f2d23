"""How much the benchmarks of a run read: tokens that a model is given, by what is known of each benchmark."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fairlab.run.config.build import described_node
from fairlab.run.planning.sizes import KNOWN

AT_MOST = ("limit", "lines", "contexts")  # settings that bound the items of every part


def head_of(settings: Mapping[str, Any]) -> str:
    """The language-modelling head that settings of ``load_backbone`` bring: ``masked``, ``causal``, or none."""
    if settings.get("adapters"):
        return "masked"
    return str(KNOWN["heads"].get(str(settings["name"]), ""))


def tokens_read(config: Mapping[str, Any], head: str) -> tuple[float, list[str]]:
    """Return the tokens that all benchmarks of a run give a model in one phase, and benchmarks of unknown workload.

    A benchmark that needs a head which the model lacks reads nothing.

    Args:
        config: configuration of the run, as plain containers.
        head: language-modelling head of the model, see :func:`head_of`.
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
    """How often a training is measured: after it, and before it where it takes over no other run's readings."""
    return 1 + bool(config.get("measure_before", True) and not config.get("before"))
