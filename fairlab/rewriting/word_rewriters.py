"""Rewriters of one person: a text, a word of it that means somebody, and the attribute they shall have."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from fairlab.protocols import Rewriter
from fairlab.rewriting.by_llm.llm_rewriter import NotRewritten


@dataclass(frozen=True)
class Selection:
    """A word of a text and a target for whom it means: an element of K in algorithm 1.

    Attributes:
        start: offset of the word's first character.
        word: the word as it stands in the text.
        axis: axis of the two attributes, such as ``gender``.
        source: the attribute that the word marks.
        target: another attribute of the axis; ``neutral`` on the axis gender is what PANDA calls non-binary.

    Source: Qian et al. 2022, "Perturbation Augmentation for Fairer NLP", section 2.
    """

    start: int
    word: str
    axis: str
    source: str
    target: str


class WordRewriter(Rewriter, Protocol):
    """What perturbation asks of a rewriter."""

    @property
    def provenance(self) -> dict[str, Any]:
        """Columns that tell how a row was made: ``rewriter``, and a seed, a model or the like."""
        ...

    def rewrite_words(self, texts: Sequence[str], selections: Sequence[Selection]) -> list[str | NotRewritten]:
        """Every text with the person its selected word means turned to the target, or why there is none."""
        ...


class ByAxis:
    """Word rewriters of one axis each, as one.

    Args:
        rewriters: the word rewriter of each axis.
    """

    def __init__(self, rewriters: Mapping[str, WordRewriter]) -> None:
        self.rewriters = rewriters

    @property
    def provenance(self) -> dict[str, Any]:
        """That of the axes' rewriters, which are of one kind."""
        return next(iter(self.rewriters.values())).provenance

    def rewrite_words(self, texts: Sequence[str], selections: Sequence[Selection]) -> list[str | NotRewritten]:
        """Every text by the rewriter of its selection's axis, in order."""
        made: dict[int, str | NotRewritten] = {}
        for axis, rewriter in self.rewriters.items():
            places = [k for k, selection in enumerate(selections) if selection.axis == axis]
            if places:
                found = rewriter.rewrite_words([texts[k] for k in places], [selections[k] for k in places])
                made |= dict(zip(places, found, strict=True))
        return [made[k] for k in range(len(texts))]
