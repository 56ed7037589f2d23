"""Shapes shared by every layer: counterfactual groups, rows of text, and errors that are meant for the user."""

from __future__ import annotations

import hashlib
import importlib.util
import unicodedata
from collections.abc import Container, Sequence
from dataclasses import MISSING, dataclass, field, fields
from math import inf
from typing import Annotated, Any

NEUTRAL = "neutral"
# What JSON has for the annotations of a dataclass.
IN_JSON: dict[str, tuple[type, ...]] = {"float": (float, int), "int": (int,), "str": (str,), "bool": (bool,)}
IN_JSON |= {"list": (list,), "dict": (dict,), "None": (type(None),)}


@dataclass(frozen=True)
class Bounds:
    """Beside a type in ``Annotated``: bounds on the number that a configuration may give, or on a list's length.

    Attributes:
        low, high: lowest and highest value.
        above: what the value is larger than.
    """

    low: float = -inf
    high: float = inf
    above: float = -inf


Count = Annotated[int, Bounds(1)]  # at least one
Natural = Annotated[int, Bounds(0)]
Positive = Annotated[float, Bounds(above=0)]
NotNegative = Annotated[float, Bounds(0)]
Share = Annotated[float, Bounds(0, 1)]
Texts = Annotated[Sequence[str], Bounds(1)]  # at least one
Seed = Annotated[int, Bounds(0, 2**32 - 1)]  # what numpy takes


class FairlabError(Exception):
    """Bad input or a run that cannot go on; its message is one sentence naming the thing and the remedy.

    The command line prints the message alone and exits with 1; anything else is a bug and keeps its traceback.
    """


class DataUnavailable(FairlabError):
    """Data that could be had neither from a path, nor from ``FAIRLAB_DATA``, nor by download."""


class NotPushed(FairlabError):
    """What a run made is whole, but the hub did not take it."""


class ReviewNeeded(FairlabError):
    """A run that waits for a person to fill something in; the command line exits with 3."""


class CannotScore(FairlabError):
    """A model lacks what a benchmark asks of it, such as a masked-LM head."""


def missing_extra(extra: str, what: str) -> FairlabError:
    """The error to raise where a package beyond what ``pip install fairlab`` brings is missing.

    Args:
        extra: name of the extra that brings the package.
        what: what needs it, as the sentence's subject.

    Example:
        >>> print(missing_extra("wandb", "logger=wandb"))
        logger=wandb needs the extra wandb: pip install 'fairlab[wandb]'
    """
    return FairlabError(f"{what} needs the extra {extra}: pip install 'fairlab[{extra}]'")


def need_extra(extra: str, what: str, *packages: str) -> None:
    """Refuse to go on where one of an extra's packages is not installed; nothing is imported.

    Args:
        extra: name of the extra.
        what: what needs it, as the sentence's subject.
        packages: names by which the packages are imported, without a dot.

    Raises:
        FairlabError: one of them is not installed.
    """
    if any(importlib.util.find_spec(package) is None for package in packages):
        raise missing_extra(extra, what)


@dataclass(frozen=True)
class Group:
    """A counterfactual group: versions of one text that differ only in attribute, with the neutral version.

    Attributes:
        id: id of the group, unique within its file.
        axis: the axis along which the versions differ, e.g. ``gender``.
        versions: text of each version; holds ``neutral`` and at least two attributes, in a fixed order.
        extra: every other key of the row (``split``, ``register``, ``gold``, ...), kept as read.
    """

    id: str
    axis: str
    versions: dict[str, str]
    extra: dict[str, Any] = field(default_factory=dict)

    @property
    def attributes(self) -> tuple[str, ...]:
        """Names of the versions other than the neutral one, in file order."""
        return tuple(name for name in self.versions if name != NEUTRAL)

    @property
    def texts(self) -> list[str]:
        """The neutral text, then one text per attribute: the row order of every embedding array."""
        return [self.versions[NEUTRAL], *(self.versions[name] for name in self.attributes)]

    @property
    def source(self) -> str:
        """The attribute whose text the group is made from anew: each equally often, whatever the file's order.

        It is taken by a hash of the group's id, so that augmentations to be compared start from the same texts.
        """
        return self.attributes[hashlib.sha256(self.id.encode()).digest()[0] % len(self.attributes)]


