"""Configurations of served models, which are given by the address of a server or by a choice of ``llm``."""

from __future__ import annotations

import hashlib
import inspect
from collections.abc import Iterable, Mapping
from pathlib import Path
from pkgutil import resolve_name
from typing import Any

import hydra
from omegaconf import DictConfig

from fairlab.checks.values import TARGET
from fairlab.llm.urls import is_address
from fairlab.run.command_line import cli
from fairlab.run.config.build import as_config, plain

LOAD_REMOTE = "fairlab.llm.remote_model.load_remote"
OF_AN_ADDRESS = "local"  # choice of llm whose settings an address uses if no other is chosen


def served_node(model: str, llm: DictConfig | Mapping[str, Any] | None = None) -> DictConfig | None:
    """Return the configuration of a served model, or None if ``model`` does not name one.

    Args:
        model: Address of a server with the model's name there, such as ``http://127.0.0.1:8000/v1#NAME``; or a choice
            of ``llm`` with a model's name, such as ``openai/NAME``. An existing folder is not a served model.
        llm: Configuration of the server, such as its key, budget and ledger, or None for the settings of the choice.
    """
    if (values := server_settings(model, llm)) is None:
        return None
    taken = inspect.signature(resolve_name(LOAD_REMOTE)).parameters
    settings = {key: value for key, value in values.items() if key in taken}
    return as_config({**settings, TARGET: LOAD_REMOTE})


def server_settings(model: str, llm: DictConfig | Mapping[str, Any] | None = None) -> dict[str, Any] | None:
    """Return the settings of a served model's server, or None if ``model`` does not name one.

    They are those of ``llm`` with the address and, if it is known, the model's name. The arguments are those of
    :func:`served_node`.
    """
    chosen = plain(llm) if llm else {}
    if is_address(model):
        base_url, _, name = model.partition("#")
        values = {**(chosen or _choice(OF_AN_ADDRESS)), "base_url": base_url}
    else:
        choice, _, name = model.partition("/")
        if not name or choice not in cli.choices("llm") or Path(model).exists():
            return None
        values = chosen or _choice(choice)
    if "base_url" not in values:
        return None
    named = {"model": name} if name else {}  # without a name, the only one that the server lists
    return {key: value for key, value in values.items() if key not in ("model", TARGET)} | named


def names_server(model: object) -> bool:
    """Return whether a value of ``model=`` is the name of a served model, or a collection that contains one."""
    if isinstance(model, str):
        choice, _, name = model.partition("/")
        known = bool(name) and choice in cli.choices("llm") and not Path(model).exists()
        return known or is_address(model)
    parts = model.values() if isinstance(model, Mapping | DictConfig) else model
    return isinstance(parts, Iterable) and any(names_server(one) for one in parts)


def _choice(name: str) -> dict[str, Any]:
    return plain(hydra.compose(overrides=[f"+llm={name}", "llm.model=_"]).llm)


def is_served(node: Mapping[str, Any] | DictConfig) -> bool:
    """Return whether a configuration describes a served model."""
    return bool(node.get(TARGET) == LOAD_REMOTE)


def served_facts(node: Mapping[str, Any] | DictConfig) -> dict[str, Any]:
    """Return the name and address of a served model with a hash of both, because its weights cannot be hashed."""
    name = f"{node['base_url']}#{node.get('model', '')}"
    return {"name": name, "sha256": hashlib.sha256(name.encode()).hexdigest(), "served": True}
