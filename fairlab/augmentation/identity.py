"""Counterfactual injection: a text about one subgroup, turned to every other subgroup of its identity category.

Source: Sturman et al. 2024, "Debiasing Text Safety Classifiers through a Fairness-Aware Ensemble", section 4 and
appendix A.2.2, with word lists in the language model's place.
"""

from __future__ import annotations

import re

from fairlab.lexicons import FOLDER, load_lexicon
from fairlab.rewriting.word_swap import WordSwap
from fairlab.text.agreement import article
from fairlab.text.words import match_case, word_pieces
from fairlab.types import FairlabError

ARTICLE = re.compile(r"\b(an?)( +)(\w+)", re.IGNORECASE)


class Identity:
    """Turns the words of a text's own subgroup to those of another; other subgroups it mentions stay as they are.

    It sees words, not syntax, but for *a* and *an*, which follow what comes after. It knows listed words only: a text
    without one gets no version.
    """

    name = "identity"

    def __init__(self) -> None:
        lexicons = [load_lexicon(str(path)) for path in sorted((FOLDER / "subgroups").glob("*.yaml"))]
        self.swaps = {lexicon.axis: WordSwap(lexicon) for lexicon in lexicons}
        forms = (form for lexicon in lexicons for row in lexicon.rows for form in row if form)
        self.first_words = {word_pieces(form)[0] for form in forms}

    def versions(self, text: str, category: str, subgroup: str) -> dict[str, str]:
        """The text of every other subgroup that differs from the seed's; none where no listed word marks its subgroup.

        Raises:
            FairlabError: there is no such category or subgroup.
        """
        if category not in self.swaps:
            raise FairlabError(f"no words for the identity category '{category}'; there are: {', '.join(self.swaps)}")
        swap = self.swaps[category]
        if subgroup not in swap.attributes:
            raise FairlabError(f"{category} has no subgroup '{subgroup}'; it has {', '.join(swap.attributes)}")
        made = {other: swap.turned(text, {subgroup: other}) for other in swap.attributes if other != subgroup}
        return {other: self._with_articles(version) for other, version in made.items() if version != text}

    def _with_articles(self, text: str) -> str:
        def mended(match: re.Match[str]) -> str:
            written, blanks, word = match.groups()
            if word.casefold() not in self.first_words:
                return match[0]
            return match_case(written, article(word)) + blanks + word

        return ARTICLE.sub(mended, text)
