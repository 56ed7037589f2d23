"""Texts that are labelled for harms and identity subgroups, and code shared by their readers.

Source: Sturman et al. 2024, "Debiasing Text Safety Classifiers through a Fairness-Aware Ensemble".
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from fairlab.data.stream.manifest import data_files
from fairlab.text.labels import as_written
from fairlab.text.reading import read_json_lines
from fairlab.types import FairlabError

TAXONOMY = yaml.safe_load(Path(__file__).with_name("safety.yaml").read_text(encoding="utf-8"))
CATEGORIES: dict[str, list[str]] = TAXONOMY["categories"]
HARMS: tuple[str, ...] = tuple(TAXONOMY["harms"])
SUBGROUPS = [f"{category}:{name}" for category, names in CATEGORIES.items() for name in names]
INJECTED = "identity"  # augmentation that made a row from a seed
NONE = "--"  # marks a text without a subgroup in the published seeds


@dataclass(frozen=True)
class SafetyText:
    """Text with its safety labels.

    Attributes:
        text: Text to score, which is never printed.
        key: Name of the text's counterfactual set, which is the same for all versions of a seed text.
        subgroup: Subgroup that the text is about, as ``category:subgroup``; empty if there is no subgroup.
        labels: Label 0 (safe) or 1 (unsafe) for each harm that was annotated.
        seed: Whether the text occurs in the data itself; False for a version made from a seed text.
        kind: Kind of text for which the authors report separate results, such as a functionality of HateCheck; empty if
            there is none.
    """

    text: str
    key: str
    subgroup: str
    labels: Mapping[str, int]
    seed: bool = True
    kind: str = ""

    @property
    def category(self) -> str:
        """Return the identity category of the subgroup, or an empty string if there is no subgroup."""
        return self.subgroup.partition(":")[0]


def json_rows(file: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the locations and rows of JSON lines, from a file or an output folder of ``fairlab.augment``."""
    for part in data_files(file) if file.is_dir() else [file]:
        for place, row in read_json_lines(part):
            if not isinstance(row, dict):
                raise FairlabError(f"{place} is {type(row).__name__}, not a JSON object; write one object per line")
            yield place, row


def is_seed(row: Mapping[str, Any]) -> bool:
    """Return whether a row is an original text instead of a version made by an augmentation."""
    return row.get("augmentation") != INJECTED


def binary_label(value: object, place: str) -> int:
    """Convert a label to 0 or 1; raise FairlabError for any other label."""
    if (written := as_written(value)) not in ("0", "1"):
        raise FairlabError(f"{place}: a label must be 0 (harmless) or 1 (harmful), not '{value}'; correct it")
    return int(written)


def known_subgroup(subgroup: str, place: str) -> str:
    """Check a subgroup and return it, or return an empty string if there is no subgroup.

    Raises:
        FairlabError: The subgroup is not listed in the paper's table 2.
    """
    if subgroup in ("", NONE):
        return ""
    if subgroup not in SUBGROUPS:
        raise FairlabError(f"{place}: unknown subgroup '{subgroup}'; there are: {', '.join(SUBGROUPS)}, or {NONE}")
    return subgroup
