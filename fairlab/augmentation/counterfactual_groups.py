"""Counterfactual groups from plain text, checked: the data that content-conditional debiasing trains on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Literal

from fairlab.metrics.polarity import Polarity
from fairlab.rewriting.group_rewriters import GroupRewriter, RuleGroups
from fairlab.rewriting.llm_rewriter import NotRewritten, Versions
from fairlab.rewriting.verifiers import load_verifiers
from fairlab.types import FairlabError, Made, Row

NO_WORD = "no word of the axis"
FILTERS = ("drop", "keep", "fallback")


class CounterfactualGroups:
    """Turns every text that holds a word of the axis into a group: neutral, and one version per attribute.

    The rewriter makes the versions, verifiers judge them, and the filter decides about groups that fail: ``drop`` puts
    them beside the data with the reason, ``keep`` keeps them, marked, and ``fallback`` has the rule-based rewriter make
    them again and drops those that fail again. A text the rewriter gave nothing for goes the same way, except that
    there is nothing to keep.

    Args:
        rewriter: makes the versions.
        verify: names of verifiers, see :data:`fairlab.rewriting.verifiers.VERIFIERS`.
        filter: ``drop``, ``keep`` or ``fallback``.
        seed: of the fallback's first names.

    Raises:
        FairlabError: an unknown verifier or filter.

    Source: "LLM-Assisted Content Conditional Debiasing for Fair Text Embedding", section 3.3; whether failing groups
    were dropped there is not said.
    """

    name = "counterfactual_groups"
    default_rewriter = RuleGroups

    def __init__(
        self,
        *,
        rewriter: GroupRewriter,
        verify: Sequence[str] = ("polarity",),
        filter: Literal["drop", "keep", "fallback"] = "drop",
        seed: int = 0,
    ) -> None:
        if filter not in FILTERS:
            raise FairlabError(f"augmentation.filter must be {', '.join(FILTERS)}, not {filter}")
        self.rewriter = rewriter
        self.verifiers = load_verifiers(verify, rewriter.lexicon)
        self.filter = filter
        self.fallback = RuleGroups(lexicon=rewriter.lexicon, seed=seed) if filter == "fallback" else None
        self.polarity = Polarity(rewriter.lexicon)

    def make(self, rows: Sequence[Row]) -> list[Made]:
        """What becomes of every row, in order."""
        made = [Made(reason=NO_WORD, detail=f"axis '{self.rewriter.lexicon.axis}'") for _ in rows]
        asked = [k for k, row in enumerate(rows) if any(self.polarity.counts(row.text).values())]
        for k, answer in zip(asked, self.rewriter.groups([rows[k].text for k in asked]), strict=True):
            made[k] = self._judged(rows[k], answer, self.rewriter.provenance)
        if self.fallback is not None:
            failed = [k for k in asked if made[k].reason]
            for k, answer in zip(failed, self.fallback.groups([rows[k].text for k in failed]), strict=True):
                made[k] = self._second(rows[k], answer, self.fallback.provenance, made[k])
        return made

    def _second(self, row: Row, answer: Versions | NotRewritten, provenance: dict[str, Any], first: Made) -> Made:
        """What the fallback makes of a row; polarity is counted once, for what the rewriter itself made."""
        before = {"fallback_from": f"{first.reason}: {first.detail}"}
        second = self._judged(row, answer, provenance | before)
        outcome = "fallback failed" if second.reason else "fallback kept"
        return replace(second, counts=first.counts | {outcome: 1})

    def _judged(self, row: Row, answer: Versions | NotRewritten, provenance: dict[str, Any]) -> Made:
        """The group made of a row, or why there is none."""
        if isinstance(answer, NotRewritten):
            return Made(reason=f"rewriter: {answer.outcome}", detail=answer.reason)
        fault = self._fault(row.text, answer.versions)
        counts = self.polarity.tally(answer.versions)
        if fault is not None and self.filter != "keep":
            return Made(reason=fault[0], detail=fault[1], counts=counts)
        columns = {"source_id": row.id, "augmentation": self.name, **provenance}
        columns["check"] = "passed" if fault is None else f"{fault[0]}: {fault[1]}"
        if answer.confidence is not None:
            columns["confidence"] = answer.confidence
        group = {"id": row.id, "axis": self.rewriter.lexicon.axis, "versions": answer.versions, "text": row.text}
        return Made(rows=({**row.extra, **group, **columns},), counts=counts | ({"failed and kept": 1} if fault else {}))

    def _fault(self, source: str, versions: dict[str, str]) -> tuple[str, str] | None:
        """Name and finding of the first verifier that objects."""
        for verifier in self.verifiers:
            if finding := verifier(source, versions):
                return verifier.name, finding
        return None
