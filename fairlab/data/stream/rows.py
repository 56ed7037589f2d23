"""Rows of any text data set, one at a time: JSON lines, CSV, Parquet, plain text, a folder of it, or of the hub.

Nothing is held but the row at hand (a batch, for Parquet), whatever the size of the input.
"""

from __future__ import annotations

import csv
import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain, islice, takewhile
from pathlib import Path
from typing import Any

from fairlab.data.published.task_files import read_task
from fairlab.data.published.tasks import Example, Task, find_task
from fairlab.text import gutenberg
from fairlab.text.fields import join_fields
from fairlab.text.json_text import from_json
from fairlab.text.sentences import SENTENCE_END
from fairlab.types import DataUnavailable, FairlabError, Row

FORMATS = (".jsonl", ".csv", ".tsv", ".parquet", ".txt")
TASK = "task:"  # before the name of a labelled task
PROBED = 400  # lines of a text file looked at to tell wrapped paragraphs from one text a line
BLANK_SHARE = 0.02
LONGEST_CELL = 16 << 20  # characters; more means that a quote was never closed
SHOWN = 200  # characters of a bad row that are kept
BROKEN = re.compile("[\0\ud800-\udfff]")


@dataclass(frozen=True)
class BadRow:
    """A row that cannot be used, kept with its place and the reason so that it is never lost silently."""

    place: str
    reason: str
    content: str


def read_rows(source: str, field: str | Sequence[str] = "text") -> Iterator[Row | BadRow]:
    """Rows of a file, of a data set of the hub, or of a labelled task, in order.

    A text file gives one text a line, or, where its paragraphs are wrapped and end at blank lines, one a sentence. What
    Project Gutenberg puts around a book is left out.

    Args:
        source: a file ending in .jsonl, .csv, .tsv, .parquet or .txt, a folder of .txt files, which are read one after
            the other in order of their names, ``NAME`` or ``NAME:SPLIT`` on the hub, or ``task:NAME`` or
            ``task:NAME:SPLIT`` (see :func:`fairlab.data.published.task_files.read_task`), whose fields are known.
        field: the column of the text, or several that are joined by ``<SEP>``.

    Raises:
        DataUnavailable: there is no such file or data set.
        FairlabError: the file is not of its kind, or of none that is known.
    """
    if source.startswith(TASK):
        return task_rows(source)
    path = Path(source)
    if path.is_dir():
        return _rows(_folder(input_files(path)), "text")
    if not path.is_file():
        if path.suffix in FORMATS:
            raise DataUnavailable(
                f"{source} is not a file; give one ending in {', '.join(FORMATS)}, or a folder of .txt files"
            )
        return _hub_rows(source, field)
    readers = {
        ".jsonl": _json_lines,
        ".csv": lambda path: _separated(path, ","),
        ".tsv": lambda path: _separated(path, "\t"),
        ".parquet": _parquet,
        ".txt": _plain_text,
    }
    if path.suffix not in readers:
        raise FairlabError(f"{source} has an unknown ending; give a file ending in {', '.join(FORMATS)}")
    return _rows(readers[path.suffix](path), "text" if path.suffix == ".txt" else field)


def stdin_rows(field: str | Sequence[str] = "text") -> Iterator[Row | BadRow]:
    """Rows of JSON lines that come by the standard input, one at a time.

    Args:
        field: the column of the text, or several that are joined by ``<SEP>``.
    """
    return _rows(_json_of(_numbered(sys.stdin.buffer)), field)


def fields_of(source: str, field: str | Sequence[str]) -> str | list[str]:
    """Names of the text's field, or fields; a task has its own."""
    if source.startswith(TASK):
        return find_task(source.split(":")[1]).field_names
    return field if isinstance(field, str) else list(field)


def row_progress(rows: Iterator[Row | BadRow]) -> Iterator[Row | BadRow]:
    """The rows, with their number on a terminal."""
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    columns = (SpinnerColumn(), TextColumn("{task.completed:,.0f} rows read"), TimeElapsedColumn())
    with Progress(*columns, disable=not sys.stderr.isatty(), transient=True) as progress:
        task = progress.add_task("", total=None)
        for row in rows:
            progress.advance(task)
            yield row


