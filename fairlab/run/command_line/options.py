"""Options in the usual spelling, ``--port 8000``, for settings of commands that are otherwise ``port=8000``."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence

NAMED_ADDRESS = re.compile(r"https?://[^\s,\[\]{}#]*#[^\s,\[\]{}]*", re.IGNORECASE)


def as_settings(arguments: Sequence[str], names: Collection[str]) -> list[str]:
    """Return arguments with the options of some names written as settings; all others are unchanged.

    Args:
        arguments: Words of a command line.
        names: Names of settings that may be given as options.

    Example:
        >>> as_settings(["RUN", "--port", "80", "--output=a b", "--help", "--port"], {"port", "output"})
        ['RUN', 'port=80', 'output=a b', '--help', '--port']
    """
    found: list[str] = []
    rest = list(arguments)
    while rest:
        word = rest.pop(0)
        name, sign, value = word.removeprefix("--").partition("=")
        if not word.startswith("--") or name not in names or not (sign or rest):
            found.append(word)
        else:
            found.append(f"{name}={value if sign else rest.pop(0)}")
    return found


def with_quoted_addresses(given: Sequence[str]) -> list[str]:
    """Return overrides with quotes around each address that names a model by ``#``, which Hydra's grammar lacks.

    Args:
        given: Arguments of a command; one that has quotes already is unchanged.
    """
    return [one if set(one) & {*"'\""} else NAMED_ADDRESS.sub(r"'\g<0>'", one) for one in given]