@dataclass(frozen=True)
class Row:
    """One text with its other fields.

    Attributes:
        id: the row's ``id``, or where it has none its number in the input, counted from 1.
        text: the text to be rewritten; several fields are joined by ``<SEP>``.
        extra: every other field of the row.
        place: where the row came from, such as ``line 12``.
        number: number of the row in the input, counted from 1; unique where ids may not be.
        field: name of the text's field.
        parts: names and texts of the fields that a text is joined of; empty where it is one.
        split: split of the input that the row is of; empty where there are none.
    """

    id: str
    text: str
    extra: dict[str, Any]
    place: str
    number: int
    field: str = "text"
    parts: tuple[tuple[str, str], ...] = ()
    split: str = ""

    @property
    def names(self) -> list[str]:
        """Names of the text's fields."""
        return [name for name, _ in self.parts] or [self.field]

    @property
    def fields(self) -> list[str]:
        """The text's fields."""
        return [text for _, text in self.parts] or [self.text]


@dataclass(frozen=True)
class Made:
    """What an augmentation made of one row.

    Attributes:
        rows: rows made of the input row; none where there is a reason.
        reason: why nothing was made: a few words, the same for every row of the kind; empty where something was made.
        detail: what in particular was wrong with this row.
        versions: versions that had been made of a row that was then rejected.
        counts: numbers that are added up over all rows, e.g. ``{"groups": 1, "groups/union": 1}``.
    """

    rows: tuple[dict[str, Any], ...] = ()
    reason: str = ""
    detail: str = ""
    versions: dict[str, str] = field(default_factory=dict)
    counts: dict[str, int] = field(default_factory=dict)


def values_of(kind: type[Any], content: Any, what: str, besides: Container[str] = ()) -> dict[str, Any]:
    """A JSON object as values of a dataclass's fields; those with a default may be absent.

    Args:
        kind: the dataclass.
        content: what was read.
        what: what the message calls it.
        besides: names of fields that do not stand in the object.

    Raises:
        ValueError: it is no object, lacks a value, or has one of an unknown name or of another type.
    """
    if not isinstance(content, dict):
        raise ValueError(f"{what} is {type(content).__name__}, no object of names and values")
    known = {one.name: one for one in fields(kind) if one.name not in besides}
    if unknown := sorted(set(content) - set(known)):
        raise ValueError(f"{what} has '{unknown[0]}', which this version of fairlab does not know")
    for name, one in known.items():
        types = tuple(found for part in str(one.type).split(" | ") for found in IN_JSON[part.partition("[")[0]])
        if name not in content and one.default is MISSING and one.default_factory is MISSING:
            raise ValueError(f"{what} has no '{name}'")
        if name in content and not isinstance(content[name], types):
            raise ValueError(f"'{name}' of {what} is {type(content[name]).__name__}, not {one.type}")
    return content


# Letters that have no parts, as plain ones.
_LETTERS = str.maketrans({"đ": "d", "Đ": "D", "ø": "o", "Ø": "O", "ł": "l", "Ł": "L", "ı": "i", "ß": "ss", "æ": "ae"})


def unaccented(word: str) -> str:
    """Return a word with its letters of the plain Latin alphabet.

    Example:
        >>> unaccented("Siobhán"), unaccented("Đức"), unaccented("λόγος")
        ('Siobhan', 'Duc', 'λογος')
    """
    if word.isascii():
        return word
    parted = unicodedata.normalize("NFD", word.translate(_LETTERS))
    return unicodedata.normalize("NFC", "".join(sign for sign in parted if not unicodedata.combining(sign)))


def fold(word: str) -> str:
    """Return a word in small letters, without accents.

    Example:
        >>> fold("José")
        'jose'
    """
    return unaccented(word).casefold()
