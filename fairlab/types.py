"""Types shared by every layer: groups, rows of text, descriptions of measurements, and errors for the user."""

from __future__ import annotations

import hashlib
import importlib.util
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import MISSING, Field, dataclass, field, fields, replace
from functools import cache
from math import inf
from typing import Annotated, Any

NEUTRAL = "neutral"
IN_JSON: dict[str, tuple[type, ...]] = {"float": (float, int), "int": (int,), "str": (str,), "bool": (bool,)}
IN_JSON |= {"list": (list,), "dict": (dict,), "None": (type(None),)}  # JSON types for the annotations of a dataclass


@dataclass(frozen=True)
class Bounds:
    """Bounds of a configuration value, or of the length of a list, given in the ``Annotated`` of its type.

    Attributes:
        low, high: Lowest and highest allowed value.
        above, below: Exclusive lower and upper bound.
    """

    low: float = -inf
    high: float = inf
    above: float = -inf
    below: float = inf


Count = Annotated[int, Bounds(1)]  # at least one
Natural = Annotated[int, Bounds(0)]
Positive = Annotated[float, Bounds(above=0)]
NotNegative = Annotated[float, Bounds(0)]
Share = Annotated[float, Bounds(0, 1)]
Fraction = Annotated[float, Bounds(above=0, below=1)]  # neither nothing nor everything
NotAll = Annotated[float, Bounds(0, below=1)]  # nothing or a part
Texts = Annotated[Sequence[str], Bounds(1)]  # at least one
Seed = Annotated[int, Bounds(0, 2**32 - 1)]  # range of numpy's seeds


class FairlabError(Exception):
    """Error for bad input or a run that cannot continue.

    Its message gives the fault and the remedy in one sentence. The command line prints only the message and exits with
    1; any other exception is a bug and shows a traceback.
    """

    def __str__(self) -> str:  # a wrong value in it may have any length
        return " ".join(one if len(one) < 1000 else f"{one[:200]}..." for one in super().__str__().split(" "))


class DataUnavailable(FairlabError):
    """Error for data that is neither at its path nor in ``FAIRLAB_DATA``, and cannot be downloaded."""


class NotPushed(FairlabError):
    """Error for a complete result that the hub did not accept."""


class ReviewNeeded(FairlabError):
    """Exception that interrupts a run until a person fills in a file.

    The command line exits with 3.
    """


class CannotScore(FairlabError):
    """Error for a model without a capability that a benchmark requires, such as a masked-LM head."""


def missing_extra(extra: str, what: str) -> FairlabError:
    """Return the error to raise if a package of an optional extra is missing.

    ``what`` is the feature that needs the package, as the subject of the message.

    Example:
        >>> print(missing_extra("wandb", "logger=wandb"))
        logger=wandb needs the extra wandb: pip install 'fairlab[wandb]'
    """
    return FairlabError(f"{what} needs the extra {extra}: pip install 'fairlab[{extra}]'")


def need_extra(extra: str, what: str, *packages: str) -> None:
    """Raise if one of an extra's packages is not installed, without importing any of them.

    The packages are import names without a dot. ``what`` is the feature that needs them, as the subject of the message.

    Raises:
        FairlabError: One of the packages is not installed.
    """
    if any(importlib.util.find_spec(package) is None for package in packages):
        raise missing_extra(extra, what)


@dataclass(frozen=True)
class Group:
    """Counterfactual group: a neutral text and versions of it that differ only in one attribute of people.

    Attributes:
        id: Id of the group, unique within its file.
        axis: Axis along which the versions differ, e.g. ``gender``.
        versions: Text of each version by name: ``neutral`` and at least two attributes, in a fixed order.
        extra: All other keys of the row (``split``, ``register``, ``gold``, ...), as read.
    """

    id: str
    axis: str
    versions: dict[str, str]
    extra: dict[str, Any] = field(default_factory=dict)

    @property
    def attributes(self) -> tuple[str, ...]:
        """Return the names of the versions other than the neutral one, in file order."""
        return tuple(name for name in self.versions if name != NEUTRAL)

    @property
    def texts(self) -> list[str]:
        """Return the neutral text, followed by one text per attribute: the row order of every embedding array."""
        return [self.versions[NEUTRAL], *(self.versions[name] for name in self.attributes)]

    @property
    def source(self) -> str:
        """Return the attribute whose text is the source when the group is rewritten.

        It is chosen by a hash of the group's id. Each attribute is chosen equally often, regardless of the file's
        order, and augmentations to be compared start from the same texts.
        """
        return self.attributes[hashlib.sha256(self.id.encode()).digest()[0] % len(self.attributes)]


