"""Reader of the rows of any text dataset, one at a time.

The dataset may be JSON, CSV, Parquet, plain text, a saved dataset or a hub dataset; see
:mod:`fairlab.data.stream.formats`.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import reduce
from itertools import chain, count, islice
from pathlib import Path
from typing import Any

from fairlab.data.published.task_files import read_task
from fairlab.data.published.tasks import Example, Task, find_task
from fairlab.data.stream.formats import BadRow, Found, found_in, json_of, numbered
from fairlab.data.stream.saved import saved_folder
from fairlab.text.fields import join_fields
from fairlab.text.naming import listed_names
from fairlab.text.nested import cell_at, without_cell
from fairlab.text.reading import LONGEST_LINE, SHOWN
from fairlab.types import FairlabError, Row

TASK = "task:"  # prefix of the name of a labelled task
MOST_COUNTED = 1_000_000  # maximum number of rows counted to estimate the time left
BROKEN = re.compile("[\0\ud800-\udfff]")


def broken_in_words(found: str) -> str:
    """Return the description of a character that :data:`BROKEN` matches, for error messages."""
    return "a NUL character" if found == "\0" else "half a surrogate pair"


def read_rows(source: str, field: str | Sequence[str] = "text", *, every_split: bool = False) -> Iterator[Row | BadRow]:
    """Return the rows of a file, a saved dataset, a hub dataset, or a labelled task, in order.

    A text file has one text per line, or one per sentence if its paragraphs are wrapped and end at blank lines. The
    text that Project Gutenberg adds before and after a book is left out.

    Args:
        source: A file ending in .jsonl, .json, .csv, .tsv, .parquet or .txt; a folder of .txt files, which are read in
            the order of their names; a folder that ``save_to_disk`` wrote, as ``FOLDER`` or ``FOLDER:SPLIT``; a hub
            dataset, as ``NAME``, ``NAME:SPLIT`` or ``NAME:CONFIG:SPLIT``; or ``task:NAME`` or ``task:NAME:SPLIT`` (see
            :func:`fairlab.data.published.task_files.read_task`), whose columns are predefined.
        field: Column of the text, or several columns to join with ``<SEP>``; ``input.text`` is a cell of the mapping
            in the column ``input``.
        every_split: Whether to read all splits if no split is named. Otherwise, ``train`` or the only split is read.

    Raises:
        DataUnavailable: There is no such file or dataset.
        FairlabError: The file does not have its declared format, has an unknown format, or lacks the column.
    """
    if source.startswith(TASK):
        return task_rows(source)
    plain = source.endswith(".txt") or (Path(source).is_dir() and saved_folder(source) is None)
    parts = found_in(source, [] if plain else _names(field), every_split=every_split)
    numbers = count(1)
    return chain.from_iterable(_rows(one, "text" if plain else field, split, numbers) for split, one in parts.items())


def stdin_rows(field: str | Sequence[str] = "text") -> Iterator[Row | BadRow]:
    """Return the rows of JSON lines from the standard input, one at a time; see :func:`read_rows` for ``field``."""
    return _rows(json_of(numbered(sys.stdin.buffer)), field)


def rows_of_table(table: Iterable[Mapping[Any, Any]], field: str | Sequence[str] = "text") -> Iterator[Row | BadRow]:
    """Return the rows of a table in memory, in order; see :func:`read_rows` for ``field``."""
    found = ((f"row {k}", {str(name): value for name, value in row.items()}) for k, row in enumerate(table, start=1))
    return _rows(found, field)


def fields_of(source: str, field: str | Sequence[str]) -> str | list[str]:
    """Return the name or names of the text's columns. A task defines its own names."""
    if source.startswith(TASK):
        return find_task(source.split(":")[1]).field_names
    return field if isinstance(field, str) else list(field)


