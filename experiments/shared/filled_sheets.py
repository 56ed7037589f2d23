"""Statistics of sheets on which people annotated perturbed rows.

Source: Qian et al. 2022, "Perturbation Augmentation for Fairer NLP", appendices E and J, tables 8 and 9.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from experiments.shared.compressed_sheets import rows_of
from fairlab.metrics.significance import wilson_interval
from fairlab.reporting.reading_sheet import JUDGED, LABEL, SHEET, TAGS
from fairlab.text.reading import read_table_rows
from fairlab.types import DataUnavailable, FairlabError

TRUE, FALSE = ("1", "x", "yes", "true"), ("", "0", "no", "false")


def read_sheet(path: Path) -> list[dict[str, str]]:
    """Read the rows of a filled sheet, which may be compressed as ``.csv.xz``.

    Raises:
        DataUnavailable: The file does not exist.
        FairlabError: A column is missing, or the cell of a tag contains something other than x.
    """
    if not path.is_file():
        raise DataUnavailable(
            f"{path} is not a file; give an {SHEET} that fairlab.augment wrote and a person filled in"
        )
    found = list(enumerate(rows_of(path), 2) if path.suffix == ".xz" else read_table_rows(path))
    for number, row in found:
        if missing := [name for name in ("id", LABEL, JUDGED, *TAGS) if row.get(name) is None]:
            raise FairlabError(f"{path} line {number} has no column '{missing[0]}'; keep those of {SHEET}")
        for tag in TAGS:
            if row[tag].strip().lower() not in TRUE + FALSE:
                raise FairlabError(f"{path} line {number} has '{row[tag]}' under '{tag}'; put x, or leave it empty")
    return [row for _, row in found]


def label_agreement(rows: Sequence[dict[str, str]]) -> tuple[int, int, float, float]:
    """Return how many labels a person judged as unchanged, how many were judged, and the bounds of a 95 % interval.

    It is the Wilson interval of the proportion of unchanged labels. Source: appendix J.
    """
    judged = [row for row in rows if row[JUDGED].strip()]
    kept = sum(row[JUDGED].strip().lower() == row[LABEL].strip().lower() for row in judged)
    return kept, len(judged), *wilson_interval(kept, len(judged))


def tag_rates(first: Sequence[dict[str, str]], second: Sequence[dict[str, str]]) -> dict[str, tuple[float, float]]:
    """Return, for each tag, the proportion of rows to which either annotator gave it, and the annotators' agreement.

    Raises:
        FairlabError: The two sheets contain different rows.

    Source: table 9.
    """
    if not first or [row["id"] for row in first] != [row["id"] for row in second]:
        raise FairlabError("the two sheets must hold the same rows in the same order, and at least one")
    rates = {}
    for tag in TAGS:
        pairs = [
            (one[tag].strip().lower() in TRUE, two[tag].strip().lower() in TRUE)
            for one, two in zip(first, second, strict=True)
        ]
        rates[tag] = (sum(map(any, pairs)) / len(pairs), sum(one == two for one, two in pairs) / len(pairs))
    return rates
