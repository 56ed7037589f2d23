"""Shapes shared by every layer: groups, rows of text, descriptions of what is measured, and errors for the user."""

from __future__ import annotations

import hashlib
import importlib.util
import unicodedata
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import MISSING, dataclass, field, fields, replace
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


# Headings under which readings are shown, in this order.
EQUAL = "Are embeddings equal?"
PERSIST = "Do associations persist?"
ALIKE = "Are people treated alike?"
KEPT = "Is utility kept?"
ELSE = "What else was measured?"


@dataclass(frozen=True)
class QuantityInfo:
    """What one quantity of a benchmark is.

    Attributes:
        label: a few words that follow the benchmark's title; ``{}`` stands for what a ``*`` in the quantity's name is.
        meaning: what the number says, and in parentheses which value is fair or best.
        unit: unit of the value, as the benchmark's authors print it.
        ideal: value of a perfectly fair or useful model, in ``unit``; None if there is none.
        low, high: bounds of the value, in ``unit``; None if there is none.
        headline: whether the quantity stands for its benchmark in summaries and bars.
        useful: whether the quantity tells of usefulness, whatever its benchmark is about.
    """

    label: str
    meaning: str
    unit: str = ""
    ideal: float | None = None
    low: float | None = None
    high: float | None = None
    headline: bool = False
    useful: bool = False


@dataclass(frozen=True)
class Workload:
    """How much a benchmark reads, counted on its data with MiniLM's tokenizer, padding included.

    Attributes:
        parts: number of items of each part; ``limit`` takes at most so many of each.
        tokens: tokens that one item gives a model, by ``encoder`` (any model) or the language-modelling head that it
            needs, ``masked`` or ``causal``. A masked language model reads a text once for every token asked about.
        per: name of a setting by whose value the tokens are multiplied; empty for none.
    """

    parts: tuple[int, ...]
    tokens: Mapping[str, float]
    per: str = ""


@dataclass(frozen=True)
class Description:
    """What a benchmark says of itself: reports, tables, pages and plans know it by this alone.

    Attributes:
        name: name in the keys of readings, such as ``seat``; a protocol that is not the default follows an ``@``.
        title: name as its authors write it.
        question: the question that the benchmark answers.
        quantities: what it measures, by name; a ``*`` in a name stands for any text, such as an attribute.
        topic: heading under which its readings are shown.
        subsets: words for parts of it, by name; ``*`` is any other part, and ``{}`` in its words the part's name.
        citation: BibTeX entry of the publication.
        needs: what it asks of a model or of data: ``embeddings``, ``token_log_probabilities``, ``option_scores``,
            ``texts`` or ``labels``.
        sources: files or folders that it reads below ``FAIRLAB_DATA``.
        workload: how much it reads, for plans; None if unknown.
        smoke: highest values of settings in a smoke run, for settings other than ``limit``.
    """

    name: str
    title: str
    question: str
    quantities: dict[str, QuantityInfo]
    topic: str = ELSE
    subsets: dict[str, str] = field(default_factory=dict)
    citation: str = ""
    needs: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()
    workload: Workload | None = None
    smoke: Mapping[str, int] = field(default_factory=dict)

    def quantity(self, name: str) -> QuantityInfo | None:
        """Return what a quantity is, its label complete; None if it is not described."""
        if name in self.quantities:
            return self.quantities[name]
        for pattern, info in self.quantities.items():
            start, star, end = pattern.partition("*")
            if star and name.startswith(start) and name.endswith(end) and len(name) > len(start) + len(end):
                return replace(info, label=info.label.replace("{}", name[len(start) : len(name) - len(end)]))
        return None

    def subset(self, name: str) -> str | None:
        """Return the words for a part; None if it has none of its own."""
        words = self.subsets.get(name, self.subsets.get("*"))
        return None if words is None else words.replace("{}", name)

    def values(self, quantities: Iterable[str]) -> dict[str, Any]:
        """Return what a record keeps, as plain containers without values at their defaults.

        Args:
            quantities: names of the quantities that were measured.
        """
        infos = {name: info for name in quantities if (info := self.quantity(name)) is not None}
        return _not_at_default(self, SHOWN) | {
            "quantities": {
                name: _not_at_default(info, [one.name for one in fields(info)]) for name, info in infos.items()
            }
        }

    @classmethod
    def read_all(cls, content: Any) -> dict[str, Description]:
        """Read what a record keeps of descriptions, by name of the benchmark.

        Raises:
            ValueError: it is anything else.
        """
        if not isinstance(content, dict):
            raise ValueError("'described' is no object of names and values")
        found = {}
        for name, entry in content.items():
            what = f"the description of {name}"
            values = values_of(cls, entry, what, besides={one.name for one in fields(cls)} - {*SHOWN, "quantities"})
            if any(not isinstance(words, str) for words in values.get("subsets", {}).values()):
                raise ValueError(f"{what} has words of a subset that are no text")
            infos = {
                key: QuantityInfo(**values_of(QuantityInfo, one, what)) for key, one in values["quantities"].items()
            }
            found[name] = cls(**values | {"name": name, "quantities": infos})
        return found


SHOWN = ("title", "question", "topic", "subsets", "citation")  # of a description, what readers of a record need


def _not_at_default(entry: Any, names: Iterable[str]) -> dict[str, Any]:
    """Return values of a dataclass by name, without empty ones and those at their defaults."""
    defaults = {one.name: one.default for one in fields(entry)}
    return {name: value for name in names if (value := getattr(entry, name)) not in (defaults[name], {}, "")}


@dataclass(frozen=True)
class ItemTexts:
    """Items of a benchmark with their texts, in the order of an array that the benchmark keeps of every model.

    Attributes:
        key: name of the array among the outcome's ``items``.
        values: names of the V values that are shown for each item.
        ids: names of the N items.
        texts: one or more texts for each item.
        part: name of the part of the benchmark; empty if it has one alone.
        groups: group of each item, such as its bias type; empty if there are none.
        licence: SPDX identifier of the texts' licence; empty if unknown.
    """

    key: str
    values: list[str]
    ids: list[str]
    texts: list[list[str]]
    part: str = ""
    groups: list[str] = field(default_factory=list)
    licence: str = ""


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