def row_progress(
    rows: Iterator[Row | BadRow], again: Callable[[], Iterator[Row | BadRow]] | None = None
) -> Iterator[Row | BadRow]:
    """Yield the rows, and show their number and the time left on a terminal.

    Args:
        rows: Rows to yield.
        again: Function that reads the rows again to count them, up to a million; None if the rows can be read only
            once. If the rows are not counted, the time left is not shown.
    """
    from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn

    is_shown = sys.stderr.isatty()
    total = sum(1 for _ in islice(again(), MOST_COUNTED + 1)) if again is not None and is_shown else None
    total = None if total is None or total > MOST_COUNTED else total
    left = (BarColumn(), TimeRemainingColumn()) if total else (TimeElapsedColumn(),)
    columns = (SpinnerColumn(), TextColumn("{task.completed:,.0f} rows read"), *left)
    with Progress(*columns, disable=not is_shown, transient=True) as progress:
        task = progress.add_task("", total=total)
        for row in rows:
            progress.advance(task)
            yield row


def task_examples(source: str) -> tuple[Task, list[Example]]:
    """Return a labelled task and the examples of one of its splits.

    Args:
        source: ``task:NAME`` for the training examples, or ``task:NAME:SPLIT``; a mixture of tasks joined by ``+`` has
            the splits that all of its tasks have.

    Raises:
        DataUnavailable: The data is unavailable.
        FairlabError: There is no such task or split.
    """
    name, _, split = source.removeprefix(TASK).partition(":")
    task = find_task(name)
    splits = [name for name in (task.parts or (task,))[0].files if all(name in one.files for one in task.parts)]
    if (split or "train") not in splits:
        raise FairlabError(f"{source} does not name a split of {name}; the splits are: {', '.join(splits)}")
    return task, read_task(name, split or "train")


def task_rows(source: str) -> Iterator[Row]:
    """Yield the examples of a labelled task as rows, with the task's field names and the label's name or score."""
    task, examples = task_examples(source)
    for number, example in enumerate(examples, start=1):
        parts = tuple(zip(task.field_names, example.fields, strict=True))
        label = task.labels[int(example.label)] if task.labels else example.label
        text = join_fields(example.fields)
        yield Row(str(number), text, {"label": label}, f"row {number}", number, parts=parts)


def _names(field: str | Sequence[str]) -> list[str]:
    return [field] if isinstance(field, str) else list(field)


def _rows(
    found: Iterable[Found], field: str | Sequence[str], split: str = "", numbers: Iterator[int] | None = None
) -> Iterator[Row | BadRow]:
    names, before = _names(field), f"{split}, " if split else ""
    for item, number in zip(found, numbers or count(1), strict=False):
        if isinstance(item, BadRow):
            yield replace(item, place=before + item.place, split=split)
            continue
        place, fields = before + item[0], item[1]
        texts = {name: cell_at(fields, name) for name in names}
        lacking = [name for name, text in texts.items() if not isinstance(text, str) or not text.strip()]
        text = "" if lacking else join_fields(list(texts.values()))  # type: ignore[arg-type]
        reason = f"a text of more than {LONGEST_LINE:,} characters; shorten it" if len(text) > LONGEST_LINE else ""
        if lacking:
            value = texts[lacking[0]]
            more = f", but {value} without quotes; write it in quotes" if isinstance(value, int | float) else ""
            if isinstance(value, list | tuple | Mapping):
                more = ", which holds several values; give a field with one text"
            if lacking[0] in fields and (value is None or isinstance(value, str)):
                more = ", which is empty"
            reason = f"no text in the field '{lacking[0]}'" + (more or f"; it has: {listed_names(fields)}")
        if reason:
            yield BadRow(place, reason, str(fields)[:SHOWN], split)
            continue
        name = str(number if fields.get("id") is None else fields["id"])
        for part, content in (("text", text), ("id", name)):
            if broken := BROKEN.search(content):
                what = broken_in_words(broken.group())
                yield BadRow(place, f"the {part} contains {what}", ascii(content)[:SHOWN], split)
                break
        else:
            extra = reduce(without_cell, ("id", *names), fields)
            parts: Any = tuple(texts.items()) if len(names) > 1 else ()
            yield Row(name, text, extra, place, number, names[0], parts, split)
