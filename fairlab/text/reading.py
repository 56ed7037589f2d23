"""Reader of text files that were not written by fairlab: encodings, line endings, tables, JSON and YAML.

A text file is UTF-8, with or without a byte-order mark, or UTF-16 with one. A line ends at LF, CR LF or a lone CR.
Any other character, such as U+2028, U+0085 or a form feed, does not end a line.
"""

from __future__ import annotations

import codecs
import csv
import io
import lzma
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO, TextIO, cast

from fairlab.checks.foreign import parse_yaml, refuse_long_yaml
from fairlab.checks.json_text import from_json
from fairlab.text.naming import listed_names
from fairlab.types import FairlabError

LONGEST_LINE = 10_000_000  # bytes; a longer line is not line-based text, and too long to parse in one piece
MOST_SKIPPED = 100  # multiple of LONGEST_LINE to skip; a file of zeros without a line end may have any size
LONGEST_CELL = 16 << 20  # characters; a longer cell means that a quote was never closed
SHOWN = 200  # maximum number of characters shown of a foreign name
LONGEST_ROW = 4 * LONGEST_CELL
UTF_16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
ESCAPED = re.compile("[\udc80-\udcff]")  # bytes that are not UTF-8, as represented by surrogateescape
CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\ud800-\udfff]")
SURELY_UTF_8 = re.compile(rb"\xc3[\x80-\xbf]|\xe2\x80[\x80-\xbf]")  # accents and quotes, which are nonsense in Latin-1


def text_stream(file: BinaryIO, newline: str | None = None) -> io.TextIOWrapper:
    """Return a decoder for a byte stream, chosen by the byte-order mark.

    Bytes that are not UTF-8 become lone surrogates (:data:`ESCAPED`), so that a reader can name their line.

    Args:
        file: Stream at its start.
        newline: None converts every line end to LF; the empty string keeps line ends unchanged, for a CSV reader.
    """
    buffered: Any = file if hasattr(file, "peek") else io.BufferedReader(file)  # type: ignore[type-var]
    wide = buffered.peek(2)[:2] in UTF_16
    encoding, errors = ("utf-16", "strict") if wide else ("utf-8-sig", "surrogateescape")
    return io.TextIOWrapper(buffered, encoding=encoding, errors=errors, newline=newline)


def bad_byte(line: str) -> int | None:
    """Return the zero-based position of the first byte in a line that is not UTF-8, or None if all bytes are UTF-8."""
    found = ESCAPED.search(line)
    return None if found is None else len(line[: found.start()].encode("utf-8", errors="surrogateescape"))


def decompressed(path: Path) -> BinaryIO:
    """Open a file for reading; a file whose name ends in ``.xz`` is decompressed."""
    return cast("BinaryIO", lzma.open(path)) if path.suffix == ".xz" else path.open("rb")


def text_lines(path: Path, *, latin_1: bool = False, name: str = "") -> Iterator[str]:
    """Yield the lines of a text file without their line ends.

    Only one line at a time is in memory.

    Args:
        path: File to read, which is decompressed if its name ends in ``.xz``.
        latin_1: Whether to read a file that is not UTF-8 as Latin-1, as old books are. The file must then not contain
            UTF-8 characters beyond ASCII, because it would have two encodings.
        name: Name of the file in messages; empty uses its path.

    Raises:
        FairlabError: The file contains a zero byte or bytes that are not text, has a line of over :data:`LONGEST_LINE`
            bytes, or has two encodings. The message names the line.
    """
    utf_8 = old = 0  # numbers of the first line that must be UTF-8 and of the first that is not
    with decompressed(path) as file, decoding(path), text_stream(file) as lines:
        for number, line in enumerate(bounded_lines(lines), start=1):
            refuse_bad_line(line, f"{name or path}, line {number}")
            byte = bad_byte(line)
            if byte is not None and not latin_1:
                raise FairlabError(
                    f"{name or path} line {number} is not UTF-8 text (byte {byte} of the line); save the file as UTF-8"
                )
            if latin_1 and not line.isascii():
                raw = line.encode("utf-8", errors="surrogateescape")
                utf_8 = utf_8 or number * bool(byte is None or SURELY_UTF_8.search(raw))
                old = old or number * (byte is not None)
                if utf_8 and old:
                    lines_of_both = f"line {utf_8} is UTF-8 and line {old} is not"
                    raise FairlabError(f"{name or path} has two encodings: {lines_of_both}; save it as UTF-8")
                line = line if byte is None else raw.decode("latin-1")
            yield line.removesuffix("\n")


