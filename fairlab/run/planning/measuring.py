"""How much the benchmarks of a run read: tokens that a model is given, by what is known of each benchmark."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fairlab.run.planning.sizes import KNOWN

AT_MOST = ("limit", "lines", "contexts")  # settings that bound the items of every part


def head_of(settings: Mapping[str, Any]) -> str:
    """The language-modelling head that settings of ``load_backbone`` bring: ``masked``, ``causal``, or none."""
    if settings.get("adapters"):
        return "masked"
    return str(KNOWN["heads"].get(str(settings["name"]), ""))


def tokens_read(config: Mapping[str, Any], head: str) -> tuple[float, list[str]]:
    """Tokens that all benchmarks of a run give a model in one phase, and the benchmarks that nothing is known of.

    A benchmark that needs a head which the model lacks reads nothing.

    Args:
        config: of the run, as plain containers.
        head: as of :func:`head_of`.
    """
    tokens, unknown = 0.0, []
    for name, settings in config.get("benchmark", {}).items():
        known = KNOWN["reading"].get(name)
        if known is None:
            unknown.append(name)
            continue
        bounds = [int(bound) for key in AT_MOST if (bound := settings.get(key))]
        bounds += [int(config["limit"])] if config.get("limit") else []
        items = sum(min([part, *bounds]) for part in known["parts"])
        times = int(settings.get(known["per"]) or 1) if "per" in known else 1
        tokens += items * times * known.get("encoder", known.get(head, 0.0))
    return tokens, unknown


def phases(config: Mapping[str, Any]) -> int:
    """How often a training is measured: after it, and before it where it takes over no other run's readings."""
    return 1 + bool(config.get("measure_before", True) and not config.get("before"))
