"""Labelled rows of the user's own data: texts, true labels or scores, and groups of people.

Shapes: N is the number of rows, L the number of labels.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairlab.audit.any_classifier import Kind
from fairlab.checks.values import has_items
from fairlab.data.stream.features import description_of
from fairlab.data.stream.formats import BadRow
from fairlab.data.stream.rows import read_rows, rows_of_table
from fairlab.text.labels import as_written, distinct_labels, is_missing, label_meant, missing_label
from fairlab.text.naming import listed_names
from fairlab.text.nested import cell_at
from fairlab.types import FairlabError, Row

MOST_LABELS = 100  # distinct values of a label column; a column with more holds scores or ids


@dataclass(frozen=True)
class LabelledRows:
    """Rows with their true labels or scores and their groups.

    Attributes:
        ids: Ids of the rows.
        fields: Texts of each row.
        truth: Position of the label (N,) if a text has one label; 0 or 1 for each label (N, L) if it has several; or
            scores (N,).
        labels: Names of the labels; empty for scores.
        kind: Whether a text has ``one`` label, ``several`` labels or a ``score``.
        groups: Group of each row by name of the column; names joined by ``*`` stand for intersections of columns.
        columns: Names of all columns except the text columns.
    """

    ids: list[str]
    fields: list[list[str]]
    truth: NDArray[np.float64]
    labels: tuple[str, ...]
    kind: Kind
    groups: dict[str, list[str]]
    columns: tuple[str, ...] = ()

    def named_truth(self, row: int) -> str:
        """Return the name of a row's true label."""
        if self.kind == "score":
            return f"{self.truth[row]:g}"
        if self.kind == "several":
            return ", ".join(name for name, held in zip(self.labels, self.truth[row], strict=True) if held) or "none"
        return self.labels[int(self.truth[row])]


def read_source(data: Any, field: str | Sequence[str]) -> tuple[str, list[Row]]:
    """Return the name and the rows of a dataset, read from a file or given in memory.

    Cells of a column of type ``ClassLabel`` contain the names of the classes.

    Args:
        data: Path or name for :func:`fairlab.data.stream.rows.read_rows`, a DataFrame, or rows as mappings.
        field: Column of the text, or several columns.

    Raises:
        FairlabError: A row has no text, or the data has no rows or is of another kind.
    """
    if isinstance(data, str | Path):
        found, features = read_rows(str(data), field), description_of(str(data)).features
    else:
        table = _rows_in_memory(data)
        if table is None or not all(isinstance(one, Mapping) for one in table):
            raise FairlabError("data is not a table; give a file, a DataFrame or a list of rows by column")
        found, features = rows_of_table(table, field), _features_of(data)
    name = source_name(data)
    return name, _with_class_names(list(_sound(name, found)), features)


def source_name(data: Any) -> str:
    """Return the name of a dataset for messages: its path, or the type of data in memory."""
    return str(data) if isinstance(data, str | Path) else f"this {type(data).__name__}"


def _features_of(data: Any) -> Mapping[str, Any]:
    """Return the types of the columns of a ``datasets`` dataset, or an empty mapping for other data."""
    features = getattr(data, "features", None)
    return features if isinstance(features, Mapping) else {}


def _with_class_names(rows: list[Row], features: Mapping[str, Any]) -> list[Row]:
    """Return the rows with names instead of numbers in columns of type ``ClassLabel``.

    A number without a name, such as -1 for a missing label, becomes an empty cell.
    """
    classes = {column: names for column, kind in features.items() if (names := getattr(kind, "names", None))}
    for row in rows if classes else ():
        for column, names in classes.items():
            if isinstance(number := row.extra.get(column), int):
                row.extra[column] = names[number] if 0 <= number < len(names) else None
    return rows


def _rows_in_memory(data: Any) -> list[Any] | None:
    """Return the rows of data in memory, or None if the data is of another kind.

    Args:
        data: DataFrame, ``datasets`` dataset, mapping from column names to columns, or list of rows.

    Raises:
        FairlabError: The columns have different lengths.
    """
    if hasattr(data, "iloc") and hasattr(data, "columns"):
        return list(data.to_dict("records"))
    if isinstance(data, Mapping) and (splits := [name for name, one in data.items() if hasattr(one, "features")]):
        raise FairlabError(f"data has the splits {', '.join(map(str, splits))}; give one, such as data['{splits[0]}']")
    if not isinstance(data, Mapping):
        return list(data) if has_items(data) else None
    columns = [list(one) for one in data.values() if has_items(one)]
    if len(columns) < len(data):
        return None
    if len({len(column) for column in columns}) > 1:
        raise FairlabError(f"the columns of data have different lengths ({', '.join(map(str, data))}); complete them")
    return [dict(zip(data, cells, strict=True)) for cells in zip(*columns, strict=True)]