@dataclass(frozen=True)
class Row:
    """One text of a dataset, with the other fields of its row.

    Attributes:
        id: The row's ``id``, or its number in the input, counted from 1, if it has no id.
        text: Text to rewrite; several fields are joined by ``<SEP>``.
        extra: All other fields of the row.
        place: Location of the row in the input, such as ``line 12``.
        number: Number of the row in the input, counted from 1; unique even if ids are not.
        field: Name of the text's field.
        parts: Names and texts of the fields that are joined to the text; empty for a single field.
        split: Split of the input that the row belongs to; empty if there are no splits.
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
        """Return the names of the text fields."""
        return [name for name, _ in self.parts] or [self.field]

    @property
    def fields(self) -> list[str]:
        """Return the texts of the text fields."""
        return [text for _, text in self.parts] or [self.text]

    @property
    def named(self) -> dict[str, str]:
        """Return the texts of the text fields, by field name."""
        return dict(zip(self.names, self.fields, strict=True))


@dataclass(frozen=True)
class Made:
    """Output of an augmentation for one row.

    Attributes:
        rows: Rows produced from the input row; empty if the row was rejected.
        reason: Short reason for a rejection, identical for all rows rejected for this reason; empty on success.
        detail: Specific fault of this row.
        versions: Versions of the text that were produced before the row was rejected.
        counts: Counters to be summed over all rows, e.g. ``{"groups": 1, "groups/union": 1}``.
    """

    rows: tuple[dict[str, Any], ...] = ()
    reason: str = ""
    detail: str = ""
    versions: dict[str, str] = field(default_factory=dict)
    counts: dict[str, int] = field(default_factory=dict)


# needs that model objects can satisfy
EMBEDDINGS, LIKELIHOODS, TEXTS = "embeddings", "token_log_probabilities", "texts"
# Headings under which readings are shown, in this order.
EQUAL = "Are embeddings equal?"
PERSIST = "Do associations persist?"
ALIKE = "Are people treated alike?"
KEPT = "Is utility kept?"
ELSE = "What else was measured?"


@dataclass(frozen=True)
class QuantityInfo:
    """Description of one quantity of a benchmark.

    Attributes:
        label: A few words that follow the benchmark's title; ``{}`` is replaced by the text that ``*`` matches in the
            name.
        meaning: Meaning of the number, and in parentheses the fair or best value.
        unit: Unit of the value, as the benchmark's authors print it.
        ideal: Value of a perfectly fair or useful model, in ``unit``; None if there is no ideal value.
        low, high: Bounds of the value, in ``unit``; None if unbounded.
        headline: Whether the quantity represents its benchmark in summaries and bar charts.
        useful: Whether the quantity measures utility, regardless of the benchmark's topic.
        margin: Largest distance, in ``unit``, from the ideal value or between two models that counts as no difference,
            or None.
        folded: Whether the value is an absolute value of estimates, or a mean of absolute values. Percentiles of its
            bootstrap draws are biased upwards, so the value is compared with 0 by its own test instead of its interval.
    """

    label: str
    meaning: str
    unit: str = ""
    ideal: float | None = None
    low: float | None = None
    high: float | None = None
    headline: bool = False
    useful: bool = False
    margin: float | None = None
    folded: bool = False


@dataclass(frozen=True)
class Description:
    """Self-description of a benchmark, the only source for reports, tables, pages and plans about it.

    Attributes:
        name: Name in the keys of readings, such as ``seat``; a protocol that is not the default follows an ``@``.
        title: Name as its authors write it.
        question: Question that the benchmark answers.
        quantities: Measured quantities by name; a ``*`` in a name matches any text, such as an attribute.
        topic: Heading under which its readings are shown.
        subsets: Titles of its parts, by name; ``*`` is any other part, and ``{}`` in a title is the part's name.
        citation: BibTeX entry of the publication.
        needs: Requirements on a model or on data: ``embeddings``, ``token_log_probabilities``, ``option_scores``,
            ``texts``, ``labels`` or ``harm_scores``; a model that lacks a requirement is not measured.
        sources: Files or folders in ``FAIRLAB_DATA`` that it reads.
        smoke: Maximum values of settings in a smoke run, for settings other than ``limit``.
        for_choosing: Whether settings are selected by its readings; such readings do not represent a model and are
            excluded from verdicts.
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
    smoke: Mapping[str, int] = field(default_factory=dict)
    for_choosing: bool = False

    def quantity(self, name: str) -> QuantityInfo | None:
        """Return the description of a quantity with its complete label, or None if it is not described."""
        if name in self.quantities:
            return self.quantities[name]
        for pattern, info in self.quantities.items():
            start, star, end = pattern.partition("*")
            if star and name.startswith(start) and name.endswith(end) and len(name) > len(start) + len(end):
                return replace(info, label=info.label.replace("{}", name[len(start) : len(name) - len(end)]))
        return None

    def subset(self, name: str) -> str | None:
        """Return the title of a part, or None if it has no title."""
        words = self.subsets.get(name, self.subsets.get("*"))
        return None if words is None else words.replace("{}", name)

    def values(self, quantities: Iterable[str]) -> dict[str, Any]:
        """Return the values to store in a record as plain containers, without values at their defaults.

        Args:
            quantities: Names of the quantities that were measured.
        """
        infos = {name: info for name in quantities if (info := self.quantity(name)) is not None}
        return _not_at_default(self, SHOWN) | {
            "quantities": {
                name: _not_at_default(info, [one.name for one in fields(info)]) for name, info in infos.items()
            }
        }

    @classmethod
    def read_all(cls, content: Any) -> dict[str, Description]:
        """Read the descriptions stored in a record, by name of the benchmark.

        Raises:
            ValueError: The content does not have the form of descriptions.
        """
        if not isinstance(content, dict):
            raise ValueError("'described' is not an object of names and values")
        found = {}
        for name, entry in content.items():
            what = f"the description of {name}"
            values = values_of(cls, entry, what, besides={one.name for one in fields(cls)} - {*SHOWN, "quantities"})
            if any(not isinstance(words, str) for words in values.get("subsets", {}).values()):
                raise ValueError(f"{what} has words of a subset that are not text")
            infos = {
                key: QuantityInfo(**values_of(QuantityInfo, one, what)) for key, one in values["quantities"].items()
            }
            found[name] = cls(**values | {"name": name, "quantities": infos})
        return found


