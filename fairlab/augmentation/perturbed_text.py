"""One perturbation in every passage of a text, by rules that need no parse, for pretraining on a perturbed corpus."""

from __future__ import annotations

import random
from collections.abc import Sequence

from fairlab.lexicons import load_lexicon
from fairlab.rewriting.rules import RuleRewriter
from fairlab.types import NEUTRAL


class PerturbedText:
    """Every text with one of its words, drawn uniformly with its target, perturbed; the others are kept as they are.

    Lexical rules know no persons, so all words of the drawn word's axis are turned to the target.

    Args:
        axes: names of lexicons such as ``gender``; *neutral* is a target of gender alone, where it stands for
            non-binary.
        seed: seed of the drawn words and targets; a text's draw depends on the seed and the text alone.

    Source: Qian et al. 2022, "Perturbation Augmentation for Fairer NLP", algorithm 1 and section 5.1.
    """

    def __init__(self, *, axes: Sequence[str], seed: int = 0) -> None:
        self.seed = seed
        self.rewriters = {axis: RuleRewriter(load_lexicon(axis), mode="lexical", seed=seed) for axis in axes}

    def texts(self, text: str) -> list[str]:
        """The perturbed text, alone."""
        choices = [
            (axis, target)
            for axis, rewriter in self.rewriters.items()
            for attribute in _marked(rewriter, text)
            for target in [*rewriter.vocabulary.lexicon.attributes, *([NEUTRAL] if axis == "gender" else [])]
            if target != attribute
        ]
        if not choices:
            return [text]
        axis, target = random.Random(f"{self.seed} {text}").choice(choices)
        return [self.rewriters[axis](text, target)]


def _marked(rewriter: RuleRewriter, text: str) -> list[str]:
    """The attribute of every listed word, in its first sense."""
    senses = (rewriter.vocabulary.senses[span.term][0] for span in rewriter.finder.finder.find(text))
    return [sense.attribute for sense in senses if sense.attribute != NEUTRAL]
