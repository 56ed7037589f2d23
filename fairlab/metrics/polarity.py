"""Sensitive polarity of texts, and union polarity accuracy of counterfactual groups.

Source: "LLM-Assisted Content Conditional Debiasing for Fair Text Embedding", equations 6 and 7. Equation 6 is a bare
argmax over attributes; the rules for texts without attribute words and for ties are this project's.
"""

from __future__ import annotations

from collections.abc import Mapping

from fairlab.lexicons import Lexicon
from fairlab.text.words import TermFinder
from fairlab.types import NEUTRAL, Group

AMBIGUOUS = "ambiguous"


class Polarity:
    """Polarity of texts by the words of a lexicon.

    Args:
        lexicon: Lexicon of the words and names that mark each attribute.
    """

    def __init__(self, lexicon: Lexicon) -> None:
        self.attributes = lexicon.attributes
        self.marks = {term: attribute for attribute in lexicon.attributes for term in lexicon.terms(attribute)}
        self.finder = TermFinder(self.marks)

    def counts(self, text: str) -> dict[str, int]:
        """Count the occurrences of each attribute's words in ``text`` (equation 6's *occ*)."""
        counts = dict.fromkeys(self.attributes, 0)
        for span in self.finder.find(text):
            counts[self.marks[span.term]] += 1
        return counts

    def __call__(self, text: str) -> str:
        """Return the attribute with the largest count, ``neutral`` if all counts are 0, or ``ambiguous`` on a tie."""
        counts = self.counts(text)
        largest = max(counts.values())
        if largest == 0:
            return NEUTRAL
        winners = [attribute for attribute, count in counts.items() if count == largest]
        return winners[0] if len(winners) == 1 else AMBIGUOUS

    def correct(self, group: Group) -> dict[str, bool]:
        """Return for every version of a group whether its polarity equals its own name."""
        return {name: self(text) == name for name, text in group.versions.items()}

    def tally(self, versions: Mapping[str, str]) -> dict[str, int]:
        """Count one group: ``judged`` 1, and ``right/union`` and ``right/NAME`` 1 for the right polarity, else 0."""
        right = {name: int(self(text) == name) for name, text in versions.items()}
        return {"judged": 1, "right/union": min(right.values()), **{f"right/{name}": n for name, n in right.items()}}
