"""Counterfactual injection: a text about one subgroup, turned to every other subgroup of its identity category.

Source: Sturman et al. 2024, "Debiasing Text Safety Classifiers through a Fairness-Aware Ensemble", section 4 and appendix
A.2.2, with word lists in the language model's place.
"""

from __future__ import annotations

from fairlab.lexicons import FOLDER, load_lexicon
from fairlab.rewriting.word_swap import WordSwap
from fairlab.types import FairlabError


class Identity:
    """Turns the words of a text's own subgroup to those of another; other subgroups it mentions stay as they are.

    It sees words, not syntax, and knows listed words only: a text without one gets no version.
    """

    name = "identity"

    def __init__(self) -> None:
        lexicons = [load_lexicon(str(path)) for path in sorted((FOLDER / "subgroups").glob("*.yaml"))]
        self.swaps = {lexicon.axis: WordSwap(lexicon) for lexicon in lexicons}

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
        return {other: version for other, version in made.items() if version != text}