def whole_text(path: Path) -> str:
    """Read a text file as one string with LF as its line end; see :func:`text_lines` for errors."""
    return "\n".join(text_lines(path))


def refuse_bad_line(line: str, place: str) -> None:
    """Raise FairlabError, which names the location, for a line that contains a zero byte or is too long."""
    if "\0" in line:
        raise FairlabError(f"{place} is not plain text (a byte is zero); save it as UTF-8")
    if fault := length_fault(line):
        raise FairlabError(f"{place} is {fault}, one per paragraph")


def length_fault(line: str) -> str:
    """Return the fault in a line's length, or an empty string if it has at most :data:`LONGEST_LINE` bytes in UTF-8."""
    if 4 * len(line) <= LONGEST_LINE or len(line.encode("utf-8", errors="surrogatepass")) <= LONGEST_LINE:
        return ""
    return f"longer than {LONGEST_LINE:,} bytes; break it into lines"


def bounded_lines(lines: TextIO) -> Iterator[str]:
    """Yield the lines of a stream with their ends. A line that is too long is truncated to its beginning.

    Raises:
        FairlabError: A line is so long that the stream cannot be text. If it has zero bytes, the limit is
            :data:`LONGEST_LINE`.
    """
    while line := lines.readline(LONGEST_LINE + 1):
        yield line
        skipped = 0
        while len(line) > LONGEST_LINE and not line.endswith("\n"):
            most = 0 if "\0" in line else MOST_SKIPPED
            line, skipped = lines.readline(LONGEST_LINE + 1), skipped + 1
            if skipped > most:
                raise FairlabError(
                    f"{getattr(lines, 'name', 'the input')} has a line of over {max(1, most) * LONGEST_LINE:,} "
                    "characters, as no file of texts has; break it into lines"
                )


@contextmanager
def decoding(path: Path) -> Iterator[None]:
    """Raise FairlabError, in one sentence, for bytes after a UTF-16 byte-order mark that are not UTF-16."""
    try:
        yield
    except UnicodeDecodeError as error:
        raise FairlabError(f"{path} begins as UTF-16 text but does not continue as such; save it as UTF-8") from error


def read_json_file(path: Path, remedy: str) -> Any:
    """Read a file that contains one JSON value.

    ``remedy`` ends the message about a file that is not JSON.

    Raises:
        FairlabError: The file is not text or not JSON, or an object in it has a key twice.
    """
    try:
        return from_json(whole_text(path))
    except ValueError as error:
        raise FairlabError(f"{path} is not JSON ({error}); {remedy}") from error


def read_yaml_text(path: Path, otherwise: str = "is not YAML") -> Any:
    """Return the parsed content of a YAML file, without constructing Python objects.

    The file may have any encoding that is allowed for text files. ``otherwise`` describes the fault in the message
    about a file that is not valid YAML.

    Raises:
        FairlabError: The file is too large, is not text, or is refused by :func:`fairlab.checks.foreign.parse_yaml`.
    """
    refuse_long_yaml(path.stat().st_size, path)
    return parse_yaml(whole_text(path), path, otherwise)


