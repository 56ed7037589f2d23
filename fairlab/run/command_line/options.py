"""Options in the form ``--port 8000``, for commands whose settings have the form ``port=8000``."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence

NAMED_ADDRESS = re.compile(r"https?://[^\s,\[\]{}#]*#[^\s,\[\]{}]*", re.IGNORECASE)


def as_settings(arguments: Sequence[str], names: Collection[str]) -> list[str]:
    """Return arguments in which the named options are written as settings; all others are unchanged.

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
    """Return overrides with quotes around addresses that name a model after ``#``, which Hydra's grammar forbids.

    Args:
        given: Arguments of a command; arguments that already have quotes are unchanged.
    """
    return [one if set(one) & {*"'\""} else NAMED_ADDRESS.sub(r"'\g<0>'", one) for one in given]
