"""Escaping of text from data files, so that it is safe to show in terminals and spreadsheets."""

from __future__ import annotations

import csv
import io
import re
import sys
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # importing pandas takes a second
    import pandas

# Control characters (including Latin-1) except line feed and tab; characters that change the writing direction.
HARMFUL = re.compile("[\0-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n")  # first characters of cells that are treated as formulas
QUOTE = "'"


def printable(text: str) -> str:
    r"""Escape the control characters of a text, so that it is safe to show in a terminal.

    Example:
        >>> print(printable("a\x1b[2Jb"))
        a\x1b[2Jb
    """
    return HARMFUL.sub(lambda found: found[0].encode("unicode_escape").decode(), text)


def print_escaped(*lines: object, error: bool = False) -> None:
    """Print lines with escaped control characters, to standard error if ``error``, as all output of the package."""
    for line in lines:
        print(printable(str(line)), file=sys.stderr if error else sys.stdout, flush=True)


def utf8(value: Any) -> Any:
    r"""Return a text in which unpaired surrogates, which UTF-8 cannot encode, are escapes such as ``\ud800``.

    Values other than texts are returned unchanged.
    """
    return value.encode("utf-8", errors="backslashreplace").decode() if isinstance(value, str) else value


def frame_of(rows: Iterable[Mapping[str, Any]], columns: Sequence[str] | None = None) -> pandas.DataFrame:
    """Return rows as a DataFrame whose texts and column names are valid UTF-8, as Arrow requires.

    The columns are by default the keys of the rows.
    """
    import pandas

    whole = [{utf8(name): utf8(value) for name, value in row.items()} for row in rows]
    return pandas.DataFrame(whole, columns=None if columns is None else list(map(utf8, columns)))


def csv_cell(value: Any) -> Any:
    """Put a quote before a text that looks like a formula, so that spreadsheet programs do not execute it.

    Values other than texts are returned unchanged. If quotes precede the formula sign, one more quote is added, so that
    :func:`csv_text` restores every text exactly. Full-width signs are also treated as formula signs, because some
    programs do so.

    Source: https://owasp.org/www-community/attacks/CSV_Injection

    Example:
        >>> csv_cell("=1+1"), csv_cell("a=b"), csv_cell("'=1")
        ("'=1+1", 'a=b', "''=1")
    """
    return f"{QUOTE}{value}" if isinstance(value, str) and _is_formula(value.lstrip(QUOTE)) else value


def as_csv(rows: Iterable[Iterable[Any]]) -> str:
    """Return rows as the text of a CSV file. Cells are not changed; see :func:`csv_cell`."""
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(rows)
    return text.getvalue()


def csv_text(cell: str) -> str:
    """Return the original text of a cell that :func:`csv_cell` returned.

    Example:
        >>> [csv_text(csv_cell(text)) for text in ("=1+1", "'=1", "'s")]
        ['=1+1', "'=1", "'s"]
    """
    return cell.removeprefix(QUOTE) if _is_formula(cell.lstrip(QUOTE)) else cell


def _is_formula(text: str) -> bool:
    first = text.lstrip(" ")[:1]
    return unicodedata.normalize("NFKC", first).startswith(FORMULA) if first else False
