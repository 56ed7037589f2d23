"""Sheet of an audit: a sample of pairs that a person checks, used to measure the errors of the rewriter.

The sheet has one row per sampled pair. The person writes ``yes`` or ``no`` in the column ``right`` and, for a wrong
rewrite, the correct text in the column ``corrected``. Corrected texts are also classified, which shows the changes in
predictions that the rewriter's errors hid or caused.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path

from fairlab.audit.pairs import Pair
from fairlab.checks.escapes import as_csv, csv_cell, csv_text
from fairlab.files import write_whole
from fairlab.text.fields import join_fields, split_fields
from fairlab.text.reading import read_table_rows
from fairlab.types import FairlabError

FILE = "rewrites.csv"
COLUMNS = ("id", "axis", "source", "target", "before", "after", "right", "corrected")
SHOWN = 60  # characters of an answer in messages
YES, NO = ("yes", "y", "1", "true", "x"), ("no", "n", "0", "false")


def drawn_for_sheet(pairs: Sequence[Pair], ids: Sequence[str], count: int) -> list[Pair]:
    """Sample pairs for a sheet by a hash of their texts, so that the sample is the same for every model."""
    order = sorted(pairs, key=lambda one: hashlib.sha256(f"{one.axis}:{one.before}:{ids[one.row]}".encode()).digest())
    return order[:count]


def write_rewrites(path: Path, drawn: Sequence[Pair], ids: Sequence[str]) -> None:
    """Write a sheet to be filled in."""
    rows: list[Sequence[str]] = [COLUMNS]
    for one in drawn:
        texts = [csv_cell(join_fields(fields)) for fields in (one.before, one.after)]
        rows.append([csv_cell(ids[one.row]), one.axis, one.source, one.target, *texts, "", ""])
    write_whole(path, as_csv(rows))


def read_rewrites(path: Path, pairs: Sequence[Pair]) -> list[tuple[Pair, list[str] | None]]:
    """Read a filled sheet, and return the checked pairs with the fields of the right rewrite.

    Rows without an answer are omitted. The fields are None if the rewrite is wrong and was not corrected.

    Raises:
        FairlabError: The sheet does not exist, has no answers, has an answer other than yes or no, or has pairs of
            another audit.
    """
    if not path.is_file():
        raise FairlabError(f"{path} is not a file; give a filled-in {FILE}, which sheet=100 writes")
    known = {(one.axis, one.target, join_fields(one.before), join_fields(one.after)): one for one in pairs}
    found: list[tuple[Pair, list[str] | None]] = []
    for line, row in read_table_rows(path, columns=COLUMNS):
        answer = row.get("right", "").strip().casefold()
        if not answer:
            continue
        if answer not in YES + NO:
            shown = ascii(answer)[:SHOWN]
            raise FairlabError(f"{path} line {line}: {shown} under 'right' is neither yes nor no; write yes or no")
        key = (row["axis"], row["target"], csv_text(row["before"]), csv_text(row["after"]))
        pair = known.get(key)
        if pair is None:
            raise FairlabError(
                f"{path} line {line} is not a pair of this audit; fill in the sheet of the same data and axes"
            )
        corrected = csv_text(row.get("corrected", "")).strip()
        if answer in YES:
            found.append((pair, pair.after))
        else:
            found.append((pair, split_fields(corrected, pair.before) if corrected else None))
    if not found:
        raise FairlabError(f"{path} has no answer under 'right'; write yes or no in its rows")
    return found
