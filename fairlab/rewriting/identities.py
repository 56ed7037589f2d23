"""Identities mentioned in texts: finding them, neutralising them, and rewriting them to other subgroups."""

from __future__ import annotations

import re
from collections.abc import Sequence

from fairlab.lexicons import FOLDER, Lexicon, load_lexicon
from fairlab.rewriting.english.subgroup_swap import SubgroupSwap
from fairlab.rewriting.english.word_swap import WordSwap
from fairlab.types import FairlabError

BLANKS = re.compile(r"(?<=\S) {2,}(?=\S)")
SUBGROUPS = "subgroups"  # name of the lexicons of Sturman et al. 2024, table 2
# Files of these lexicons. Gender is last, because a text about another identity often has a pronoun as well.
FILES = ("race_ethnicity", "religion", "sexual_orientation", "gender_identity")


def identity_lexicons(names: Sequence[str] = (SUBGROUPS,)) -> list[Lexicon]:
    """Return the lexicons of identity categories.

    Args:
        names: Names of axes, paths of lexicon files, and ``subgroups`` for the four categories of table 2 of Sturman et
            al. 2024.

    Raises:
        FairlabError: There are no names, a lexicon does not exist, or two lexicons have the same category.
    """
    found = []
    for name in names:
        files = [str(FOLDER / SUBGROUPS / f"{file}.yaml") for file in FILES] if name == SUBGROUPS else [name]
        found += [load_lexicon(file) for file in files]
    axes = [lexicon.axis for lexicon in found]
    if not found or len(set(axes)) < len(axes):
        raise FairlabError(f"identities need lexicons of different categories, not: {', '.join(axes) or 'none'}")
    return found


class Identities:
    """Finder and rewriter of the listed words of all subgroups, for texts about an unknown subgroup.

    ``names`` are as for :func:`identity_lexicons`.
    """

    def __init__(self, names: Sequence[str] = (SUBGROUPS,)) -> None:
        lexicons = identity_lexicons(names)
        self.axes = [lexicon.axis for lexicon in lexicons]
        self.neutral = [WordSwap(lexicon) for lexicon in lexicons]
        self.swaps = [SubgroupSwap(lexicon) for lexicon in lexicons]

    def named(self, text: str) -> str:
        """Return the subgroup that a text is about, as ``category:subgroup``, or an empty string if that is unclear.

        A subgroup is clear if the text names no other subgroup of its category. If this is true of several categories,
        the first one counts.
        """
        for axis, swap in zip(self.axes, self.swaps, strict=True):
            found = {swap.marks[span.term] for span in swap.finder.find(text)}
            if len(found) == 1:
                return f"{axis}:{found.pop()}"
        return ""

    def blinded(self, text: str) -> str:
        """Return the text with every listed word in its neutral form.

        An adjective without a neutral form is removed.
        """
        found = text
        for swap in self.neutral:
            found = swap(found, "neutral")
        return text if found == text else BLANKS.sub(" ", found)

    def versions(self, text: str) -> list[str]:
        """Return the distinct versions of the text in which one mentioned subgroup is replaced by another."""
        found = [
            swap.turned(text, source, target).text
            for swap in self.swaps
            for source in sorted({swap.marks[span.term] for span in swap.finder.find(text)})
            for target in swap.attributes
            if target != source
        ]
        return [version for version in dict.fromkeys(found) if version and version != text]