def input_files(folder: Path) -> list[Path]:
    """The .txt files of a folder, by name.

    Raises:
        DataUnavailable: there are none.
    """
    files = sorted(path for path in folder.glob("*.txt") if path.is_file())
    if not files:
        raise DataUnavailable(f"the folder {folder} holds no .txt file; give one that does, or a file")
    return files


def _folder(files: list[Path]) -> Iterator[tuple[str, dict[str, Any]] | BadRow]:
    for file in files:
        for item in _plain_text(file):
            if isinstance(item, BadRow):
                yield replace(item, place=f"{file.name}, {item.place}")
            else:
                yield f"{file.name}, {item[0]}", item[1]


def task_examples(source: str) -> tuple[Task, list[Example]]:
    """A labelled task and the examples of a split of it.

    Args:
        source: ``task:NAME`` for the training examples, or ``task:NAME:SPLIT``; tasks joined by ``+`` have the splits
            that all of them have.

    Raises:
        DataUnavailable: the data cannot be had.
        FairlabError: there is no such task or split.
    """
    name, _, split = source.removeprefix(TASK).partition(":")
    task = find_task(name)
    splits = [name for name in (task.parts or (task,))[0].files if all(name in one.files for one in task.parts)]
    if (split or "train") not in splits:
        raise FairlabError(f"{source} names no split of {name}; there are: {', '.join(splits)}")
    return task, read_task(name, split or "train")


def task_rows(source: str) -> Iterator[Row]:
    """Examples of a labelled task as rows: their fields by the task's own names, and the label's name or score."""
    task, examples = task_examples(source)
    for number, example in enumerate(examples, start=1):
        parts = tuple(zip(task.field_names, example.fields, strict=True))
        label = task.labels[int(example.label)] if task.labels else example.label
        text = join_fields(example.fields)
        yield Row(str(number), text, {"label": label}, f"row {number}", number, parts=parts)


def _rows(found: Iterator[tuple[str, dict[str, Any]] | BadRow], field: str | Sequence[str]) -> Iterator[Row | BadRow]:
    names = [field] if isinstance(field, str) else list(field)
    for number, item in enumerate(found, start=1):
        if isinstance(item, BadRow):
            yield item
            continue
        place, fields = item
        texts = {name: fields.get(name) for name in names}
        lacking = [name for name, text in texts.items() if not isinstance(text, str) or not text.strip()]
        text = "" if lacking else join_fields(list(texts.values()))  # type: ignore[arg-type]
        if lacking:
            reason = f"no text in the field '{lacking[0]}'; it has: {', '.join(map(str, fields)) or 'none'}"
            yield BadRow(place, reason, str(fields)[:SHOWN])
            continue
        name = str(fields.get("id", number))
        for part, content in (("text", text), ("id", name)):
            if broken := BROKEN.search(content):
                what = "a NUL character" if broken.group() == "\0" else "half a surrogate pair"
                yield BadRow(place, f"the {part} holds {what}", ascii(content)[:SHOWN])
                break
        else:
            extra = {key: value for key, value in fields.items() if key not in ("id", *names)}
            parts: Any = tuple(texts.items()) if len(names) > 1 else ()
            yield Row(name, text, extra, place, number, names[0], parts)


def _lines(path: Path) -> Iterator[tuple[int, str | BadRow]]:
    """Numbered lines; one that is not UTF-8 is a bad row."""
    with path.open("rb") as file:
        yield from _numbered(file)


def _numbered(file: Iterable[bytes]) -> Iterator[tuple[int, str | BadRow]]:
    for number, line in enumerate(file, start=1):
        try:
            yield number, line.decode("utf-8-sig" if number == 1 else "utf-8").rstrip("\r\n")
        except UnicodeDecodeError as error:
            content = line.decode("utf-8", errors="replace")[:SHOWN]
            yield number, BadRow(f"line {number}", f"not UTF-8 (byte {error.start} of the line)", content)


def _json_lines(path: Path) -> Iterator[tuple[str, dict[str, Any]] | BadRow]:
    return _json_of(_lines(path))


