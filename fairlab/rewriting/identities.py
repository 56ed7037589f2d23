"""Identities in any text: the text with identities neutralised, and its versions for every other subgroup."""

from __future__ import annotations

import re

from fairlab.lexicons import FOLDER, load_lexicon
from fairlab.rewriting.english.subgroup_swap import SubgroupSwap
from fairlab.rewriting.english.word_swap import WordSwap

BLANKS = re.compile(r"(?<=\S) {2,}(?=\S)")


class Identities:
    """Listed words of all subgroups, found without knowing which subgroup a text is about."""

    def __init__(self) -> None:
        lexicons = [load_lexicon(str(path)) for path in sorted((FOLDER / "subgroups").glob("*.yaml"))]
        self.neutral = [WordSwap(lexicon) for lexicon in lexicons]
        self.swaps = [SubgroupSwap(lexicon) for lexicon in lexicons]

    def blinded(self, text: str) -> str:
        """Return the text with the neutral form of every listed word; an adjective without one is removed."""
        found = text
        for swap in self.neutral:
            found = swap(found, "neutral")
        return text if found == text else BLANKS.sub(" ", found)

    def versions(self, text: str) -> list[str]:
        """Return the distinct versions of the text, from every subgroup that it mentions to every other subgroup."""
        found = [
            swap.turned(text, source, target).text
            for swap in self.swaps
            for source in sorted({swap.marks[span.term] for span in swap.finder.find(text)})
            for target in swap.attributes
            if target != source
        ]
        return [version for version in dict.fromkeys(found) if version and version != text]