def _sound(name: str, rows: Iterable[Row | BadRow]) -> Iterable[Row]:
    empty = True
    for row in rows:
        if isinstance(row, BadRow):
            raise FairlabError(f"{name}, {row.place}: {row.reason}; fix or remove the row, or give field=COLUMN")
        empty = False
        yield row
    if empty:
        raise FairlabError(f"{name} has no rows; give a file of labelled texts")


def labelled(
    name: str,
    rows: Sequence[Row],
    label: str | Sequence[str],
    group: str | Sequence[str] | None,
    labels: Sequence[str],
    kind: Kind | None,
) -> LabelledRows:
    """Add labels and groups to rows.

    Args:
        name: Name of the data, for messages.
        rows: Rows with text.
        label: Column of the label or score; or several columns, one per label, each containing 0 or 1.
        group: Column of the group; or several columns, whose pairwise intersections are added; None if there are no
            groups.
        labels: Names of the model's labels, in the order of its outputs; empty to use the labels in the data.
        kind: Kind of the model's outputs, or None if the data determines it.

    Raises:
        FairlabError: A column is missing or has an empty cell, all labels are the same, or the model lacks a label.
    """
    columns = [] if group is None else [group] if isinstance(group, str) else list(group)
    groups = {column: _groups_in(name, rows, column) for column in columns}
    for first in range(len(columns)):
        for second in range(first + 1, len(columns)):
            both = zip(groups[columns[first]], groups[columns[second]], strict=True)
            groups[f"{columns[first]}*{columns[second]}"] = [" & ".join(pair) if all(pair) else "" for pair in both]
    if isinstance(label, str):
        truth, names, found = _of_one_column(name, rows, label, labels, kind)
    else:
        truth, names, found = _of_columns(name, rows, list(label), labels)
    fields, known = [row.fields for row in rows], tuple(map(str, rows[0].extra))
    return LabelledRows([row.id for row in rows], fields, truth, names, found, groups, known)


def _groups_in(name: str, rows: Sequence[Row], column: str) -> list[str]:
    """Return the group of each row, or an empty string if the cell is empty.

    Raises:
        FairlabError: A cell contains ``none``, which may name a group or stand for an empty cell.
    """
    values = _values(name, rows, column, "group")
    for row, value in zip(rows, values, strict=True):
        if isinstance(value, str) and value.strip().casefold() == "none":
            raise FairlabError(
                f"{name}, {row.place}: the cell of '{column}' holds '{value}'; write another name if this is a group, "
                "or empty the cell"
            )
    return ["" if value is None or is_missing(value) else as_written(value) for value in values]


def _values(name: str, rows: Sequence[Row], column: str, setting: str) -> list[Any]:
    """Return the cells of the column that a setting names."""
    known = rows[0].extra
    if column not in known and cell_at(known, column) is None:
        there = listed_names(known, "no other")
        raise FairlabError(f"{name} has no column '{column}'; it has: {there}; give {setting}=NAME")
    return [cell_at(row.extra, column) for row in rows]


def _column(name: str, rows: Sequence[Row], column: str) -> list[Any]:
    values = _values(name, rows, column, "label")
    for row, value in zip(rows, values, strict=True):
        if value is None or (not isinstance(value, list) and is_missing(value)):
            raise FairlabError(f"{name}, {row.place}: the cell of '{column}' {missing_label(value)}")
    return values


def _of_one_column(
    name: str, rows: Sequence[Row], column: str, labels: Sequence[str], kind: Kind | None
) -> tuple[NDArray[np.float64], tuple[str, ...], Kind]:
    values = _as_lists(_column(name, rows, column))
    if any(isinstance(value, list | tuple | set | np.ndarray) for value in values):
        return _of_lists(name, rows, values, labels)
    if kind == "score":
        return _scores(name, rows, column, values), (), "score"
    written = [as_written(value) for value in values]
    counts = Counter(written)
    distinct = distinct_labels(written)
    if len(distinct) < 2:
        raise FairlabError(
            f"all {len(rows)} labels read from {name} in '{column}' are '{written[0]}'; give data with two labels or "
            "more, or another limit"
        )
    names = tuple(labels) or distinct
    if not labels and len(names) > MOST_LABELS:
        raise FairlabError(
            f"'{column}' of {name} has {len(names)} values; give a column of labels, or labels=[] for scores"
        )
    places = {value: _place(value, names) for value in counts}
    if unknown := sorted(value for value, place in places.items() if place is None):
        remedy = "labels=[...], the data's names in the order of the model's outputs"
        if kind == "several" and column in names:
            remedy = f"label=[{column}] if it has 0 or 1 for this label"
        raise FairlabError(
            f"'{column}' of {name} has the label '{listed_names(unknown[:1])}', but the model has "
            f"{listed_names(names)}; give {remedy}"
        )
    kinds: Kind = "several" if kind == "several" else "one"
    truth = np.array([places[value] for value in written], dtype=np.float64)
    if kinds == "several":
        truth = np.eye(len(names))[truth.astype(int)]
    return truth, names, kinds


