"""Configuration choices and values that no file defines.

They are empty choices, classes of installed packages, and values that depend on the scale.

Another installed package can offer classes through entry points of the groups ``fairlab.benchmarks``,
``fairlab.methods`` and ``fairlab.sources``. The name of an entry is the name of the choice, and the entry points to a
class. fairlab's own files take precedence over an entry of the same name.
"""

from __future__ import annotations

from functools import cache
from importlib.metadata import entry_points
from typing import Any

from hydra.core.config_store import ConfigStore
from omegaconf import DictConfig, ListConfig, OmegaConf

EMPTY = {  # empty choices: name and meaning, by group
    "benchmark": ("none", "No benchmark runs; fairlab audit can measure afterwards"),
    "augmentation": ("none", "The data is left unchanged"),
    "debiasing": ("none", "Cross-entropy, without debiasing"),
    "llm": ("none", "No language model"),
    "logger": ("none", "Numbers are written only to record.json"),
    "rewriter": ("none", "No rewriter: an augmentation stops before rewriting"),
    "schedule": ("constant", "The learning rate stays at the optimizer's value"),
}


def scaled(paper: Any, quickstart: Any, *, _root_: DictConfig) -> Any:
    """Return one of two values depending on the scale of the run: ``${scaled:PAPER,QUICKSTART}``.

    The value for ``scale=paper`` is also used without a scale.
    """
    value = quickstart if OmegaConf.select(_root_, "scale.name") == "quickstart" else paper
    plain = isinstance(value, list | dict) and not isinstance(value, DictConfig | ListConfig)
    return OmegaConf.create(value) if plain else value


OmegaConf.register_new_resolver("scaled", scaled, replace=True)
for _group, (_name, _) in EMPTY.items():
    ConfigStore.instance().store(name=_name, node={}, group=_group, provider="fairlab")


ENTRY_GROUPS = {"benchmark": "fairlab.benchmarks", "method": "fairlab.methods", "source": "fairlab.sources"}


@cache
def entry_choices(group: str) -> dict[str, str]:
    """Return the import paths, by name, of the classes that installed packages offer for a configuration group."""
    if group not in ENTRY_GROUPS:
        return {}
    found = entry_points(group=ENTRY_GROUPS[group])
    return {one.name: one.value.replace(":", ".") for one in found if one.value.count(":") == 1}


def register_entry_points() -> None:
    """Register the classes of installed packages as choices of their groups."""
    for group in ENTRY_GROUPS:
        for name, target in entry_choices(group).items():
            node = {"_target_": target}
            # a run may have several benchmarks and several sources
            wrapped = node if group == "method" else {name: node}
            ConfigStore.instance().store(name=name, node=wrapped, group=group, provider="fairlab entry points")


register_entry_points()
