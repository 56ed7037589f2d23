"""What Hydra does again and again, done once: half of what it takes to start a command."""

from __future__ import annotations

import pickle
import sys
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import IO, Any

import omegaconf._utils
import omegaconf.base
import yaml
from hydra._internal import config_loader_impl
from hydra._internal.config_loader_impl import ConfigLoaderImpl
from hydra._internal.defaults_list import DefaultsList, Overrides
from hydra._internal.hydra import Hydra
from hydra.core.config_store import ConfigStore
from omegaconf import OmegaConf
from omegaconf._utils import get_yaml_loader
from omegaconf.grammar_parser import parse

from fairlab.run.command_line.cli import conf_dir

get_mode, store = Hydra.get_mode, ConfigStore.store
list_defaults, merge = config_loader_impl.create_defaults_list, ConfigLoaderImpl._compose_config_from_defaults_list


def remember_parsing() -> None:
    """Have OmegaConf remember, by their text, the content of yaml and the syntax trees of interpolations."""
    OmegaConf.load = staticmethod(load)
    omegaconf.base.parse = omegaconf._utils.parse = cache(parse)


def compose_once() -> None:
    """Have Hydra compose a command once: it does so first for ``hydra.mode``, which few configurations set."""
    files = Path(conf_dir()).rglob("*.yaml")
    setting = {"mode", *(file.stem for file in files if "  mode: MULTIRUN" in file.read_text(encoding="utf-8"))}

    def mode(hydra: Hydra, config_name: str | None, overrides: list[str]) -> Any:
        own = any(one.startswith(("--config-dir", "-cd")) for one in sys.argv)
        set_here = own or any(name in override for name in setting for override in overrides)
        return get_mode(hydra, config_name, overrides) if set_here else None

    Hydra.get_mode = mode


class Defaults(list):
    """Defaults list of a command, with the pickled configuration that Hydra merges of it; empty until then."""

    merged = b""


def remember_choices() -> None:
    """Have Hydra remember what the same choices from fairlab's own files are merged to, before values are set.

    Most commands of a test choose what others have chosen, and differ in values.
    """
    known: dict[tuple[Any, ...], DefaultsList] = {}
    own = {f"file://{conf_dir()}", "pkg://hydra.conf", "structured://"}

    def listed(repo: Any, config_name: str | None, overrides_list: list[Any], **how: bool) -> DefaultsList:
        if not {source.full_path() for source in repo.get_sources()} <= own:
            return list_defaults(repo, config_name, overrides_list, **how)
        values = Overrides(repo, overrides_list).config_overrides
        chosen = tuple(one.input_line for one in overrides_list if one not in values)
        key = (config_name, chosen, *how.items())
        if key not in known:
            known[key] = list_defaults(repo, config_name, overrides_list, **how)
            known[key].defaults = Defaults(known[key].defaults)
        return replace(known[key], config_overrides=values)

    def merged(loader: ConfigLoaderImpl, defaults: list[Any], repo: Any) -> Any:
        if not isinstance(defaults, Defaults):
            return merge(loader, defaults, repo)
        defaults.merged = defaults.merged or pickle.dumps(merge(loader, defaults, repo))
        return pickle.loads(defaults.merged)

    def store_and_forget(*of: Any, **more: Any) -> None:
        known.clear()
        store(*of, **more)

    config_loader_impl.create_defaults_list = listed
    ConfigLoaderImpl._compose_config_from_defaults_list = merged
    ConfigStore.store = store_and_forget


def load(file: str | Path | IO[Any]) -> Any:
    """Do as ``OmegaConf.load`` does."""
    text = Path(file).read_text(encoding="utf-8") if isinstance(file, str | Path) else file.read()
    return OmegaConf.create(content(text))  # which copies the containers


@cache
def content(text: str) -> Any:
    found = yaml.load(text, Loader=get_yaml_loader())
    return {} if found is None else found
