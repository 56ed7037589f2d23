"""CrowS-Pairs: pairs of sentences about different groups, one of them more stereotyping.

Source: Nangia et al. 2020, "CrowS-Pairs: A Challenge Dataset for Measuring Social Biases in Masked Language Models";
1,508 pairs of nine bias types. The data are noisy (Blodgett et al. 2021, "Stereotyping Norwegian Salmon"), as the
authors also warn. The dataset is never used for training.
"""

from __future__ import annotations

import re
from collections.abc import Container, Sequence
from dataclasses import dataclass
from pathlib import Path

from fairlab.text.reading import read_table_rows
from fairlab.types import FairlabError

COLUMNS = ("sent_more", "sent_less", "stereo_antistereo", "bias_type")
# bias type -> pairs in the published file
PUBLISHED = {
    "race_color": 516,
    "gender": 262,
    "socioeconomic": 172,
    "nationality": 159,
    "religion": 105,
    "age": 87,
    "sexual_orientation": 84,
    "physical_appearance": 63,
    "disability": 60,
}
DIRECTIONS = {"stereo": True, "antistereo": False}


@dataclass(frozen=True)
class CrowsPair:
    """Minimal pair of sentences.

    Attributes:
        id: Id of the row, unique within the file.
        more: Sentence that stereotypes more, in either direction.
        less: Sentence that stereotypes less.
        stereotype: Whether ``more`` expresses a stereotype; otherwise ``less`` contradicts one.
        bias_type: Bias type; in the published file, a key of :data:`PUBLISHED`.
    """

    id: str
    more: str
    less: str
    stereotype: bool
    bias_type: str


def read_crows_pairs(path: Path, types: Container[str] | None = tuple(PUBLISHED)) -> list[CrowsPair]:
    """Read pairs in file order from ``crows_pairs_anonymized.csv``. The unnamed first column is the id.

    Args:
        path: Path of the file, or of a custom file with the same columns.
        types: Allowed bias types; None allows all types in the file.

    Raises:
        FairlabError: A row lacks a field or has an unknown bias type or direction. The message names the line.
    """
    pairs: list[CrowsPair] = []
    for number, row in read_table_rows(path):
        if not all(row.get(column) for column in COLUMNS):
            raise FairlabError(f"{path} line {number} lacks one of {', '.join(COLUMNS)}; is it CrowS-Pairs?")
        bias_type, direction = row["bias_type"].replace("-", "_"), row["stereo_antistereo"]
        if (types is not None and bias_type not in types) or direction not in DIRECTIONS:
            raise FairlabError(
                f"{path} line {number}: bias_type '{row['bias_type']}' or stereo_antistereo '{direction}' "
                f"is unknown; the known values are {', '.join(PUBLISHED)}, and stereo or antistereo"
            )
        name = row.get("") or str(len(pairs))
        pairs.append(CrowsPair(name, row["sent_more"], row["sent_less"], DIRECTIONS[direction], bias_type))
    if not pairs:
        raise FairlabError(f"{path} holds no pair; is it CrowS-Pairs?")
    return pairs


def irregular_pairs(pairs: Sequence[CrowsPair]) -> dict[str, str]:
    """Return the reason for not scoring each irregular pair, by its id.

    A pair is irregular if its sentences are equal up to case or share no word, or if it repeats another pair.
    """
    found = {}
    first: dict[frozenset[str], str] = {}
    for pair in pairs:
        sentences = frozenset((pair.more.casefold(), pair.less.casefold()))
        if pair.more == pair.less:
            found[pair.id] = "its two sentences are identical"
        elif len(sentences) == 1:
            found[pair.id] = "its two sentences are equal up to case"
        elif not _words(pair.more) & _words(pair.less):
            found[pair.id] = "its two sentences share no word"
        elif sentences in first:
            found[pair.id] = f"it repeats pair {first[sentences]}"
        first.setdefault(sentences, pair.id)
    return found


def _words(text: str) -> set[str]:
    return set(re.findall(r"\w+", text.casefold()))
