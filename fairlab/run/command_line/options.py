"""Options such as ``--port 8000`` for commands that otherwise read settings such as ``port=8000``."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from itertools import zip_longest

WORD = re.compile(r"[^\s,\[\]{}:=][^,\[\]{}:=]*")  # of an override's value
CONFIG_FOLDER = ("--config-dir", "-cd")  # Hydra's option, which its function compose does not have
NAMED_ADDRESS = re.compile(r"https?://[^\s,\[\]{}#]*#[^\s,\[\]{}]*", re.IGNORECASE)


def as_settings(arguments: Sequence[str], names: Collection[str]) -> list[str]:
    """Convert the named options to settings, and leave all other arguments unchanged.

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


def config_folder(arguments: Sequence[str]) -> str | None:
    """Return the folder of additional choices that a command names by ``--config-dir``, or None.

    Example:
        >>> config_folder(["--config-dir", "mine", "seed=1"]), config_folder(["-cd=mine"]), config_folder(["seed=1"])
        ('mine', 'mine', None)
    """
    found = None
    for word, following in zip_longest(arguments, arguments[1:], fillvalue=""):
        name, sign, value = word.partition("=")
        if name in CONFIG_FOLDER:
            found = value if sign else following
    return found


def without_config_folder(arguments: Sequence[str]) -> list[str]:
    """Return the arguments of a command without ``--config-dir`` and its folder.

    Example:
        >>> without_config_folder(["--config-dir", "mine", "seed=1", "-cd=mine", "-m"])
        ['seed=1', '-m']
    """
    pairs = zip(arguments, ["", *arguments], strict=False)
    return [
        word for word, before in pairs if word.partition("=")[0] not in CONFIG_FOLDER and before not in CONFIG_FOLDER
    ]


def with_plus(given: Sequence[str]) -> list[str]:
    """Add the plus that Hydra needs to select an augmentation, which ``fairlab.augment`` does not choose by default.

    Example:
        >>> with_plus(["augmentation=cda", "augmentation.output=add", "+augmentation=eda"])
        ['+augmentation=cda', 'augmentation.output=add', '+augmentation=eda']
    """
    return [f"+{one}" if one.startswith("augmentation=") else one for one in given]


def with_quotes(given: Sequence[str]) -> list[str]:
    """Quote the values that Hydra's grammar accepts only in quotes.

    Quotes are added to addresses with a model's name after ``#``, and to words with letters that English does not have.
    Arguments that already have quotes are unchanged.

    Example:
        >>> with_quotes(["keep=[größe,datum]", "input=my files/größe.csv", "field='größe'"])
        ["keep=['größe',datum]", "input='my files/größe.csv'", "field='größe'"]
    """
    return [one if set(one) & {*"'\""} else _quoted(one) for one in given]


def _quoted(override: str) -> str:
    key, sign, value = override.partition("=")
    if sign and not value.isascii():
        value = WORD.sub(lambda word: word[0] if word[0].isascii() else f"'{word[0]}'", value)
        return f"{key}={value}"
    return NAMED_ADDRESS.sub(r"'\g<0>'", override)