SHOWN = ("title", "question", "topic", "subsets", "citation")  # fields of a description that readers of a record need


def _not_at_default(entry: Any, names: Iterable[str]) -> dict[str, Any]:
    """Return the values of a dataclass by name, without empty values and values at their defaults."""
    defaults = {one.name: one.default for one in fields(entry)}
    return {name: value for name in names if (value := getattr(entry, name)) not in (defaults[name], {}, "")}


@dataclass(frozen=True)
class ItemTexts:
    """Items of a benchmark with their texts, in the order of an array that is stored for every measured model.

    Attributes:
        key: Name of the array among the outcome's ``items``.
        values: Names of the V values that are shown for each item.
        ids: Ids of the N items.
        texts: One or more texts per item.
        part: Name of the part of the benchmark; empty if there is only one part.
        groups: Group of each item, such as its bias type; empty if there are no groups.
        licence: SPDX identifier of the texts' licence; empty if unknown.
    """

    key: str
    values: list[str]
    ids: list[str]
    texts: list[list[str]]
    part: str = ""
    groups: list[str] = field(default_factory=list)
    licence: str = ""


def values_of(kind: type[Any], content: Any, what: str, besides: Collection[str] = ()) -> dict[str, Any]:
    """Check that a JSON object matches the fields of a dataclass, and return it.

    Args:
        kind: Dataclass; its fields with a default may be absent from the object.
        content: Value parsed from the file.
        what: Name of the object in error messages.
        besides: Names of fields that the object must not contain.

    Raises:
        ValueError: The content is not an object, lacks a value, or has an unknown name or a value of another type.
    """
    if not isinstance(content, dict):
        raise ValueError(f"{what} is {type(content).__name__}, not an object of names and values")
    known = _types_in_json(kind, frozenset(besides))  # type: ignore[arg-type]
    if unknown := content.keys() - known.keys():
        raise ValueError(f"{what} has '{min(unknown)}', which this version of fairlab does not know")
    for name, (one, types) in known.items():
        if name not in content and one.default is MISSING and one.default_factory is MISSING:
            raise ValueError(f"{what} has no '{name}'")
        if name in content and not isinstance(content[name], types):
            raise ValueError(f"'{name}' of {what} is {type(content[name]).__name__}, not {one.type}")
    return content


@cache  # a record has hundreds of entries of one kind
def _types_in_json(kind: type[Any], besides: frozenset[str]) -> dict[str, tuple[Field[Any], tuple[type, ...]]]:
    """Return the fields of a dataclass by name, each with the types that its value may have in JSON."""
    return {
        one.name: (one, tuple(kind for part in str(one.type).split(" | ") for kind in IN_JSON[part.partition("[")[0]]))
        for one in fields(kind)
        if one.name not in besides
    }
