"""Construction of the objects that configuration nodes describe."""

from __future__ import annotations

import inspect
import re
from collections.abc import Mapping
from functools import partial
from typing import Any

from omegaconf import DictConfig, OmegaConf

from fairlab.benchmarks.finding import find_description, refuse_undescribed
from fairlab.checks.values import PARTIAL, TARGET, node_faults, target_of
from fairlab.types import Description, FairlabError

REFERENCE = re.compile(r"(\\*)\$\{")  # OmegaConf's interpolation marker, with preceding backslashes


def build(node: DictConfig | Mapping[str, Any], *arguments: Any, **objects: Any) -> Any:
    """Call the node's ``_target_`` with the node's values and with objects that cannot be in a configuration.

    With ``_partial_: true``, return a partial of the target instead. Unlike Hydra's ``instantiate``, this function
    passes on objects unchanged and does not catch errors of the target.

    Raises:
        FairlabError: The target has no parameter for a setting in the node, or a value is missing or does not fit.
    """
    values: dict[str, Any] = plain(node)
    for sentence in node_faults("", values):
        raise FairlabError(sentence)
    target = target_of(values)
    del values[TARGET]
    if values.pop(PARTIAL, False):
        return partial(target, *arguments, **values, **objects)
    if twice := sorted(values.keys() & objects.keys()):
        raise FairlabError(f"{twice[0]} of {target.__name__} follows from other settings; leave it out")
    try:
        inspect.signature(target).bind(*arguments, **values, **objects)
    except TypeError as error:
        raise FairlabError(
            f"{target.__name__} cannot be created: {error}; give only the settings that it has"
        ) from error
    return target(*arguments, **values, **objects)


def built(value: Any) -> Any:
    """Build every node with a ``_target_`` in a configuration value, and return the value with the built objects."""
    if isinstance(value, list):
        return [built(one) for one in value]
    if not isinstance(value, Mapping):
        return value
    return build(value) if TARGET in value else {name: built(one) for name, one in value.items()}


def _has_target(value: Any) -> bool:
    """Return whether a value is or contains a node with a ``_target_``."""
    if isinstance(value, Mapping):
        return TARGET in value or any(map(_has_target, value.values()))
    return isinstance(value, list) and any(map(_has_target, value))


def build_with_some(node: Mapping[str, Any], objects: Mapping[str, Any]) -> Any:
    """Build a node, and pass each object for which the target has a parameter and the node has no value."""
    taken = {name: value for name, value in objects.items() if name in parameters_of(node) and name not in node}
    return build(node, **taken)


def build_benchmarks(config: DictConfig) -> list[Any]:
    """Build the benchmarks of a run, and pass ``limit`` and ``system`` to benchmarks that take them.

    Raises:
        FairlabError: A benchmark has no description, two have the same name, or no benchmark takes the system prompt.
    """
    limit, system = config.limit, config.get("system")
    found: dict[str, Any] = {}
    for node in config.benchmark.values():
        own = node.get("limit")
        takes_limit = limit is not None and "limit" in parameters_of(node)
        limited = {"limit": limit if own is None else min(limit, own)} if takes_limit else {}
        asked = {"system": system} if system and "system" in parameters_of(node) and not node.get("system") else {}
        values = plain(node) | limited | asked
        hints = {name: str(one.annotation) for name, one in parameters_of(node).items()}
        nested = {  # a parameter that is a mapping takes the node itself
            name: built(value)
            for name, value in values.items()
            if _has_target(value) and not hints.get(name, "").startswith("Mapping")
        }
        benchmark = build({name: value for name, value in values.items() if name not in nested}, **nested)
        refuse_undescribed(benchmark)
        if found.setdefault(benchmark.name, benchmark) is not benchmark:
            raise FairlabError(f"two benchmarks of this run have the name {benchmark.name}; leave one out")
    if system and not any(getattr(one, "system", None) for one in found.values()):
        raise FairlabError(
            "system= works only with benchmarks that prompt a model; add decisions, refusals, counterfactual or bbq"
        )
    return list(found.values())


def described_node(name: str, node: Mapping[str, Any]) -> Description | None:
    """Return the description of a benchmark, from its class or, if the node has no class, by its name; or None."""
    if TARGET not in node:
        return find_description(name)
    kind = target_of(node)
    found = getattr(kind, "description", None)
    return (kind.describe(name) or found) if isinstance(found, Description) and hasattr(kind, "describe") else None


def parameters_of(node: Mapping[str, Any]) -> Mapping[str, inspect.Parameter]:
    """Return the parameters of a node's ``_target_``."""
    return inspect.signature(target_of(node)).parameters


def plain(value: Any) -> Any:
    """Return a copy of a node, or of another value, as plain containers.

    Interpolations in a configuration are resolved. Plain containers are copied unchanged, so that the content of files
    is never interpolated.
    """
    if OmegaConf.is_config(value):
        return OmegaConf.to_container(value, resolve=True)
    if isinstance(value, Mapping):
        return {key: plain(one) for key, one in value.items()}
    return [plain(one) for one in value] if isinstance(value, list | tuple) else value


def as_config(values: Mapping[str, Any]) -> DictConfig:
    """Convert plain values to a configuration in which every text is kept literally, including ``${...}``."""
    return OmegaConf.create(_verbatim(plain(values)))


def _verbatim(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _verbatim(one) for key, one in value.items()}
    if isinstance(value, list):
        return [_verbatim(one) for one in value]
    return REFERENCE.sub(r"\1\1\\${", value) if isinstance(value, str) else value
