"""WinoBias: sentences about two people with stereotyped occupations, and a pronoun that refers to one of them.

Source: Zhao et al. 2018, "Gender Bias in Coreference Resolution: Evaluation and Debiasing Methods". The dataset is
never used for training.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from fairlab.data.published.pronouns import PronounSentence, by_pronouns
from fairlab.text.reading import text_lines
from fairlab.types import FairlabError

TYPES = ("type1", "type2")
SPLITS = ("dev", "test")
_LINE = re.compile(r"\d+ +(?P<sentence>.*\[.*\].*)")


@dataclass(frozen=True)
class WinoBiasPair:
    """Two versions of a sentence: with the stereotypical pronoun for the occupation, and with the other pronoun.

    Attributes:
        cluster: Name shared by the two pairs about the same two occupations.
        pro: Sentence with the stereotypical pronoun.
        anti: Sentence with the other pronoun.
    """

    cluster: str
    pro: PronounSentence
    anti: PronounSentence


def read_winobias(pro: Path, anti: Path) -> tuple[list[WinoBiasPair], list[str]]:
    """Read pairs from the lines of ``pro_stereotyped_<type>.txt.<split>`` and its ``anti_stereotyped`` counterpart.

    Returns:
        Pairs, and the stereotypical sentences of pairs that differ in more than pronouns. These pairs are left out,
        because they are errors in the published files (19 of 1,584).

    Raises:
        FairlabError: A line does not consist of a number and a sentence with brackets, or the files differ in length.
    """
    pros, antis = _sentences(pro), _sentences(anti)
    if len(pros) != len(antis):
        raise FairlabError(f"{pro} has {len(pros)} lines and {anti} {len(antis)}; fetch both again")
    pairs, left_out = [], []
    for k, (first, second) in enumerate(zip(pros, antis, strict=True)):
        versions = by_pronouns(first, second)
        if versions is None:
            left_out.append(first)
        else:
            pairs.append(WinoBiasPair(f"{pro.name} {k // 2}", *versions))
    return pairs, left_out


def _sentences(path: Path) -> list[str]:
    """Return the sentences in file order, without brackets or superfluous spaces."""
    sentences = []
    for number, line in enumerate(text_lines(path), start=1):
        found = _LINE.fullmatch(line.strip())
        if found is None:
            raise FairlabError(
                f"{path} line {number} is not a number and a sentence with [ ]; is it a file of WinoBias?"
            )
        sentences.append(" ".join(found["sentence"].replace("[", "").replace("]", "").split()))
    if not sentences:
        raise FairlabError(f"{path} is empty; fetch it again")
    return sentences
