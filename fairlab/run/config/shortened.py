"""Shortened runs: ``limit=`` measures a few items per benchmark; ``+debug=smoke`` runs every stage on a few items."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from omegaconf import DictConfig, OmegaConf, open_dict

from fairlab.record import Note
from fairlab.run.config.build import described_node, parameters_of


def lowered(config: DictConfig) -> DictConfig:
    """Return a configuration whose numeric settings are capped at the limits set by ``debug`` and by the benchmarks.

    No keys are added. A configuration without ``debug`` is returned unchanged.
    """
    if not config.get("debug"):
        return config
    short = config.copy()
    with open_dict(short):
        _lower(short, config.debug)
        for name, node in (short.get("benchmark") or {}).items():
            if (description := described_node(name, node)) is not None:
                _lower(node, description.smoke)
    return short


def _lower(node: DictConfig, at_most: Mapping[str, Any]) -> None:
    for key, most in at_most.items():
        if key not in node:
            continue
        if OmegaConf.is_dict(most):
            _lower(node[key], most)
        else:
            node[key] = most if node[key] is None else min(node[key], most)


def shortening_notes(config: DictConfig) -> list[Note]:
    """Return warnings that the numbers from a shortened run are not results."""
    notes = []
    if config.get("debug"):
        text = "+debug=smoke shortened this run to check that it works; do not use its numbers as results"
        notes.append(Note("smoke", text))
    if config.limit is not None:
        text = f"limit={config.limit}: only some items of each benchmark were measured; do not compare with a full run"
        notes.append(Note("limit", text))
        notes += [
            Note(name, "it has no limit, so all items were measured; add a parameter limit to its class")
            for name, node in (config.get("benchmark") or {}).items()
            if "limit" not in parameters_of(node)
        ]
    return notes
