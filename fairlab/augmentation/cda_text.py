"""Counterfactual data augmentation (CDA) of plain text, for continued pretraining."""

from __future__ import annotations

from fairlab.lexicons import load_lexicon
from fairlab.rewriting.english.word_swap import WordSwap


class CDAText:
    """Augmentation of plain text that adds, to every text with a word of the axis, its copy with attributes swapped.

    A text without a word of the axis is omitted.

    Args:
        axis: Name of the lexicon whose words are swapped, which must have two attributes, such as ``gender``.

    Source: Zhao et al. 2018, "Gender Bias in Coreference Resolution", section 3.3; Meade et al. 2022, "An Empirical
    Survey of the Effectiveness of Debiasing Techniques", section 4 (bias-bench).
    """

    title = "counterfactual data augmentation of plain text"
    limits = "Listed English words are exchanged without regard to meaning; in a text with many people, all change."
    citation = """@inproceedings{zmigrod2019counterfactual,
  title = {Counterfactual Data Augmentation for Mitigating Gender Stereotypes in Languages with Rich
    Morphology},
  author = {Zmigrod, Ran and Mielke, Sabrina J. and Wallach, Hanna and Cotterell, Ryan},
  booktitle = {Proceedings of ACL},
  year = {2019}
}"""

    def __init__(self, *, axis: str) -> None:
        lexicon = load_lexicon(axis)
        self.axis = lexicon.axis
        self.swap = WordSwap(lexicon)

    def texts(self, text: str) -> list[str]:
        """Return the text and its swapped copy, or an empty list.

        Raises:
            FairlabError: The axis does not have two attributes.
        """
        return [text, self.swap.swap(text)] if self.swap.marked(text) else []
