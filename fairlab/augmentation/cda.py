"""Counterfactual data augmentation (CDA): counterfactual groups, or labelled rows, made by swapping words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from typing import Literal

from fairlab.lexicons import load_lexicon
from fairlab.metrics.polarity import Polarity
from fairlab.protocols import RowAugmentation
from fairlab.rewriting.by_llm.llm_rewriter import NotRewritten, Versions
from fairlab.rewriting.english.word_swap import WordSwap
from fairlab.rewriting.group_rewriters import NO_WORD, GroupRewriter, columns, group_row
from fairlab.text.fields import NOT_SPLIT, named_fields
from fairlab.text.papers import ZHAO_2018
from fairlab.types import NEUTRAL, FairlabError, Group, Made, Row


@cache
def _swap(axis: str) -> WordSwap:
    return WordSwap(load_lexicon(axis))


class CDA(RowAugmentation):
    """Augmentation that makes counterfactual data by swapping the words of an axis, without checks.

    For groups (``fairlab.train augmentation=cda``), every group is rebuilt from one of its texts by word swapping. The
    source is the text of ``Group.source``. A group whose source contains no word from the lexicon is dropped.

    For rows (``fairlab.augment +augmentation=cda``), the output is either groups or rows with the same columns whose
    text has the two attributes swapped. Swapped rows follow the original (``add``) or replace it (``replace``). A row
    without a word of the axis gives no group; in the other forms of output, the row stays unchanged.

    Args:
        output: Form of the output for rows: ``groups``, ``add`` or ``replace``; it does not apply to groups.
        rewriter: Rewriter that swaps words in rows; not needed for groups.

    Raises:
        FairlabError: There are more than two attributes to swap.

    Sources: the CCD-CDA rows of "LLM-Assisted Content Conditional Debiasing for Fair Text Embedding", tables 2 to 6;
    for ``add``, Zhao et al. 2018, "Gender Bias in Coreference Resolution", section 3.3.
    """

    title = "counterfactual data augmentation (CDA)"
    limits = "Listed English words are exchanged without regard to meaning or grammar; no person made these statements."
    citation = ZHAO_2018
    name = "cda"

    def __init__(
        self,
        *,
        output: Literal["groups", "add", "replace"] = "groups",
        rewriter: GroupRewriter | None = None,
    ) -> None:
        if output != "groups" and rewriter is not None and len(rewriter.lexicon.attributes) != 2:
            raise FairlabError(
                f"augmentation.output={output} exchanges two attributes, but there are "
                f"{len(rewriter.lexicon.attributes)}: {', '.join(rewriter.lexicon.attributes)}; choose two, "
                "attributes=[A,B], or augmentation.output=groups"
            )
        self.output = output
        self.rewriter = rewriter

    def groups(self, groups: Sequence[Group]) -> list[Group]:
        """Return groups with the same ids and extra keys in which every version is made from the source text.

        Raises:
            FairlabError: No group has a word to swap, or the lexicon lacks an attribute of the groups.
        """
        made = [group for group in map(self.rebuild, groups) if group is not None]
        if groups and not made:
            raise FairlabError(
                f"cda found no word of the lexicon in any of the {len(groups)} texts; use augmentation=none"
            )
        return made

    def rebuild(self, group: Group) -> Group | None:
        """Return the group with versions made by word swapping, or None if it has no word to swap."""
        swap = _swap(group.axis)
        attributes = group.attributes
        if unknown := set(attributes) - set(swap.attributes):
            raise FairlabError(
                f"cda knows {', '.join(swap.attributes)} on the axis '{group.axis}', but not the attribute "
                f"{', '.join(sorted(unknown))} of group '{group.id}'; rename it or use augmentation=none"
            )
        text = group.versions[group.source]
        if not swap.marked(text):
            return None
        versions = {name: swap(text, name) for name in (NEUTRAL, *attributes)}
        extra = {**group.extra, "augmentation": self.name, "source": group.source}
        return replace(group, versions=versions, extra=extra)

    def make(self, rows: Sequence[Row]) -> list[Made]:
        """Return the rows made from every row, in order."""
        assert self.rewriter is not None
        marked = WordSwap(self.rewriter.lexicon).marked
        chosen = [k for k, row in enumerate(rows) if marked(row.text)]
        texts = [rows[k].text for k in chosen]
        if self.output == "groups":
            answers = dict(zip(chosen, self.rewriter.groups(texts), strict=True))
            return [self._group(row, answers.get(k), self.rewriter) for k, row in enumerate(rows)]
        swapped = dict(zip(chosen, self.rewriter.swapped(texts), strict=True))
        return [self._labelled(row, swapped.get(k), self.rewriter) for k, row in enumerate(rows)]

    def _group(self, row: Row, answer: Versions | NotRewritten | None, rewriter: GroupRewriter) -> Made:
        """Return the group made from a row, or the reason why there is none."""
        if answer is None:
            return Made(counts={NO_WORD: 1})
        if isinstance(answer, NotRewritten):
            return Made(reason=f"rewriter: {answer.outcome}", detail=answer.reason)
        if answer.empty:
            return Made(reason="empty version", detail=f"'{answer.empty}'", versions=answer.versions)
        counts = {"groups": 1, **Polarity(rewriter.lexicon).tally(answer.versions)}
        return Made(rows=(group_row(row, self.name, rewriter, answer.versions),), counts=counts)

    def _labelled(self, row: Row, swapped: str | NotRewritten | None, rewriter: GroupRewriter) -> Made:
        """Return the swapped row; with ``add``, it follows the original row.

        If the row could not be swapped, return only the original row.
        """
        original = {"id": row.id, **row.named, **row.extra}
        if swapped is None:
            return Made(rows=(original,), counts={NO_WORD: 1})
        if isinstance(swapped, NotRewritten):
            return Made(rows=(original,), reason=f"rewriter: {swapped.outcome}", detail=swapped.reason)
        fields = named_fields(row, swapped)
        if fields is None:
            return Made(reason=NOT_SPLIT, detail=f"{len(row.names)} fields do not come back")
        provenance = columns(row, self.name, rewriter, {"swapped": swapped})
        counterpart = {**original, "id": f"{row.id}-cda", **fields, **provenance}
        kept = (original,) if self.output == "add" else ()
        return Made(rows=(*kept, counterpart), counts={"rows swapped": 1})
