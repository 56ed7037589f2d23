"""Verifiers of counterfactual rewrites: each says what is wrong with the versions of a text, or nothing."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from difflib import SequenceMatcher
from functools import cache
from pathlib import Path
from typing import Protocol

import yaml

from fairlab.lexicons import Lexicon
from fairlab.lexicons.names import load_names
from fairlab.metrics.polarity import Polarity
from fairlab.text.words import WORD, TermFinder, word_pieces
from fairlab.types import FairlabError

SEPARATOR = "<SEP>"  # between the fields of one text, as in PANDA
HARMS = Path(__file__).with_name("harms.yaml")
# Words that change with the words around them, not with an attribute.
AGREEING = set("a an am is are was were isn aren wasn weren has have hasn haven does do doesn don s re ve d t".split())
STEM = 3  # letters two forms of one verb share


class Verifier(Protocol):
    """Judges the versions of a text.

    Attributes:
        name: the reason a rejected row is given.
    """

    name: str

    def __call__(self, source: str, versions: Mapping[str, str]) -> str | None:
        """What is wrong with the versions made of ``source``; None where nothing is."""
        ...


class PolarityVerifier:
    """Every version must have its own polarity.

    Source: CCD, section 3.3 and equations 6 and 7.
    """

    name = "wrong polarity"

    def __init__(self, lexicon: Lexicon) -> None:
        self.polarity = Polarity(lexicon)

    def __call__(self, source: str, versions: Mapping[str, str]) -> str | None:
        """Which version reads as what instead."""
        found = {name: self.polarity(text) for name, text in versions.items()}
        wrong = [f"'{name}' reads as {read}" for name, read in found.items() if read != name]
        return "; ".join(wrong) or None


class WordsVerifier:
    """Only words of the axis may change, and what grammar changes with them.

    Source and version are aligned word by word. Every stretch that differs must hold, on the side of the source, only
    words of the lexicon, first names, articles and verbs whose form changed; where words are only added, the added ones
    must be such. Punctuation is not compared.
    """

    name = "other words changed"

    def __init__(self, lexicon: Lexicon) -> None:
        forms = {form for entry in lexicon.entries for form in entry.forms}
        self.free = AGREEING | {piece for form in forms for piece in word_pieces(form)} | set(load_names())

    def __call__(self, source: str, versions: Mapping[str, str]) -> str | None:
        """Which word changed that should not have, and in which version."""
        old = [word.casefold() for word in WORD.findall(source)]
        for name, text in versions.items():
            new = [word.casefold() for word in WORD.findall(text)]
            for kind, start, end, new_start, new_end in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
                if kind == "equal":
                    continue
                removed, added = old[start:end], new[new_start:new_end]
                for word in removed or added:
                    other = added if removed else []
                    if word not in self.free and not any(word[:STEM] == verb[:STEM] for verb in other):
                        return f"'{word}' changed in '{name}'"
        return None


class SeparatorVerifier:
    """Versions must keep the number of field separators of their source, or they cannot be taken apart again.

    Source: Qian et al. 2022, "Perturbation Augmentation for Fairer NLP", section 2.
    """

    name = "field separators changed"

    def __init__(self, lexicon: Lexicon) -> None:
        del lexicon  # the same on every axis

    def __call__(self, source: str, versions: Mapping[str, str]) -> str | None:
        """Which version has how many."""
        expected = source.count(SEPARATOR)
        for name, text in versions.items():
            if (found := text.count(SEPARATOR)) != expected:
                return f"'{name}' has {found} {SEPARATOR} instead of {expected}"
        return None


class HarmVerifier:
    """Versions must not turn a phrase into a slur against another group, or another group into an oppressor.

    Source: Qian et al. 2022, "Perturbation Augmentation for Fairer NLP", appendix E; the words are in ``harms.yaml``.
    """

    name = "harmful phrase"

    def __init__(self, lexicon: Lexicon) -> None:
        self.finder = TermFinder(term for attribute in lexicon.attributes for term in lexicon.terms(attribute))

    def __call__(self, source: str, versions: Mapping[str, str]) -> str | None:
        """Which phrase, and in which version."""
        known = set(self._phrases(source))
        for name, text in versions.items():
            if new := [phrase for phrase in self._phrases(text) if phrase not in known]:
                return f"'{new[0]}' in '{name}'"
        return None

    def _phrases(self, text: str) -> list[str]:
        """Words of the axis followed by a word of the list, case-folded."""
        phrases = []
        for span in self.finder.find(text):
            following = re.match(r"[\s-]+(\w+)", text[span.end :])
            if following and following[1].casefold() in _harms():
                phrases.append(f"{span.term} {following[1].casefold()}")
        return phrases


@cache
def _harms() -> frozenset[str]:
    return frozenset(word for words in yaml.safe_load(HARMS.read_text(encoding="utf-8")).values() for word in words)


VERIFIERS = {
    "polarity": PolarityVerifier,
    "words": WordsVerifier,
    "separators": SeparatorVerifier,
    "harms": HarmVerifier,
}


def load_verifiers(names: Sequence[str], lexicon: Lexicon) -> list[Verifier]:
    """Verifiers by name.

    Raises:
        FairlabError: there is none of a name.
    """
    if unknown := [name for name in names if name not in VERIFIERS]:
        raise FairlabError(f"there is no verifier '{unknown[0]}'; there are: {', '.join(VERIFIERS)}")
    return [VERIFIERS[name](lexicon) for name in names]
