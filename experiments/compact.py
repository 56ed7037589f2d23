"""Compression of the records of finished runs, so that they are small enough to be committed.

    python experiments/compact.py FOLDER...

Every ``record.json`` in a folder becomes ``record.json.xz``, which is read like a plain record. Readings, comparisons
and history are rounded to six significant digits. All validations and rounds are kept, the first and last 50 training
steps, and at most 50 steps between them, evenly spread. Other files of a run are unchanged. ``metrics.json`` follows
from the record and is not committed; items are committed only if a page's comparison is computed from them. Hashes of
single data files are left out if the record has a hash of all of them.
"""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Sequence
from decimal import Context, Decimal
from pathlib import Path
from typing import Any

from fairlab.files import COMPACT, PLAIN, compressed, replaced_when_written, run_folders
from fairlab.record import Record
from fairlab.types import FairlabError

DIGITS = 6  # number of significant digits
SHORT = Context(prec=DIGITS)
ENDS, BETWEEN = 50, 50  # training steps kept: at either end, and at most between
ROUNDED = ("readings", "comparisons", "history")


def compact(folder: Path) -> None:
    """Replace the record of a finished run by a compressed one.

    Raises:
        FairlabError: the record is damaged, or the run is not finished.
    """
    record = Record.load(folder)
    if record.status != "finished":
        raise FairlabError(f"the run in {folder} is {record.status}; finish it before its record is kept")
    if not (folder / PLAIN).exists():
        return
    content = json.loads((folder / PLAIN).read_text(encoding="utf-8"))
    content["history"] = thinned(content.get("history", []))
    content |= {name: rounded(content[name]) for name in ROUNDED if name in content}
    drop_file_hashes(content)
    write_compact(folder, content)


def write_compact(folder: Path, content: dict[str, Any]) -> None:
    """Write a compressed record, with the same bytes for the same content, and remove the plain record."""
    text = json.dumps(content, indent=1, ensure_ascii=False, allow_nan=False) + "\n"  # in lines, for ``git diff``
    with replaced_when_written(folder / COMPACT) as temporary:
        temporary.write_bytes(compressed(text))
    (folder / PLAIN).unlink(missing_ok=True)


def drop_file_hashes(content: dict[str, Any]) -> None:
    """Remove the hashes of single data files from a record that has a hash of all of them."""
    data = content.get("provenance", {}).get("data", {})
    if "sha256" in data:
        data.pop("files", None)


def thinned(history: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Remove training steps from the middle of a history, so that the remaining ones are evenly spread."""
    steps = [place for place, row in enumerate(history) if any(name.startswith("train/") for name in row)]
    middle = steps[ENDS:-ENDS]
    stride = max(1, math.ceil(len(middle) / BETWEEN))
    dropped = set(middle) - set(middle[::stride])
    return [row for place, row in enumerate(history) if place not in dropped]


def rounded(value: Any) -> Any:
    """Round all floats in plain containers to :data:`DIGITS` significant digits.

    Integers are unchanged.
    """
    match value:
        case dict():
            return {key: rounded(item) for key, item in value.items()}
        case list():
            return [rounded(item) for item in value]
        case float():
            return shortened(value)
    return value


def shortened(value: float) -> float:
    """Round a number to :data:`DIGITS` significant digits so that rounding it further gives the correct result.

    The last digit is 0 or 5 only if the number ends there. Otherwise, rounding twice would round some numbers up that
    are just below a half.

    Example:
        >>> shortened(1.0574962), shortened(0.25), shortened(0.061414996)
        (1.05749, 0.25, 0.0614149)
    """
    exact = Decimal(f"{value:.12g}")  # without the noise of binary fractions
    near = SHORT.create_decimal(exact)
    return float(SHORT.next_toward(near, exact) if near != exact and near.as_tuple().digits[-1] in (0, 5) else near)


def main(folders: Sequence[str]) -> None:
    """Compress all records in the folders."""
    if not folders:
        raise SystemExit(__doc__)
    found = [run for folder in folders for run in run_folders(Path(folder))]
    try:
        for run in found:
            compact(run)
    except FairlabError as error:
        raise SystemExit(str(error)) from error
    print(f"{len(found)} records, {sum((run / COMPACT).stat().st_size for run in found):,} bytes")


if __name__ == "__main__":
    main(sys.argv[1:])