def _json_of(lines: Iterable[tuple[int, str | BadRow]]) -> Iterator[tuple[str, dict[str, Any]] | BadRow]:
    for number, line in lines:
        place = f"line {number}"
        if isinstance(line, BadRow):
            yield line
        elif line.strip():
            try:
                fields = from_json(line)
            except ValueError as error:
                yield BadRow(place, f"not JSON ({error})", line[:SHOWN])
                continue
            if isinstance(fields, dict):
                yield place, fields
            else:
                yield BadRow(place, f"a JSON object was expected, not {type(fields).__name__}", line[:SHOWN])


def _separated(path: Path, delimiter: str) -> Iterator[tuple[str, dict[str, Any]] | BadRow]:
    """Rows of a CSV file with a header; those of a TSV file are not quoted, as GLUE's are not."""
    csv.field_size_limit(LONGEST_CELL)
    with path.open(encoding="utf-8-sig", errors="surrogateescape", newline="") as file:
        tabs = delimiter == "\t"
        reader = csv.reader(file, delimiter=delimiter, quoting=csv.QUOTE_NONE if tabs else csv.QUOTE_MINIMAL)
        header = next(reader, [])
        for cells in _cells(reader, path):
            place, content = f"line {reader.line_num}", delimiter.join(cells)
            if not cells:
                continue
            if any("\udc80" <= character <= "\udcff" for character in content):
                clean = content.encode("utf-8", errors="surrogateescape").decode("utf-8", errors="replace")
                yield BadRow(place, "not UTF-8", clean[:SHOWN])
            elif len(cells) != len(header):
                yield BadRow(place, f"{len(cells)} columns, but the header has {len(header)}", content[:SHOWN])
            else:
                yield place, dict(zip(header, cells, strict=True))


def _cells(reader: Any, path: Path) -> Iterator[list[str]]:
    try:
        yield from reader
    except csv.Error as error:
        raise FairlabError(
            f"{path} cannot be read after line {reader.line_num} ({error}); a quote may be left open"
        ) from error


def _parquet(path: Path) -> Iterator[tuple[str, dict[str, Any]] | BadRow]:
    import pyarrow
    from pyarrow import parquet

    try:
        batches = parquet.ParquetFile(path).iter_batches(batch_size=1024)
        rows = (row for batch in batches for row in batch.to_pylist())
        yield from ((f"row {number}", row) for number, row in enumerate(rows, start=1))
    except pyarrow.ArrowException as error:
        raise FairlabError(f"{path} is no Parquet file: {' '.join(str(error).split())}") from error


def _plain_text(path: Path) -> Iterator[tuple[str, dict[str, Any]] | BadRow]:
    lines = _lines(path)
    first = list(islice(lines, PROBED))
    blank = sum(isinstance(line, str) and not line.strip() for _, line in first)
    starts = [k for k, (_, line) in enumerate(first) if isinstance(line, str) and gutenberg.START.match(line)]
    lines = chain(first[starts[0] + 1 :] if starts else first, lines)
    if starts:
        lines = takewhile(lambda line: not (isinstance(line[1], str) and gutenberg.END.match(line[1])), lines)
    if blank < BLANK_SHARE * len(first):
        for number, line in lines:
            if isinstance(line, BadRow):
                yield line
            elif line.strip():
                yield f"line {number}", {"text": line.strip()}
        return
    paragraph: list[str] = []
    start = 1
    for number, line in chain(lines, [(0, "")]):
        if isinstance(line, BadRow):
            yield line
        elif line.strip():
            start = start if paragraph else number
            paragraph.append(line.strip())
        else:
            sentences = SENTENCE_END.split(" ".join(paragraph)) if paragraph else []
            yield from ((f"paragraph at line {start}", {"text": sentence}) for sentence in sentences)
            paragraph = []


def _hub_rows(source: str, field: str | Sequence[str]) -> Iterator[Row | BadRow]:
    """Rows of a hub data set, streamed."""
    from datasets import load_dataset

    name, _, split = source.partition(":")
    try:
        stream = load_dataset(name, split=split or "train", streaming=True)
        rows = _rows(((f"row {number}", dict(row)) for number, row in enumerate(stream, start=1)), field)
        first = next(rows, None)
    except (OSError, ValueError) as error:
        reason = " ".join(str(error).split())[:SHOWN]
        raise DataUnavailable(f"{source} is no file, and the hub does not give it as a data set: {reason}") from error
    return rows if first is None else chain([first], rows)
