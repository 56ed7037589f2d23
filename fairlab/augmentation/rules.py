"""Counterfactual groups rebuilt by the rule-based rewriter from one text of each group."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

from fairlab.lexicons import load_lexicon
from fairlab.metrics.polarity import Polarity
from fairlab.rewriting.by_llm.llm_rewriter import Versions
from fairlab.rewriting.group_rewriters import RuleGroups
from fairlab.types import FairlabError, Group


class Rules:
    """Augmentation that rebuilds every group from the text of ``Group.source`` with the rule-based rewriter.

    Groups with a wrong polarity or an empty version are dropped, as in ``python -m fairlab.augment
    +augmentation=counterfactual_groups`` for plain text.

    Args:
        mode: Method of analysing texts, ``syntax`` or ``lexical``, see
            :class:`fairlab.rewriting.english.rules.RuleRewriter`.
        names: Treatment of first names: ``swap`` or ``keep``.

    Source: "LLM-Assisted Content Conditional Debiasing for Fair Text Embedding", section 3.3 (filter by polarity). The
    paper rewrites with a language model instead of rules.
    """

    title = "counterfactual groups by rules"
    limits = "English rules for listed attributes; the person referred to is inferred from words and syntax."
    citation = "This augmentation is fairlab's own."
    name = "rules"

    def __init__(
        self, *, mode: Literal["syntax", "lexical"] = "syntax", names: Literal["swap", "keep"] = "swap"
    ) -> None:
        self.mode = mode
        self.names = names

    def groups(self, groups: Sequence[Group]) -> list[Group]:
        """Return groups with the same ids and extra keys in which every version is made from the source text.

        Raises:
            FairlabError: All groups were dropped, or the lexicon lacks an attribute of the groups.
        """
        axes = dict.fromkeys((group.axis, group.attributes) for group in groups)
        made: dict[str, Group] = {}
        for axis, attributes in axes:
            chosen = [group for group in groups if (group.axis, group.attributes) == (axis, attributes)]
            made |= {group.id: group for group in self._rebuild_groups(chosen, axis, attributes)}
        if groups and not made:
            raise FairlabError(
                f"rules made no group of the right polarity from any of the {len(groups)} texts; use augmentation=none"
            )
        return [made[group.id] for group in groups if group.id in made]

    def _rebuild_groups(self, groups: Sequence[Group], axis: str, attributes: tuple[str, ...]) -> list[Group]:
        """Return the rebuilt groups of one axis, without failed groups."""
        lexicon = load_lexicon(axis).only(attributes)
        polarity = Polarity(lexicon)
        rewriter = RuleGroups(lexicon=lexicon, mode=self.mode, names=self.names)
        rebuilt = []
        answers = rewriter.groups([group.versions[group.source] for group in groups])
        for group, answer in zip(groups, answers, strict=True):
            if isinstance(answer, Versions) and not answer.empty and polarity.tally(answer.versions)["right/union"]:
                extra = {**group.extra, "augmentation": self.name, "source": group.source}
                rebuilt.append(replace(group, versions=answer.versions, extra=extra))
        return rebuilt
