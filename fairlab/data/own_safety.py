"""Reader of a user's own texts with safety labels, from any table."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

from fairlab.data.safety_texts import NONE, SafetyText, binary_label, is_seed, json_rows
from fairlab.data.stream.formats import BadRow, found_in
from fairlab.text.folding import fold
from fairlab.text.labels import as_written, is_missing
from fairlab.text.naming import listed_names
from fairlab.types import FairlabError

OTHERS = re.compile(r"[^a-z0-9]+")
BOTH = frozenset("01")


@dataclass(frozen=True)
class TableColumns:
    """Columns of a table of labelled texts.

    Attributes:
        text: Column of the texts.
        key: Column with the name of a text's counterfactual set; without it, every text is a separate set.
        subgroup: Column with a text's subgroup, as ``category:subgroup``; the default column may be missing.
        labels: Columns with the labels of each harm. None uses the object in the column ``labels`` or, if there is
            none, every other column that contains only 0, 1, true, false and empty cells.
    """

    text: str = "text"
    key: str = "key"
    subgroup: str = "subgroup"
    labels: Sequence[str] | None = None


def read_own(file: Path, columns: TableColumns | None = None) -> Iterator[SafetyText]:
    """Yield the labelled texts of a table in any supported format, a saved dataset or an output of ``fairlab.augment``.

    An empty cell means that the harm was not annotated. A harm is named after its column, in lower case without
    accents, and with underscores instead of other characters.

    Raises:
        DataUnavailable: The file does not exist.
        FairlabError: A row cannot be read, or there is no column of texts or of labels.
    """
    columns = columns or TableColumns()
    rows = list(_rows(file))
    _check_subgroup(file, [row for _, row in rows], columns)
    harms = _harms(file, [row for _, row in rows if is_seed(row)] or [row for _, row in rows], columns)
    seeds: dict[str, int] = {}  # number of the latest seed by id, which may repeat: a seed's versions follow it
    for number, (place, row) in enumerate(rows, start=1):
        text = row.get(columns.text)
        if not isinstance(text, str) or not text.strip():
            raise FairlabError(
                f"{place} has no text in the column '{columns.text}'; it has: {listed_names(row)}; name the "
                "column by data.columns.text=NAME, or remove the row"
            )
        named = row["labels"] if harms is None else {harm: row.get(column) for harm, column in harms.items()}
        if not isinstance(named, Mapping):
            raise FairlabError(f'{place}: labels must be an object such as {{"hate": 0}}, not {named!r}')
        given = _named_once({name: harm_name(name, place) for name, one in named.items() if not _empty(one)}, place)
        labels = {harm: binary_label(named[written], f"{place}, {written}") for harm, written in given.items()}
        subgroup = str(row.get(columns.subgroup) or "")
        if is_seed(row):
            first = seeds[str(row.get("id"))] = number
        else:
            first = seeds.setdefault(str(row.get("source_id")), number)
        key = row.get(columns.key)
        yield SafetyText(
            text, str(first if key is None else key), "" if subgroup == NONE else subgroup, labels, is_seed(row)
        )


def harm_name(written: object, place: str) -> str:
    """Normalize the name of a harm to digits, underscores and lower-case letters without accents.

    Example:
        >>> harm_name("Self-Harm / intent", "row 1"), harm_name("Grob unhöflich", "row 1")
        ('self_harm_intent', 'grob_unhoflich')

    Raises:
        FairlabError: The name does not begin with a Latin letter.
    """
    name = OTHERS.sub("_", fold(str(written))).strip("_")
    if not name or not name[0].isalpha():
        raise FairlabError(f"{place}: '{written}' is not a valid name of a harm; let it begin with a Latin letter")
    return name


def _rows(file: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    if file.is_dir() and (file / "manifest.json").is_file():
        yield from json_rows(file)
        return
    for found in chain.from_iterable(found_in(str(file)).values()):
        if isinstance(found, BadRow):
            raise FairlabError(f"{file}, {found.place}: {found.reason}; fix the row")
        yield f"{file}, {found[0]}" if str(file) not in found[0] else found[0], found[1]


def _check_subgroup(file: Path, rows: Sequence[Mapping[str, Any]], columns: TableColumns) -> None:
    """Raise FairlabError if no row has the subgroup column, unless that column is the default."""
    if columns.subgroup == TableColumns.subgroup or any(columns.subgroup in row for row in rows):
        return
    names = dict.fromkeys(str(name) for row in rows for name in row)
    raise FairlabError(
        f"{file} has no column '{columns.subgroup}' of subgroups; it has: {listed_names(names)}; name another by "
        "data.columns.subgroup=NAME, or leave it out"
    )


def _harms(file: Path, rows: Sequence[Mapping[str, Any]], columns: TableColumns) -> dict[str, str] | None:
    """Return the column of each harm by the harm's name, or None if the rows have an object of labels instead."""
    names = list(dict.fromkeys(name for row in rows for name in row))
    if columns.labels is not None:
        if missing := [name for name in columns.labels if name not in names]:
            raise FairlabError(f"{file} has no column '{missing[0]}' of labels; it has: {listed_names(names)}")
        chosen = list(columns.labels)
    elif "labels" in names or not rows:
        return None
    else:
        own = {columns.text, columns.key, columns.subgroup, "id"}
        chosen = [name for name in names if name not in own and _is_labels([row.get(name) for row in rows])]
    if len(names) == 1:
        raise FairlabError(
            f"{file} has a single column, '{names[0]}'; separate its cells by commas, or by tabs in a .tsv file, and "
            "give a column of 0 and 1 for each harm"
        )
    if not chosen:
        raise FairlabError(
            f"{file} has no column of labels 0 and 1; it has: {listed_names(names)}; name them by "
            "data.columns.labels=[NAME,NAME]"
        )
    return _named_once({name: harm_name(name, str(file)) for name in chosen}, str(file))


def _named_once(harms: Mapping[str, str], place: str) -> dict[str, str]:
    """Return the original name of each harm, keyed by its normalized name.

    Raises:
        FairlabError: Two original names have the same normalized name.
    """
    found: dict[str, str] = {}
    for written, name in harms.items():
        if name in found:
            raise FairlabError(
                f"{place}: '{found[name]}' and '{written}' both name the harm {name}; rename one of them"
            )
        found[name] = written
    return found


def _is_labels(values: Sequence[object]) -> bool:
    written = {as_written(value) for value in values if not _empty(value)}
    return bool(written) and written <= BOTH


def _empty(value: object) -> bool:
    return value is None or is_missing(value)
