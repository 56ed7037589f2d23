"""Explanation of command-line arguments that are not settings in the form KEY=VALUE."""

from __future__ import annotations

from argparse import ArgumentParser
from collections.abc import Sequence
from pathlib import Path

from omegaconf import OmegaConf


def explain_bare_word(arguments: Sequence[str], parser: ArgumentParser, file: Path) -> str | None:
    """Return a sentence about the first argument that is not a setting, or None if all arguments are settings."""
    known, flags = parser.parse_known_args(list(arguments))
    words = [word for word in (*flags, *known.overrides) if word.startswith("--") or not {"=", "~"} & set(word)]
    if not words:
        return None
    word = words[0]
    name, sign, value = word.lstrip("-").partition("=")
    value = value if sign else [*words[1:], "VALUE"][0]
    config = OmegaConf.load(file)
    keys = [str(key) for key in config if key != "defaults"]
    if name.split(".")[0] in (*keys, *(folder.name for folder in file.parent.iterdir())):
        if word.startswith("-"):
            return f"'{word}' has dashes; settings have the form KEY=VALUE, so give {name}={value}"
        return f"'{word}' has no value; settings have the form KEY=VALUE without blanks, so give {name}={value}"
    if word.startswith("-"):
        return None
    if file.stem == "train":
        known_name = (file.parent / "experiment" / f"{word}.yaml").is_file()
        example = f"+experiment={word if known_name else 'ccd_bert'}"
    else:
        example = f"{next((key for key in keys if OmegaConf.is_missing(config, key)), keys[0])}={word}"
    return f"'{word}' does not say which setting it is for; settings have the form KEY=VALUE, such as {example}"
