"""Readers of files, folders and hub datasets that yield one raw row at a time.

Only the current row (for Parquet, a batch) is held in memory, so inputs may have any size. The only exception is a
.json file that contains a list or a single object, which is read as a whole.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, islice
from operator import itemgetter
from pathlib import Path
from typing import Any, BinaryIO

from fairlab.checks.json_text import from_json
from fairlab.data.stream.saved import one_split, opened, saved_folder
from fairlab.files import check_folder
from fairlab.text.gutenberg import book_lines
from fairlab.text.naming import listed_names
from fairlab.text.reading import (
    SHOWN,
    bad_byte,
    bounded_lines,
    decoding,
    length_fault,
    read_json_file,
    refuse_columns,
    table_cells,
    text_stream,
)
from fairlab.text.sentences import SENTENCE_END, is_wrapped
from fairlab.types import DataUnavailable, FairlabError

TABLES = (".jsonl", ".json", ".csv", ".tsv", ".parquet")
FORMATS = (*TABLES, ".txt")
PROBED = 400  # lines of a text file examined to distinguish wrapped paragraphs from one text per line


@dataclass(frozen=True)
class BadRow:
    """Row that cannot be used, with its location and the reason, so that it can be reported."""

    place: str
    reason: str
    content: str
    split: str = ""


Fields = dict[str, Any]
Found = tuple[str, Fields] | BadRow  # location and fields of a row


def found_in(source: str, names: Sequence[str] = (), *, every_split: bool = False) -> Mapping[str, Iterator[Found]]:
    """Return the rows of a file, a folder or a hub dataset, by split.

    Args:
        source: Source as for :func:`fairlab.data.stream.rows.read_rows`, except a task.
        names: Required columns, which are checked if the file lists its columns.
        every_split: Whether to read all splits if no split is named.
    """
    path = Path(source)
    if saved_folder(source) is not None:
        return _of_data_sets(source, names, every_split)
    if path.is_dir():
        return {"": _folder(input_files(path))}
    if not path.is_file():
        if path.suffix.lower() in FORMATS:
            raise DataUnavailable(
                f"{source} is not a file; give one ending in {', '.join(FORMATS)}, or a folder of .txt files"
            )
        return _of_data_sets(source, names, every_split)
    readers = {
        ".jsonl": lambda path: json_of(_lines(path)),
        ".json": lambda path: _json_file(path, names),
        ".csv": lambda path: _separated(path, ",", names),
        ".tsv": lambda path: _separated(path, "\t", names),
        ".parquet": lambda path: _parquet(path, names),
        ".txt": _plain_text,
    }
    if path.suffix.lower() not in readers:
        raise FairlabError(f"{source} has an unknown ending; give a file ending in {', '.join(FORMATS)}")
    return {"": readers[path.suffix.lower()](path)}


def input_files(folder: Path) -> list[Path]:
    """Return the .txt files of a folder, sorted by name.

    Raises:
        DataUnavailable: The folder holds no .txt file.
        FairlabError: A link leads out of the folder.
    """
    check_folder(folder)
    files = sorted(path for path in folder.glob("*.txt") if path.is_file())
    if not files:
        raise DataUnavailable(
            f"the folder {folder} holds no .txt file, and was not written by save_to_disk; "
            "give a folder of one of these kinds, or a file"
        )
    return files


def _folder(files: list[Path]) -> Iterator[Found]:
    for file in files:
        for item in _plain_text(file):
            if isinstance(item, BadRow):
                yield replace(item, place=f"{file.name}, {item.place}")
            else:
                yield f"{file.name}, {item[0]}", item[1]


def _lines(path: Path) -> Iterator[tuple[int, str | BadRow]]:
    """Yield the numbered lines of a file, as :func:`numbered` does."""
    with path.open("rb") as file, decoding(path):
        yield from numbered(file)


def numbered(file: BinaryIO) -> Iterator[tuple[int, str | BadRow]]:
    """Yield lines with their numbers. A line that is not text or is too long becomes a bad row."""
    lines = text_stream(file)
    try:
        for number, line in enumerate(bounded_lines(lines), start=1):
            reason = length_fault(line)
            if not reason and (byte := bad_byte(line)) is not None:
                reason = f"not UTF-8 (byte {byte} of the line); save the file as UTF-8"
            yield number, (BadRow(f"line {number}", reason, _shown(line)) if reason else line.removesuffix("\n"))
    finally:
        lines.detach()  # the stream belongs to the caller


def _shown(text: str) -> str:
    """Return the beginning of a bad row, with replacement characters for undecodable bytes."""
    return text[:SHOWN].encode("utf-8", errors="surrogateescape").decode("utf-8", errors="replace")


def _json_file(path: Path, names: Sequence[str] = ()) -> Iterator[Found]:
    """Yield the rows of a .json file, which contains a list of objects, an object with such a list, or JSON lines.

    Raises:
        FairlabError: The file is not JSON, or contains an object with several lists of objects, or with columns.
    """
    with path.open("rb") as file, decoding(path), text_stream(file) as text:
        whole = text.read(PROBED).lstrip().startswith("[")
    if not whole and not _is_one_object(path):
        yield from json_of(_lines(path))
        return
    content = read_json_file(path, "fix it, or write JSON lines")
    rows = content if isinstance(content, list) else _rows_of_object(path, content, names)
    for number, row in enumerate(rows, start=1):
        if isinstance(row, dict):
            yield f"row {number}", row
        else:
            yield BadRow(f"row {number}", f"a JSON object was expected, not {type(row).__name__}", str(row)[:SHOWN])


def _is_one_object(path: Path) -> bool:
    """Return whether a file contains a single object instead of JSON lines.

    This is true if there is only one line, or if the first two lines are parts of an object.
    """
    lines = (line for _, line in _lines(path) if isinstance(line, BadRow) or line.strip())
    first = list(islice(lines, 2))
    return len(first) == 1 or not any(isinstance(item, tuple) for item in json_of(enumerate(first, start=1)))


def _rows_of_object(path: Path, content: Any, names: Sequence[str]) -> list[Any]:
    """Return the rows in an object: its only list of objects or, if it has none, the object itself."""
    if not isinstance(content, dict) or (names and all(name.partition(".")[0] in content for name in names)):
        lists = {}
    else:
        lists = {
            name: value
            for name, value in content.items()
            if isinstance(value, list) and value and all(isinstance(row, dict) for row in value)
        }
    if len(lists) > 1:
        raise FairlabError(f"{path} holds several lists of rows ({listed_names(lists)}); write one of them to a file")
    if isinstance(content, dict) and content and all(map(_is_column, content.values())) and not lists:
        raise FairlabError(
            f"{path} holds columns ({listed_names(content)}) instead of rows; write a list of objects, as pandas does "
            "by to_json(FILE, orient='records')"
        )
    return next(iter(lists.values()), [content])


def _is_column(value: object) -> bool:
    """Return whether a value is a column in one of the forms of pandas: a list, or an object with row numbers."""
    if isinstance(value, list):
        return not any(isinstance(cell, dict) for cell in value)
    return isinstance(value, dict) and "0" in value


def json_of(lines: Iterable[tuple[int, str | BadRow]]) -> Iterator[Found]:
    """Parse numbered lines, and yield JSON objects with their locations."""
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


def _separated(path: Path, delimiter: str, names: Sequence[str] = ()) -> Iterator[Found]:
    """Yield the rows of a CSV or TSV file with a header."""
    with path.open("rb") as file, decoding(path), text_stream(file, newline="") as text:
        rows = table_cells(text, path, delimiter)
        _, header = next(rows, (0, []))
        if header:
            refuse_lacking(names, header, str(path))
        for number, cells in rows:
            place, content = f"line {number}", delimiter.join(cells)
            if bad_byte(content) is not None:
                yield BadRow(place, "not UTF-8; save the file as UTF-8", _shown(content))
            elif len(cells) != len(header):
                columns = "1 column" if len(cells) == 1 else f"{len(cells)} columns"
                yield BadRow(place, f"{columns}, but the header has {len(header)}", content[:SHOWN])
            else:
                yield place, dict(zip(header, cells, strict=True))


def refuse_lacking(names: Sequence[str], columns: Sequence[str], source: str) -> None:
    """Raise an error if a required column is missing. The name ``input.text`` requires the column ``input``.

    Raises:
        FairlabError: A column is missing. The message lists the existing columns.
    """
    if lacking := [name for name in names if name not in columns and name.partition(".")[0] not in columns]:
        joined = len(columns) == 1 and any(sign in str(columns[0]) for sign in (";", "\t", "|"))
        remedy = "separate its cells by commas, or by tabs in a .tsv file" if joined else "give field=NAME"
        raise FairlabError(f"{source} has no column '{lacking[0]}'; it has: {listed_names(columns)}; {remedy}")


def _parquet(path: Path, names: Sequence[str] = ()) -> Iterator[Found]:
    import pyarrow
    from pyarrow import parquet

    try:
        file = parquet.ParquetFile(path)
        refuse_columns(file.schema_arrow.names, str(path))
        refuse_lacking(names, file.schema_arrow.names, str(path))
        batches = file.iter_batches(batch_size=1024)
        rows = (row for batch in batches for row in batch.to_pylist())
        yield from ((f"row {number}", row) for number, row in enumerate(rows, start=1))
    except (pyarrow.ArrowException, OSError, UnicodeDecodeError) as error:
        reason = " ".join(str(error).split())[:SHOWN]
        raise FairlabError(f"{path} is not a Parquet file, or it is damaged: {reason}") from error


def _plain_text(path: Path) -> Iterator[Found]:
    lines = book_lines(_lines(path), itemgetter(1))
    first = list(islice(lines, PROBED))
    lines = chain(first, lines)
    if not is_wrapped([line for _, line in first if isinstance(line, str)], long=True):
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


def _of_data_sets(source: str, names: Sequence[str], every_split: bool) -> dict[str, Iterator[Found]]:
    """Return the rows of a saved dataset or a hub dataset, by split."""
    found = opened(source)
    chosen = found if every_split else one_split(source, found)
    for rows in chosen.values():
        if rows.features is not None:
            refuse_lacking(names, list(rows.features), source)
    return {split: _of_data_set(source, rows) for split, rows in chosen.items()}


def _of_data_set(source: str, rows: Iterable[Fields]) -> Iterator[Found]:
    try:
        yield from ((f"row {number}", dict(row)) for number, row in enumerate(rows, start=1))
    except (OSError, ValueError) as error:  # an underlying file is no longer available, or is damaged
        raise DataUnavailable(f"{source} cannot be read any further: {' '.join(str(error).split())[:SHOWN]}") from error
