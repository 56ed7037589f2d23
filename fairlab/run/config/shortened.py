"""Runs made short: ``limit=`` measures a few items of each benchmark, ``+debug=smoke`` does a little of everything."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from omegaconf import DictConfig, OmegaConf, open_dict

from fairlab.record import Note


def lowered(config: DictConfig) -> DictConfig:
    """A copy of a run's configuration with every number that ``debug`` names lowered to at most the one given there.

    What a run does not have stays away; the configuration itself when there is no ``debug``.
    """
    if not config.get("debug"):
        return config
    short = config.copy()
    with open_dict(short):
        _lower(short, config.debug)
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
    """What a reader must know of a run that was made short: its numbers are for trying things out."""
    notes = []
    if config.get("debug"):
        text = "this run was made short by +debug=smoke, to see that it works; its numbers mean nothing"
        notes.append(Note("smoke", text))
    if config.limit is not None:
        text = f"limit={config.limit}: only some items of each benchmark were measured; compare with no full run"
        notes.append(Note("limit", text))
    return notes
