"""What commands do again and again, done once: half of what it takes to start one is what Hydra does."""

from __future__ import annotations

import pickle
import sys
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import IO, Any

import omegaconf._utils
import omegaconf.base
import yaml
from hydra._internal import config_loader_impl, defaults_list
from hydra._internal.config_loader_impl import ConfigLoaderImpl
from hydra._internal.defaults_list import DefaultsList, Overrides
from hydra._internal.hydra import Hydra
from hydra.core.config_store import ConfigStore
from omegaconf import OmegaConf
from omegaconf._utils import get_yaml_loader
from omegaconf.grammar_parser import parse

from fairlab.checks import foreign
from fairlab.rewriting import perturbable_words
from fairlab.rewriting.english import rules
from fairlab.run.command_line.cli import conf_dir

get_mode, store = Hydra.get_mode, ConfigStore.store
list_defaults, merge = config_loader_impl.create_defaults_list, ConfigLoaderImpl._compose_config_from_defaults_list
map_choices, parse_yaml = defaults_list._create_interpolation_map, foreign.parse_yaml
HERE = Path(__file__).parents[1]


def remember_parsing() -> None:
    """Have OmegaConf remember, by their text, the content of yaml and the syntax trees of interpolations."""
    OmegaConf.load = staticmethod(load)
    foreign.parse_yaml = parse_own
    omegaconf.base.parse = omegaconf._utils.parse = cache(parse)


def remember_vocabularies() -> None:
    """Have rewriters of the same lexicon and settings share what they list of it, which they never change."""
    known: dict[tuple[Any, ...], tuple[Any, Any]] = {}

    def remembering(build: Callable[..., Any]) -> Callable[..., Any]:
        def built(of: Any, *more: Any, **settings: Any) -> Any:
            key = (build, id(of), more, *settings.items())
            if key not in known:
                known[key] = (build(of, *more, **settings), of)  # which is kept, so that no other has its id
            return known[key][0]

        return built

    for name in ("Vocabulary", "MentionFinder", "LexicalRules"):
        shared = remembering(getattr(rules, name))
        for module in (rules, perturbable_words):
            if hasattr(module, name):
                setattr(module, name, shared)


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

    def choices_so_far(overrides: Any, defaults: list[Any], self_added: bool) -> Any:
        """Map choices only for a defaults list that interpolates, which alone reads them; most do not."""
        asked = any(not one.is_self() and not one.is_override() and one.is_interpolation() for one in defaults)
        return map_choices(overrides, defaults, self_added) if asked else None

    defaults_list._create_interpolation_map = choices_so_far
    config_loader_impl.create_defaults_list = listed
    ConfigLoaderImpl._compose_config_from_defaults_list = merged
    ConfigStore.store = store_and_forget


def load(file: str | Path | IO[Any]) -> Any:
    """Do as ``OmegaConf.load`` does."""
    text = Path(file).read_text(encoding="utf-8") if isinstance(file, str | Path) else file.read()
    return pickle.loads(pickled(text))


@cache
def pickled(text: str) -> bytes:
    found = yaml.load(text, Loader=get_yaml_loader())
    return pickle.dumps(OmegaConf.create({} if found is None else found))


def parse_own(text: str, file: Path) -> Any:
    """Do as ``fairlab.checks.foreign.parse_yaml`` does for a file that is read; once, if it is one of fairlab's own."""
    return pickle.loads(parsed(text, file)) if HERE in file.parents else parse_yaml(text, file)


@cache
def parsed(text: str, file: Path) -> bytes:
    return pickle.dumps(parse_yaml(text, file))
