"""Reader of STS-B, sentence pairs rated for semantic similarity.

Source: Cer et al. 2017, "SemEval-2017 Task 1", in the file format of GLUE: ten tab-separated columns, unquoted.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from fairlab.text.reading import read_table_rows
from fairlab.types import FairlabError


@dataclass(frozen=True)
class ScoredPair:
    """Two sentences with a human similarity rating from 0 to 5."""

    first: str
    second: str
    score: float


def read_sts(path: Path) -> list[ScoredPair]:
    """Read pairs in file order.

    Raises:
        FairlabError: A row lacks a sentence or a score. The message names the line.
    """
    pairs = []
    for number, row in read_table_rows(path, "\t"):
        try:
            pairs.append(ScoredPair(row["sentence1"], row["sentence2"], float(row["score"])))
        except (KeyError, ValueError) as error:
            raise FairlabError(
                f"{path} line {number} lacks sentence1, sentence2 or a score; is it STS-B's dev.tsv?"
            ) from error
    if not pairs:
        raise FairlabError(f"{path} holds no sentence pair; is it STS-B's dev.tsv?")
    return pairs
