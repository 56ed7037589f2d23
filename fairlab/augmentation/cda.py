"""Counterfactual data augmentation (CDA): counterfactual groups by word-list swapping."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import replace
from functools import cache

from fairlab.lexicons import load_lexicon
from fairlab.rewriting.word_swap import WordSwap
from fairlab.types import NEUTRAL, FairlabError, Group


@cache
def _swap(axis: str) -> WordSwap:
    return WordSwap(load_lexicon(axis))


class CDA:
    """Rebuilds every group from one of its texts by swapping the words of its axis.

    The text kept as the source is that of one attribute, chosen by a hash of the group's id, so that both sides of an
    axis are sources equally often and the choice never depends on the order of the file. Groups whose source holds no
    word of the lexicon have nothing to swap and are dropped.

    Source: the CCD-CDA rows of "LLM-Assisted Content Conditional Debiasing for Fair Text Embedding", tables 2 to 6.
    """

    name = "cda"

    def __call__(self, groups: Sequence[Group]) -> list[Group]:
        """Groups with the same ids and extra keys, every version made from the source text.

        Raises:
            FairlabError: no group has anything to swap, or the lexicon lacks an attribute of the groups.
        """
        made = [group for group in map(self.rebuild, groups) if group is not None]
        if groups and not made:
            raise FairlabError(
                f"cda found no word of the lexicon in any of the {len(groups)} texts; use augmentation=none"
            )
        return made

    def rebuild(self, group: Group) -> Group | None:
        """The group with its versions made by word swapping, or None when there is nothing to swap."""
        swap = _swap(group.axis)
        attributes = group.attributes
        if unknown := set(attributes) - set(swap.attributes):
            raise FairlabError(
                f"cda knows {', '.join(swap.attributes)} on the axis '{group.axis}', but not the attribute "
                f"{', '.join(sorted(unknown))} of group '{group.id}'; rename it or use augmentation=none"
            )
        source = attributes[hashlib.sha256(group.id.encode()).digest()[0] % len(attributes)]
        text = group.versions[source]
        if not swap.marked(text):
            return None
        versions = {name: swap(text, name) for name in (NEUTRAL, *attributes)}
        return replace(group, versions=versions, extra={**group.extra, "augmentation": self.name, "source": source})
