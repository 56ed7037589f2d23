"""What Hydra does again and again, done once: half of what it takes to start a command."""

from __future__ import annotations

import sys
from functools import cache
from pathlib import Path
from typing import IO, Any

import omegaconf._utils
import omegaconf.base
import yaml
from hydra._internal.hydra import Hydra
from omegaconf import OmegaConf
from omegaconf._utils import get_yaml_loader
from omegaconf.grammar_parser import parse

from fairlab.run.command_line.cli import conf_dir

get_mode = Hydra.get_mode


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


def load(file: str | Path | IO[Any]) -> Any:
    """Do as ``OmegaConf.load`` does."""
    text = Path(file).read_text(encoding="utf-8") if isinstance(file, str | Path) else file.read()
    return OmegaConf.create(content(text))  # which copies the containers


@cache
def content(text: str) -> Any:
    found = yaml.load(text, Loader=get_yaml_loader())
    return {} if found is None else found
