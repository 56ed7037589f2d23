"""Reader of the Winogender schemas, as counterfactual groups or as sentences with a pronoun.

Source: Rudinger et al. 2018, "Gender Bias in Coreference Resolution"; 720 sentences, 240 groups that differ only in a
pronoun (male, female, neutral). The dataset is never used for training.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from fairlab.data.published.pronouns import PronounSentence, by_pronouns, differing_words, sentence_with_pronouns
from fairlab.text.reading import read_table_rows
from fairlab.types import NEUTRAL, FairlabError, Group

VERSIONS = {"neutral": NEUTRAL, "male": "man", "female": "woman"}


def read_winogender(path: Path) -> list[Group]:
    """Read groups in file order from ``all_sentences.tsv`` (columns sentid, sentence).

    Raises:
        FairlabError: A sentence id is malformed, or a group lacks a version.
    """
    groups: dict[str, dict[str, str]] = {}
    columns, otherwise = ("sentid", "sentence"), "is it Winogender's all_sentences.tsv?"
    for number, row in read_table_rows(path, "\t", columns, otherwise):
        if "sentence" not in row:
            raise FairlabError(f"{path} line {number} has no sentence; {otherwise}")
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


@dataclass(frozen=True)
class Schema:
    """Three versions of a sentence about a person with an occupation and another person.

    Attributes:
        id: ``<occupation>.<other participant>.<referent of the pronoun>``.
        occupation: Name of the occupation, one of 60.
        of_occupation: Whether the pronoun refers to the person with that occupation, and not to the other participant.
        male: Version with he, him or his.
        female: Version with she or her.
        neutral: Version with they, them or their; the following verb agrees with the pronoun if necessary.
    """

    id: str
    occupation: str
    of_occupation: bool
    male: PronounSentence
    female: PronounSentence
    neutral: PronounSentence


def schemas(groups: Sequence[Group]) -> list[Schema]:
    """Convert the groups from :func:`read_winogender` to schemas with the positions of their pronouns.

    Raises:
        FairlabError: An id is malformed, or the versions of a group do not differ in one pronoun.
    """
    found = []
    for group in groups:
        occupation, _, referent = group.id.split(".") if group.id.count(".") == 2 else ("", "", "")
        texts = group.versions
        pair = by_pronouns(texts["man"], texts["woman"])
        indices = differing_words(texts["man"], texts["woman"])
        if (
            referent not in ("0", "1")
            or pair is None
            or indices[0] not in differing_words(texts["man"], texts[NEUTRAL])
        ):
            raise FairlabError(f"Winogender: the three versions of '{group.id}' must differ in one pronoun only")
        neutral = sentence_with_pronouns(texts[NEUTRAL], indices)
        found.append(Schema(group.id, occupation, referent == "0", *pair, neutral))
    return found


def read_occupation_statistics(path: Path) -> dict[str, float]:
    """Read the percentage of women per occupation in the United States from ``occupations-stats.tsv`` (bls_pct_female).

    Raises:
        FairlabError: A column is missing, or a value is not a number from 0 to 100.
    """
    shares = {}
    for number, row in read_table_rows(path, "\t"):
        try:
            share = float(row["bls_pct_female"])
            shares[row["occupation"]] = share
        except (KeyError, ValueError) as error:
            raise FairlabError(f"{path} line {number} lacks occupation or bls_pct_female") from error
        if not 0 <= share <= 100:
            raise FairlabError(f"{path} line {number}: bls_pct_female is {share}, not from 0 to 100")
    return shares
