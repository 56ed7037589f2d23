"""Winogender schemas as counterfactual groups.

Source: Rudinger et al. 2018, "Gender Bias in Coreference Resolution"; 720 sentences, 240 groups that differ only in a
pronoun (male, female, neutral). Never used for training here.
"""

from __future__ import annotations

import csv
from pathlib import Path

from fairlab.types import NEUTRAL, FairlabError, Group

VERSIONS = {"neutral": NEUTRAL, "male": "man", "female": "woman"}


def read_winogender(path: Path) -> list[Group]:
    """Groups in file order from ``all_sentences.tsv`` (columns sentid, sentence).

    Raises:
        FairlabError: a sentence id is not of the form, or a group lacks a version.
    """
    groups: dict[str, dict[str, str]] = {}
    with path.open(encoding="utf-8", newline="") as file:
        rows = csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE)
        if not {"sentid", "sentence"} <= set(rows.fieldnames or ()):
            raise FairlabError(f"{path} has no columns sentid and sentence; is it Winogender's all_sentences.tsv?")
        for row in rows:
            schema, _, version = row["sentid"].removesuffix(".txt").rpartition(".")
            if version not in VERSIONS:
                raise FairlabError(f"{path}: the sentence id '{row['sentid']}' does not end in male, female or neutral")
            groups.setdefault(schema, {})[VERSIONS[version]] = row["sentence"]
    if not groups:
        raise FairlabError(f"{path} holds no sentence; fetch it again")
    for schema, versions in groups.items():
        if len(versions) != len(VERSIONS):
            raise FairlabError(f"{path}: {schema} lacks a version; it has {', '.join(versions)}")
    return [
        Group(schema, "gender", {name: versions[name] for name in VERSIONS.values()})
        for schema, versions in groups.items()
    ]
