"""From a configuration node to the object it names."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from functools import partial
from pkgutil import resolve_name
from typing import Any

from omegaconf import DictConfig, OmegaConf

from fairlab.benchmarks.finding import find_description, refuse_undescribed
from fairlab.run.config.values import PARTIAL, TARGET, node_faults, target_of
from fairlab.types import Description, FairlabError


def build(node: DictConfig | Mapping[str, Any], *arguments: Any, **objects: Any) -> Any:
    """Call the node's ``_target_`` with the node's values, and with objects that no configuration can hold.

    With ``_partial_: true`` return a partial of it instead. Unlike Hydra's ``instantiate`` it hands objects over
    untouched and lets the target's own errors through.

    Raises:
        FairlabError: the target takes no setting of a name in the node, a value does not fit, or one is missing.
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
        raise FairlabError(f"{target.__name__} cannot be made: {error}; give it its settings, and no others") from error
    return target(*arguments, **values, **objects)


def built(value: Any) -> Any:
    """A value of a configuration with whatever a ``_target_`` names in it built."""
    if isinstance(value, list):
        return [built(one) for one in value]
    return build(value) if isinstance(value, Mapping) and TARGET in value else value


def build_with_some(node: Mapping[str, Any], objects: Mapping[str, Any]) -> Any:
    """Build with those objects that the target has parameters for and the node no values."""
    taken = {name: value for name, value in objects.items() if name in parameters_of(node) and name not in node}
    return build(node, **taken)


def build_benchmarks(config: DictConfig) -> list[Any]:
    """Build the benchmarks of a run, each limited to as many items as ``limit`` says if it takes a limit.

    Raises:
        FairlabError: the limit is no number of items, a benchmark does not say what it is, or two have one name.
    """
    limit = config.limit
    if limit is not None and limit < 1:
        raise FairlabError(f"limit must be at least 1 item, or null for all, not {limit}")
    built: dict[str, Any] = {}
    for node in config.benchmark.values():
        own = node.get("limit")
        takes_limit = limit is not None and "limit" in parameters_of(node)
        limited = {"limit": limit if own is None else min(limit, own)} if takes_limit else {}
        benchmark = build({**plain(node), **limited})
        refuse_undescribed(benchmark)
        if built.setdefault(benchmark.name, benchmark) is not benchmark:
            raise FairlabError(f"two benchmarks of this run have the name {benchmark.name}; leave one out")
    return list(built.values())


def described_node(name: str, node: Mapping[str, Any]) -> Description | None:
    """Return what the class of a benchmark says of it under a name; None if it says nothing."""
    if TARGET not in node:
        return find_description(name)
    kind = target_of(node)
    found = getattr(kind, "description", None)
    return (kind.describe(name) or found) if isinstance(found, Description) and hasattr(kind, "describe") else None


def named(name: str) -> Any:
    """The class or function of a dotted name."""
    return resolve_name(name)


def parameters_of(node: Mapping[str, Any]) -> Mapping[str, inspect.Parameter]:
    """The parameters of what a node names."""
    return inspect.signature(target_of(node)).parameters


def plain(node: DictConfig | Mapping[str, Any]) -> dict[str, Any]:
    """A copy of a node as plain containers, resolved."""
    return OmegaConf.to_container(node if isinstance(node, DictConfig) else OmegaConf.create(dict(node)), resolve=True)  # type: ignore[return-value]
