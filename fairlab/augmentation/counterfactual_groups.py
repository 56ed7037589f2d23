"""Counterfactual groups, made from plain text and verified: the training data of content-conditional debiasing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Literal

from fairlab.llm.client import LLM
from fairlab.metrics.polarity import Polarity
from fairlab.protocols import RowAugmentation
from fairlab.rewriting.by_llm.llm_rewriter import TOKENS, NotRewritten, Versions
from fairlab.rewriting.group_rewriters import NO_WORD, GroupRewriter, RuleGroups, group_row
from fairlab.rewriting.verifiers import load_verifiers
from fairlab.text.papers import DENG_2024
from fairlab.types import Made, Row

NOTHING_TO_TURN = "rows whose words of the axis do not refer to a person who can be changed"


class CounterfactualGroups(RowAugmentation):
    """Augmentation that makes a counterfactual group from every text with a word of the axis.

    A group consists of a neutral version and one version per attribute. The rewriter makes the versions, and verifiers
    check them. Groups that fail the check are treated according to ``filter``: ``drop`` writes them to a separate file
    with the reason, ``keep`` keeps them with a mark, and ``fallback`` makes them again with the rule-based rewriter and
    drops the groups that still fail. A text for which the rewriter made no versions is treated in the same way, except
    that it cannot be kept.

    Args:
        rewriter: Rewriter that makes the versions.
        verify: Names of verifiers, see :func:`fairlab.rewriting.verifiers.load_verifiers`.
        filter: Treatment of a group that fails: ``drop``, ``keep`` or ``fallback``.
        llm: Language model for verifiers that need one, such as ``label``; None if no verifier does.
        seed: Seed for the first names that the rule-based fallback chooses.

    Raises:
        FairlabError: A verifier is unknown.

    Source: "LLM-Assisted Content Conditional Debiasing for Fair Text Embedding", section 3.3, which does not say
    whether failing groups were dropped.
    """

    title = "counterfactual groups with checked polarity"
    limits = "Polarity is judged by English word lists, so a version can pass and still be wrong in another way."
    citation = DENG_2024
    name = "counterfactual_groups"

    def __init__(
        self,
        *,
        rewriter: GroupRewriter,
        verify: Sequence[str] = ("polarity",),
        filter: Literal["drop", "keep", "fallback"] = "drop",
        llm: LLM | None = None,
        seed: int = 0,
    ) -> None:
        self.rewriter = rewriter
        self.verifiers = load_verifiers(verify, rewriter.lexicon, llm)
        self.filter = filter
        self.fallback = RuleGroups(lexicon=rewriter.lexicon, seed=seed) if filter == "fallback" else None
        self.polarity = Polarity(rewriter.lexicon)

    def make(self, rows: Sequence[Row]) -> list[Made]:
        """Return the group made from every row, in order."""
        made = [Made(counts={NO_WORD: 1}) for _ in rows]
        asked = [k for k, row in enumerate(rows) if any(self.polarity.counts(row.text).values())]
        for k, judged in zip(asked, self._groups([rows[k] for k in asked], self.rewriter), strict=True):
            made[k] = judged
        if self.fallback is not None:
            failed = [k for k in asked if made[k].reason]
            for k, second in zip(failed, self._groups([rows[k] for k in failed], self.fallback), strict=True):
                made[k] = _with_first(second, made[k])
        return made

    def _groups(self, rows: Sequence[Row], rewriter: GroupRewriter) -> list[Made]:
        """Return the groups that a rewriter makes, or the reasons why there are none."""
        answers = rewriter.groups([row.text for row in rows])
        usable = {k: one.versions for k, one in enumerate(answers) if isinstance(one, Versions) and not one.empty}
        faults = dict(zip(usable, self._faults([rows[k] for k in usable], list(usable.values())), strict=True))
        return [
            self._judged(row, answer, rewriter, faults.get(k))
            for k, (row, answer) in enumerate(zip(rows, answers, strict=True))
        ]

    def _faults(self, rows: Sequence[Row], made: Sequence[dict[str, str]]) -> list[tuple[str, str] | None]:
        """Return, for each group, the name and objection of the first verifier that rejects it, or None if none does.

        A verifier sees only the groups that all previous verifiers accepted.
        """
        faults: list[tuple[str, str] | None] = [None] * len(rows)
        for verifier in self.verifiers:
            left = [k for k, fault in enumerate(faults) if fault is None]
            for k, finding in zip(left, verifier.check([rows[k] for k in left], [made[k] for k in left]), strict=True):
                if finding:
                    faults[k] = (verifier.name, finding)
        return faults

    def _judged(
        self, row: Row, answer: Versions | NotRewritten, rewriter: GroupRewriter, fault: tuple[str, str] | None
    ) -> Made:
        """Return the group made from a row, or the reason why there is none."""
        if isinstance(answer, NotRewritten):
            return Made(reason=f"rewriter: {answer.outcome}", detail=answer.reason)
        if answer.empty:
            return Made(reason="empty version", detail=f"'{answer.empty}'", versions=answer.versions)
        if isinstance(rewriter, RuleGroups) and {*answer.versions.values()} == {row.text}:
            return Made(counts={NOTHING_TO_TURN: 1})
        counts = self.polarity.tally(answer.versions)
        if fault is not None and self.filter != "keep":
            return Made(reason=fault[0], detail=fault[1], versions=answer.versions, counts=counts)
        more: dict[str, Any] = {"check": "passed" if fault is None else f"{fault[0]}: {fault[1]}"}
        if answer.confidence is not None:
            more["confidence"] = answer.confidence
        if answer.confidence_by == TOKENS:
            more["confidence_by"] = TOKENS
        counts |= {"groups": 1} | ({f"kept in spite of: {fault[0]}": 1} if fault else {})
        return Made(rows=(group_row(row, self.name, rewriter, answer.versions, **more),), counts=counts)


def _with_first(second: Made, first: Made) -> Made:
    """Return the fallback's result for a row, with the counts of the first rewriter, which polarity refers to."""
    counts = first.counts | {f"sent to the fallback: {first.reason}": 1}
    if second.reason:
        return replace(second, counts=counts)
    row = {**second.rows[0], "fallback_from": f"{first.reason}: {first.detail}"}
    return replace(second, rows=(row,), counts=counts | {"groups": 1, "groups of the fallback": 1})
