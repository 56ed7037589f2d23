"""Composition of configurations in Python, with the same files and rules as on the command line."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
from hydra import compose
from hydra.core.global_hydra import GlobalHydra
from hydra.initialize import get_gh_backup, restore_gh_from_backup
from omegaconf import DictConfig, open_dict

from fairlab.files import NO_NAME
from fairlab.run import folders as folders  # registers the resolvers that configurations name
from fairlab.run.command_line import cli
from fairlab.run.config.backbone_nodes import backbone_node
from fairlab.types import FairlabError

BACKBONE_KEY = re.compile(r"\+{0,2}backbone\.")


@contextmanager
def composing(folder: str | None = None) -> Iterator[None]:
    """Initialise Hydra within the context, or reuse the initialisation of an entry point if there is no ``folder``."""
    if folder is None and GlobalHydra.instance().is_initialized():
        yield
        return
    before = get_gh_backup()
    GlobalHydra.instance().clear()
    try:
        with cli.initialised(folder):
            yield
    finally:
        restore_gh_from_backup(before)


def composed(entry: str, choices: Sequence[str], settings: Mapping[str, Any]) -> DictConfig:
    """Compose the configuration of an entry point.

    Args:
        entry: Name of the entry point, such as ``evaluate``.
        choices: Overrides that select from configuration groups, as on the command line, such as ``method=ccd``.
        settings: Values by dotted key, such as ``{"method.beta": 0.5}``.

    Raises:
        FairlabError: A choice or key does not exist; the message lists the available ones.
    """
    overrides = [*choices, *(f"{key}={written(value)}" for key, value in settings.items())]
    try:
        with composing(), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return compose(entry, overrides=overrides)
    except Exception as error:
        sentence = cli.explain(error, entry, overrides)
        if sentence is None:
            raise
        raise FairlabError(sentence) from error


def from_model(config: DictConfig, overrides: Sequence[str]) -> DictConfig:
    """Set the backbone of a training run to the model named by ``model``, if it is set, and return the configuration.

    Settings of the backbone in the command (``backbone.KEY=VALUE``) are kept.

    Raises:
        FairlabError: The command also chooses a backbone, or the run does not start from a backbone.
    """
    if config.get("model") is None:
        return config
    if chosen := [one for one in overrides if one.startswith("backbone=")]:
        raise FairlabError(f"model={config.model} and {chosen[0]} both choose the model; leave one of them out")
    if not config.get("backbone"):
        raise FairlabError("this run starts from the classifiers of source=, not from a model; leave model= out")
    changed = [
        one.lstrip("+").partition("=")[0].removeprefix("backbone.") for one in overrides if BACKBONE_KEY.match(one)
    ]
    with composing():
        node = backbone_node(
            str(config.model), {key: config.backbone[key] for key in changed if key in config.backbone}
        )
    with open_dict(config):
        config.backbone = {"stands_for": None, **node}
    return config


def own_settings(settings: Any) -> dict[str, Any]:
    """Return a copy of settings given from Python, whose keys are dotted.

    The result is empty for None.

    Raises:
        FairlabError: The settings are not a mapping with text keys.
    """
    given = {} if settings is None else settings
    if not isinstance(given, Mapping) or not all(isinstance(key, str) for key in given):
        raise FairlabError(f"settings must be values by dotted key, such as {{'method.beta': 0.5}}, not {given!r}")
    return dict(given)


def written(value: Any) -> str:
    r"""Format a value in the syntax of Hydra's overrides.

    Example:
        >>> written("it's"), written([1, None, True]), written({"a": 0.5})
        ("'it\\'s'", '[1,null,true]', '{a:0.5}')
    """
    if isinstance(value, np.generic):
        value = value.item()
    if value is None:
        return "null"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int | float):
        return repr(value)
    if isinstance(value, Mapping):
        return "{" + ",".join(f"{key}:{written(item)}" for key, item in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + ",".join(map(written, value)) + "]"
    if NO_NAME.search(str(value)):
        raise FairlabError(f"the setting {value!a} is not UTF-8 text; save it as UTF-8")
    # Before a quote and at the end, Hydra reads a backslash as an escape of the next character.
    quoted = re.sub(r"(\\*)('|$)", lambda found: found[1] * 2 + found[2].replace("'", "\\'"), str(value))
    return f"'{quoted}'"
