"""Perturbation of one word in every passage of a corpus, for pretraining."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any, Literal

from fairlab.lexicons import load_lexicon
from fairlab.rewriting.english.linkers import RULES
from fairlab.rewriting.english.rules import RuleRewriter
from fairlab.rewriting.perturbable_words import PerturbableText, PerturbableWords
from fairlab.text.papers import QIAN_2022


class PerturbedText:
    """Augmentation of plain text that perturbs one word per text.

    The word and its target are drawn uniformly. Texts without a perturbable word are kept unchanged.

    Args:
        axes: Names of lexicons such as ``gender``.
        person: People to rewrite: ``one`` rewrites the person that the drawn word refers to, as in the paper, and
            parses the text. ``everybody`` rewrites all words of the drawn word's axis, with neighbouring words as the
            only context, which is many times faster.
        linker: Method of finding the words for one person, see :func:`fairlab.rewriting.english.linkers.load_linker`.
        seed: Seed for the drawn words and targets; a text's draw depends only on the seed and the text.

    Raises:
        FairlabError: There is no lexicon for an axis.

    Source: Qian et al. 2022, "Perturbation Augmentation for Fairer NLP", algorithm 1 and section 5.1.
    """

    title = "perturbation of running text"
    limits = "At most one word of each passage changes, by rules; passages are cut by length, not by subject."
    citation = QIAN_2022

    def __init__(
        self,
        *,
        axes: Sequence[str],
        person: Literal["one", "everybody"] = "one",
        linker: str = RULES,
        seed: int = 0,
    ) -> None:
        self.person, self.linker, self.seed = person, linker, seed
        mode: Literal["syntax", "lexical"] = "syntax" if person == "one" else "lexical"
        lexicons = [load_lexicon(axis) for axis in axes]
        self.words = PerturbableWords(lexicons, mode, linker)
        self.rewriters = {lexicon.axis: RuleRewriter(lexicon, mode=mode, seed=seed) for lexicon in lexicons}

    def described(self) -> dict[str, Any]:
        """Return the axes with the hashes of their lexicons, the settings, and the seed."""
        lexicons = {axis: rewriter.vocabulary.lexicon.sha256 for axis, rewriter in self.rewriters.items()}
        described = {"name": "perturbed_text", "lexicons": lexicons, "person": self.person, "seed": self.seed}
        return described if self.linker == RULES else {**described, "linker": self.linker}

    def texts(self, text: str) -> list[str]:
        """Return the perturbed text, as the only element of a list."""
        return self.all_texts([text])[0]

    def all_texts(self, texts: Sequence[str]) -> list[list[str]]:
        """Return each perturbed text as the only element of a list.

        Texts with listed words are parsed together.
        """
        return [[self._perturbed(text, opened)] for text, opened in zip(texts, self.words.open(texts), strict=True)]

    def _perturbed(self, text: str, opened: PerturbableText) -> str:
        drawn = opened.draw(random.Random(f"{self.seed} {text}"))
        if drawn is None:
            return text
        axis, mention, target = drawn
        if self.person == "everybody":
            return self.rewriters[axis](text, target)
        people = opened.people(axis)
        if people is None:  # the parser does not separate a listed word from its neighbours
            return text
        return self.rewriters[axis].rewrite_people(opened.view, people, [(mention.start, target)])
