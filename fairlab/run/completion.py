"""Shell completion: ``complete -o nospace -C 'fairlab complete' fairlab``, in bash or zsh."""

from __future__ import annotations

import os
from collections.abc import Sequence

from fairlab.checks.escapes import print_escaped
from fairlab.run.command_line import cli
from fairlab.run.command_line.listing import listed


def command(commands: Sequence[str]) -> None:
    """Print the completions of bash's ``COMP_LINE`` at ``COMP_POINT``, given the words that may follow ``fairlab``."""
    line = os.environ.get("COMP_LINE", "")
    print_escaped("\n".join(offered(line[: int(os.environ.get("COMP_POINT", len(line)))], commands)))


def offered(line: str, commands: Sequence[str]) -> list[str]:
    """Return the completions of a line's last word, or of the part after its last ``=`` or comma.

    Example:
        >>> offered("fairlab tr", ["train", "view"]), offered("fairlab train backbone=mini", ["train", "view"])
        (['train '], ['minilm ', 'minilm_mlm '])
    """
    _, *words, last = line.split(" ") if " " in line else ("", "")
    if not words:
        return [f"{name} " for name in commands if name.startswith(last)]
    if words[0] == "ls":
        return [f"{kind} " for kind in listed([]) if kind.startswith(last)]
    key, is_value, value = last.partition("=")
    if not is_value:
        plus = "+" * key.startswith("+")
        return [f"{plus}{group}=" for group in cli.groups() if group.startswith(key.lstrip("+"))]
    if key.lstrip("+") not in cli.groups():
        return []
    begun, _, name = value.rpartition(",") if "," in value else ("", "", value)
    opened = "[" if name.startswith("[") else ""
    before = f"{begun}," if begun else opened
    end = "" if begun or opened else " "
    return [f"{before}{one}{end}" for one in cli.choices(key.lstrip("+")) if one.startswith(name.removeprefix("["))]