def _as_lists(values: list[Any]) -> list[Any]:
    """Parse cells that contain lists as text, as in CSV files.

    Cells of any other kind are returned unchanged.
    """
    if not all(isinstance(value, str) and value.startswith("[") and value.endswith("]") for value in values):
        return values
    try:
        found = [ast.literal_eval(value) for value in values]
    except (ValueError, SyntaxError, MemoryError, RecursionError):  # a label in brackets, or brackets nested too deeply
        return values
    return values if any(isinstance(one, list | dict) for several in found for one in several) else found


def _place(value: str, names: Sequence[str]) -> int | None:
    """Return the position of a label, or None if there is no such label.

    A number is a position if labels have names such as ``LABEL_0``, as in transformers.
    """
    meant = label_meant(value, names)
    if meant is not None:
        return list(names).index(meant)
    plain = f"LABEL_{value}"
    return list(names).index(plain) if plain in names else None


def _scores(name: str, rows: Sequence[Row], column: str, values: Sequence[Any]) -> NDArray[np.float64]:
    found = []
    for row, value in zip(rows, values, strict=True):
        try:
            found.append(float(value))
        except (TypeError, ValueError) as error:
            raise FairlabError(
                f"{name}, {row.place}: '{value}' in '{column}' is not a score, but the model returns scores; give a "
                "column of numbers"
            ) from error
    return np.array(found)


def _of_lists(
    name: str, rows: Sequence[Row], values: Sequence[Any], labels: Sequence[str]
) -> tuple[NDArray[np.float64], tuple[str, ...], Kind]:
    """Return the truth, labels and kind for a column whose cells contain lists of labels."""
    held = [[as_written(one) for one in (value if not isinstance(value, str) else [value])] for value in values]
    names = tuple(labels) or distinct_labels(one for several in held for one in several)
    truth = np.zeros((len(rows), len(names)))
    for k, (row, several) in enumerate(zip(rows, held, strict=True)):
        for one in several:
            place = _place(one, names)
            if place is None:
                raise FairlabError(
                    f"{name}, {row.place}: the model has no label '{one}'; give labels=[...], the data's names in the "
                    "order of the model's outputs"
                )
            truth[k, place] = 1
    return truth, names, "several"


def _of_columns(
    name: str, rows: Sequence[Row], columns: Sequence[str], labels: Sequence[str]
) -> tuple[NDArray[np.float64], tuple[str, ...], Kind]:
    """Return the truth, labels and kind for several columns, which contain 0 or 1 for one label each."""
    if labels and {one.casefold() for one in labels} != {one.casefold() for one in columns}:
        raise FairlabError(
            f"label={','.join(columns)} does not match the model's labels; give label=[{','.join(labels)}]"
        )
    by_name = {column.casefold(): column for column in columns}
    names = tuple(by_name[one.casefold()] for one in labels) or tuple(columns)
    truth = np.zeros((len(rows), len(names)))
    for place, column in enumerate(names):
        for k, value in enumerate(_column(name, rows, column)):
            if as_written(value) not in ("0", "1"):
                raise FairlabError(f"{name}, {rows[k].place}: '{value}' in '{column}' is not 0 or 1; fix the cell")
            truth[k, place] = float(as_written(value))
    return truth, names, "several"


def only_rows(data: LabelledRows, rows: NDArray[np.bool_]) -> LabelledRows:
    """Return the rows for which ``rows`` (N,) is true."""
    kept = np.flatnonzero(rows)
    groups = {column: [names[k] for k in kept] for column, names in data.groups.items()}
    ids, fields = [data.ids[k] for k in kept], [data.fields[k] for k in kept]
    return replace(data, ids=ids, fields=fields, truth=data.truth[rows], groups=groups)
