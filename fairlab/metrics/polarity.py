"""Sensitive polarity of texts, and union polarity accuracy of counterfactual groups.

Source: "LLM-Assisted Content Conditional Debiasing for Fair Text Embedding", equations 6 and 7. Equation 6 is only an
argmax over attributes; this project adds rules for texts without attribute words and for ties.
"""

from __future__ import annotations

from collections.abc import Mapping

from fairlab.lexicons import Lexicon
from fairlab.text.words import TermFinder
from fairlab.types import NEUTRAL, Group

AMBIGUOUS = "ambiguous"


class Polarity:
    """Classifier of a text's polarity by the words of a lexicon.

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
        """Return, for every version of a group, whether its polarity equals the attribute in its name."""
        return {name: self(text) == name for name, text in group.versions.items()}

    def tally(self, versions: Mapping[str, str]) -> dict[str, int]:
        """Return the counts for one group.

        ``judged`` is 1. ``right/NAME`` is 1 if the version has the right polarity, and ``right/union`` is 1 if all
        versions have it; otherwise both are 0.
        """
        right = {name: int(self(text) == name) for name, text in versions.items()}
        return {"judged": 1, "right/union": min(right.values()), **{f"right/{name}": n for name, n in right.items()}}
