"""What OmegaConf parses again and again, parsed once: its yaml files and interpolations, a third of composing."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import IO, Any

import omegaconf._utils
import omegaconf.base
import yaml
from omegaconf import OmegaConf
from omegaconf._utils import get_yaml_loader
from omegaconf.grammar_parser import parse


def remember_parsing() -> None:
    """Have OmegaConf remember, by their text, the content of yaml and the syntax trees of interpolations."""
    OmegaConf.load = staticmethod(load)
    omegaconf.base.parse = omegaconf._utils.parse = cache(parse)


def load(file: str | Path | IO[Any]) -> Any:
    """Do as ``OmegaConf.load`` does."""
    text = Path(file).read_text(encoding="utf-8") if isinstance(file, str | Path) else file.read()
    return OmegaConf.create(content(text))  # which copies the containers


@cache
def content(text: str) -> Any:
    found = yaml.load(text, Loader=get_yaml_loader())
    return {} if found is None else found
