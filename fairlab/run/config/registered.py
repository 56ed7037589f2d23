"""Choices and values without a file: the choice ``none`` of a group, and values by scale."""

from __future__ import annotations

from typing import Any

from hydra.core.config_store import ConfigStore
from omegaconf import DictConfig, ListConfig, OmegaConf

EMPTY = {  # empty choices: name and meaning, by group
    "benchmark": ("none", "Nothing is measured; fairlab audit may do it afterwards"),
    "augmentation": ("none", "The data as it is"),
    "debiasing": ("none", "Cross-entropy, without debiasing"),
    "llm": ("none", "No language model"),
    "logger": ("none", "Numbers go into record.json alone"),
    "rewriter": ("none", "No rewriter: an augmentation stops before it rewrites"),
    "schedule": ("constant", "The learning rate stays what the optimizer has"),
}


def scaled(paper: Any, quickstart: Any, *, _root_: DictConfig) -> Any:
    """Return one of two values by the scale of the run: ``${scaled:PAPER,QUICKSTART}``.

    Args:
        paper: Value at ``scale=paper``, and without a scale.
        quickstart: Value at ``scale=quickstart``.
        _root_: Whole configuration, passed in by OmegaConf.
    """
    value = quickstart if OmegaConf.select(_root_, "scale.name") == "quickstart" else paper
    plain = isinstance(value, list | dict) and not isinstance(value, DictConfig | ListConfig)
    return OmegaConf.create(value) if plain else value


OmegaConf.register_new_resolver("scaled", scaled, replace=True)
for _group, (_name, _) in EMPTY.items():
    ConfigStore.instance().store(name=_name, node={}, group=_group, provider="fairlab")
