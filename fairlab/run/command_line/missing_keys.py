"""Explanation of keys that a configuration does not have."""

from __future__ import annotations

from collections.abc import Collection

from omegaconf import DictConfig, OmegaConf

from fairlab.checks.values import hints_of, nearest_known, target_of
from fairlab.run.config.lightning_keys import is_lightning_key, lightning_hint
from fairlab.types import FairlabError


def missing_key(key: str, config: DictConfig) -> str:
    """Return a sentence with the first missing part of a key and the keys that exist at the same level."""
    if isinstance(OmegaConf.select(config, key), DictConfig):
        return f"{key} has no such key; to add one, use a plus: +{key}.NAME=VALUE"
    parts = key.split(".")
    nodes = [config if not k else OmegaConf.select(config, ".".join(parts[:k])) for k in range(len(parts))]
    depth = max(k for k, node in enumerate(nodes) if isinstance(node, DictConfig))
    node, parent, last = nodes[depth], ".".join(parts[:depth]), parts[depth]
    if not parent and last != parts[-1] in config:
        return f"there is no key '{key}'; give {parts[-1]}=VALUE"
    if parent == "trainer":
        if hint := lightning_hint(last, config):
            return hint
        if is_lightning_key(last):
            return f"trainer.{last} is an argument of Lightning's trainer; add it with a plus: +trainer.{last}=VALUE"
    if last == parts[-1] and last in _parameters_of(node):
        return f"{key} has no value yet; add it with a plus: +{key}=VALUE"
    if not (valid := sorted(str(name) for name in node)):
        return f"{parent} is empty; add a key with a plus: +{key}=VALUE"
    where = f"in '{parent}'" if parent else "at the top level"
    return f"there is no key '{last}' {where}{nearest_known(last, valid)}; there are: {', '.join(valid)}"


def _parameters_of(node: DictConfig) -> Collection[str]:
    """Return the parameter names of the class or function that a node refers to, if any."""
    if "_target_" not in node:
        return ()
    try:
        return hints_of(target_of(node))[0]  # type: ignore[arg-type]
    except FairlabError:
        return ()
