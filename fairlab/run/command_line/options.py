"""Options in the usual spelling, ``--port 8000``, for settings of commands that are otherwise ``port=8000``."""

from __future__ import annotations

from collections.abc import Collection, Sequence


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