def read_json_lines(path: Path) -> Iterator[tuple[str, Any]]:
    """Yield the location and the value of every non-blank line of a JSON Lines file.

    Raises:
        FairlabError: A line is not text or not JSON, or an object in it has a key twice. The message names the line.
    """
    for number, line in enumerate(text_lines(path), start=1):
        if line.strip():
            try:
                yield f"{path} line {number}", from_json(line)
            except ValueError as error:
                raise FairlabError(f"{path} line {number} is not JSON ({error}); write one object per line") from error


def table_cells(file: TextIO, path: Path, delimiter: str) -> Iterator[tuple[int, list[str]]]:
    """Yield the line number and the cells of every non-blank row of a table, including the header.

    The fields of a tab-separated table are not quoted, as in GLUE.

    Args:
        file: Decoder that keeps line ends unchanged.
        path: Path of the file, for messages.
        delimiter: Comma or tab.

    Raises:
        FairlabError: A quote is never closed, a line is too long for a table, or the header is bad; see
            :func:`refuse_columns`.
    """
    csv.field_size_limit(LONGEST_CELL)
    quoted = delimiter != "\t"
    reader = csv.reader(
        _bounded_rows(file, path), delimiter=delimiter, quoting=csv.QUOTE_MINIMAL if quoted else csv.QUOTE_NONE
    )
    first = True
    try:
        for cells in reader:
            if cells:
                if first:
                    refuse_columns(cells, str(path))
                first = False
                yield reader.line_num, cells
    except csv.Error as error:
        raise FairlabError(
            f"{path} cannot be read after line {reader.line_num} ({error}); perhaps a quote is not closed"
        ) from error


def _bounded_rows(file: TextIO, path: Path) -> Iterator[str]:
    """Yield the lines of a table, and raise an error for a line that is too long.

    A truncated line of a table would be useless, unlike a truncated line of text.
    """
    while line := file.readline(LONGEST_ROW + 1):
        if len(line) > LONGEST_ROW:
            raise FairlabError(f"{path} has a line of over {LONGEST_ROW:,} characters, as no table has; break it")
        yield line


def read_table_rows(
    path: Path, delimiter: str = ",", columns: Sequence[str] = (), otherwise: str = ""
) -> Iterator[tuple[int, dict[str, str]]]:
    """Yield the line number and the cells by column name of every row of a table with a header.

    A row that ends early lacks its last columns. Cells beyond the header are ignored.

    Args:
        path: Path of the file.
        delimiter: Comma or tab.
        columns: Required column names.
        otherwise: End of the message about a header that lacks a required name; empty lists the columns instead.

    Raises:
        FairlabError: The file is not text or not a table, or its header is bad or lacks a column. The message names the
            file.
    """
    with path.open("rb") as file, decoding(path), text_stream(file, newline="") as lines:
        rows = map(partial(_refuse_bad_cells, path), table_cells(lines, path, delimiter))
        _, header = next(rows, (0, []))
        if missing := [name for name in columns if name not in header]:
            has = f"it has: {listed_names(header)}" if header else "it is empty"
            raise FairlabError(f"{path} has no column '{missing[0]}'; {otherwise or has}")
        for number, cells in rows:
            yield number, dict(zip(header, cells, strict=False))


def _refuse_bad_cells(path: Path, row: tuple[int, list[str]]) -> tuple[int, list[str]]:
    for cell in row[1]:
        refuse_bad_line(cell, f"{path}, line {row[0]}")
        if bad_byte(cell) is not None:
            raise FairlabError(f"{path} line {row[0]} is not UTF-8 text; save the file as UTF-8")
    return row


def refuse_columns(names: Sequence[str], source: str) -> None:
    """Raise FairlabError if a column's name occurs twice, or has a control character or bytes that are not text.

    Columns without a name may be repeated.
    """
    if repeated := [name for name, count in Counter(names).items() if name and count > 1]:
        raise FairlabError(f"{source} has the column '{repeated[0]}' more than once; rename or remove one of them")
    if unreadable := [name for name in names if CONTROL.search(name)]:
        raise FairlabError(
            f"{source} has a column named {ascii(unreadable[0])[:SHOWN]}, with a character that is not text; rename it"
        )
