"""Counterfactual injection: a text about one demographic subgroup is rewritten for the others of the same category.

Source: Sturman et al. 2024, "Debiasing Text Safety Classifiers through a Fairness-Aware Ensemble", section 4 and
appendix A.2.2. Texts are rewritten by word lists, or by a language model as in the paper.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

from fairlab.checks.json_text import from_json
from fairlab.lexicons.names import load_names
from fairlab.llm.client import LLM
from fairlab.protocols import RowAugmentation, refuse_axis
from fairlab.rewriting.by_llm.injection import Injection, Version
from fairlab.rewriting.by_llm.kept_facts import FACT_LOST, lost_fact
from fairlab.rewriting.english.agreement import article
from fairlab.rewriting.english.subgroup_swap import NO_WORD, SubgroupSwap
from fairlab.rewriting.identities import SUBGROUPS, Identities, identity_lexicons
from fairlab.text.difference import changes
from fairlab.text.fields import NOT_SPLIT, named_fields
from fairlab.text.papers import STURMAN_2024
from fairlab.text.reading import text_lines
from fairlab.text.words import match_case, word_pieces
from fairlab.types import FairlabError, Made, Row, Texts

ARTICLE = re.compile(r"\b(an?)( +)(\w+)", re.IGNORECASE)
NOBODY = ("", "--")  # subgroups of a text about no subgroup
FLAGGED = "flagged for review"
SUBGROUP = "subgroup"  # default column of subgroups


class Identity(RowAugmentation):
    """Augmentation that rewrites a text about one demographic subgroup for every other subgroup of its category.

    With ``inject=rules``, the words for the text's subgroup are replaced by words for another subgroup, with
    grammatical agreement; other subgroups in the text stay unchanged. The rules know only listed words and ignore
    syntax. A text without a listed word gets no versions. A version is not made for a subgroup that lacks a counterpart
    for one of the text's words, or that the text already names; see
    :class:`fairlab.rewriting.english.subgroup_swap.SubgroupSwap`. If there is a language model, it corrects and then
    judges every version. Flagged versions are omitted and written to a separate file for human review.

    Args:
        inject: Method of rewriting: ``rules`` or ``llm``.
        identities: Lexicons of the identity categories: names of axes, paths of files, and ``subgroups`` for the four
            lexicons of the paper. A category is named after the axis of its lexicon.
        subgroup: Name of the column that holds a row's ``category:subgroup``; None finds the subgroups by the words of
            the texts, and writes them to the column ``subgroup``.
        review: File of reviewed versions: ``review.jsonl`` of an earlier run with every ``keep`` filled in. Flagged
            versions that a person decides to keep stay in the data.
        llm: Language model that corrects and judges versions; None omits both steps.
        facts: Whether versions by the language model that lose a number or a name of the original are omitted; see
            :mod:`fairlab.rewriting.by_llm.kept_facts`.

    Raises:
        FairlabError: The method of rewriting lacks its language model, or a review is incomplete.
    """

    title = "counterfactual injection of subgroups"
    limits = "A text may be harmful about one subgroup but not about another; its label is kept nevertheless."
    citation = STURMAN_2024
    name = "identity"
    plan = "fairlab.run.augmenting.subgroups.OfSubgroups"
    needs_rewriter = False

    def __init__(
        self,
        *,
        inject: Literal["rules", "llm"] = "rules",
        identities: Texts = (SUBGROUPS,),
        subgroup: str | None = SUBGROUP,
        review: str | None = None,
        llm: LLM | None = None,
        facts: bool = True,
    ) -> None:
        if inject == "llm" and llm is None:
            raise FairlabError(
                "augmentation.inject=llm needs a language model; add llm=local or another to fairlab.augment"
            )
        self.inject = inject
        self.subgroup = subgroup or SUBGROUP
        self.words = None if subgroup else Identities(identities)
        self.kept = read_review(Path(review)) if review is not None else {}
        self.injection = Injection(llm) if llm is not None else None
        self.identities = tuple(identities)
        lexicons = identity_lexicons(self.identities)
        self.swaps = {lexicon.axis: SubgroupSwap(lexicon) for lexicon in lexicons}
        forms = [word_pieces(form) for lexicon in lexicons for row in lexicon.rows for form in row if form]
        self.first_words = {pieces[0] for pieces in forms}
        self.free = {piece for pieces in forms for piece in pieces} | set(load_names()) if facts else None

    def versions(self, text: str, category: str, subgroup: str) -> dict[str, str]:
        """Return the versions of a text for other subgroups of its category, without those that cannot be made.

        Raises:
            FairlabError: The category or subgroup does not exist.
        """
        return self._turned(text, category, subgroup)[0]

    def _turned(self, text: str, category: str, subgroup: str) -> tuple[dict[str, str], Counter[str]]:
        """Return the versions made by rules, and how many are missing for each reason.

        If the text contains no listed word, this is the only reason, and it counts once.
        """
        if category not in self.swaps:
            raise FairlabError(f"no words for the identity category '{category}'; there are: {', '.join(self.swaps)}")
        swap = self.swaps[category]
        if subgroup not in swap.attributes:
            raise FairlabError(f"{category} has no subgroup '{subgroup}'; it has {', '.join(swap.attributes)}")
        made = {other: swap.turned(text, subgroup, other) for other in swap.attributes if other != subgroup}
        reasons = Counter(f"versions left out: {one.reason}" for one in made.values() if one.reason)
        if all(one.reason == NO_WORD for one in made.values()):
            reasons = Counter([NO_WORD])
        return {other: self._with_articles(one.text) for other, one in made.items() if one.text}, reasons

    def make(self, rows: Sequence[Row]) -> list[Made]:
        """Return every row followed by its versions, in order.

        Versions copy all other columns of the row.
        """
        versions: list[tuple[int, Version]] = []
        counts = [Counter[str]() for _ in rows]
        faults: dict[int, str] = {}
        if self.words is not None:
            rows = [replace(row, extra={**row.extra, SUBGROUP: self.words.named(row.text)}) for row in rows]
        for k, row in enumerate(rows):
            subgroup = str(row.extra.get(self.subgroup) or "")
            if subgroup in NOBODY:
                counts[k]["about no subgroup"] += 1
                continue
            try:
                found, left_out = self._start_versions(row.text, *subgroup.partition(":")[::2])
            except FairlabError as error:
                faults[k] = str(error)
                continue
            counts[k] += left_out
            versions += [(k, one) for one in found]
        done: dict[int, list[Version]] = {}
        for (k, _), one in zip(versions, self._finish_versions([one for _, one in versions]), strict=True):
            done.setdefault(k, []).append(one)
        return [
            Made(reason="unknown subgroup", detail=faults[k])
            if k in faults
            else self._made(row, done.get(k, []), counts[k])
            for k, row in enumerate(rows)
        ]

    @classmethod
    def made_by(cls, values: Mapping[str, Any]) -> dict[str, Any]:
        """Return the settings that determine the output, for the manifest.

        Raises:
            FairlabError: An axis was given.
        """
        refuse_axis(values, f"{cls.name} has its own identities")
        node = values["augmentation"]
        lexicons = identity_lexicons(node.get("identities", (SUBGROUPS,)))
        return {
            "axis": ", ".join(lexicon.axis for lexicon in lexicons),
            "inject": node["inject"],
            "lexicon_sha256": [lexicon.sha256 for lexicon in lexicons],
        }

    def _start_versions(self, text: str, category: str, subgroup: str) -> tuple[list[Version], Counter[str]]:
        """Return the versions to make, with texts if they are made by rules, and the reasons for missing ones."""
        # called in both modes, because it validates the subgroup
        made, left_out = self._turned(text, category, subgroup)
        if self.inject == "rules":
            return [Version(text, category, subgroup, other, version) for other, version in made.items()], left_out
        others = (other for other in self.swaps[category].attributes if other != subgroup)
        return [Version(text, category, subgroup, other) for other in others], Counter()

    def _finish_versions(self, versions: Sequence[Version]) -> list[Version]:
        """Return all versions, corrected and judged if there is a language model."""
        if self.injection is None:
            return list(versions)
        made = list(versions) if self.inject == "rules" else self.injection.injected(versions)
        left = [k for k, one in enumerate(made) if not one.failed]
        for k, judged in zip(left, self.injection.judged([made[k] for k in left]), strict=True):
            made[k] = judged
        for k, one in enumerate(made):
            if self.free is not None and not one.failed and lost_fact(one.original, {one.target: one.text}, self.free):
                made[k] = replace(one, failed=FACT_LOST)
        return made

    def _made(self, row: Row, versions: Sequence[Version], counts: Counter[str]) -> Made:
        """Return a row followed by its versions, which copy all other columns, including labels."""
        written, flagged = [{"id": row.id, **row.named, **row.extra}], []
        for one in versions:
            id_ = f"{row.id}-{one.target}"
            if one.failed:
                counts[f"versions without an answer: {one.failed}"] += 1
            elif one.text == row.text:
                counts["versions equal to their seed"] += 1
            elif (fields := named_fields(row, one.text)) is None:
                counts[f"versions without an answer: {NOT_SPLIT}"] += 1
            elif one.flagged and not self.kept.get(id_, False):
                counts["versions flagged"] += 1
                flagged.append(one)
            else:
                counts.update(
                    {"versions": 1, f"to/{one.category}:{one.target}": 1, "versions corrected": one.corrected}
                )
                counts["versions kept by review"] += bool(one.flagged)
                written.append(self._version(row, id_, one, fields))
        return Made(
            rows=tuple(written),
            reason=FLAGGED if flagged else "",
            detail="; ".join(f"{one.target}: {one.flagged}" for one in flagged),
            versions={one.target: one.text for one in flagged},
            counts=dict(counts),
        )

    def _version(self, row: Row, id_: str, one: Version, fields: Mapping[str, str]) -> dict[str, Any]:
        return {
            **row.extra,
            "id": id_,
            **fields,
            self.subgroup: f"{one.category}:{one.target}",
            "augmentation": self.name,
            "inject": self.inject,
            "corrected": one.corrected,
            "source_id": row.id,
            "source_place": row.place,
            "source_text": row.text,
            "changed": {"swapped": changes(row.text, one.text)},
        }

    def _with_articles(self, text: str) -> str:
        def mended(match: re.Match[str]) -> str:
            written, blanks, word = match.groups()
            if word.casefold() not in self.first_words:
                return match[0]
            return match_case(written, article(word)) + blanks + word

        return ARTICLE.sub(mended, text)


def read_review(path: Path) -> dict[str, bool]:
    """Read a review file, and return whether to keep each flagged version, by id.

    Raises:
        FairlabError: The file does not exist, or one of its lines has no decision.
    """
    if not path.is_file():
        raise FairlabError(f"{path} is not a review; give a review.jsonl with every 'keep' filled in")
    found = {}
    for number, line in enumerate(text_lines(path), start=1):
        try:
            entry = from_json(line)
            decision = entry["keep"]
            found[str(entry["id"])] = decision
        except (ValueError, KeyError, TypeError) as error:
            raise FairlabError(f"{path}, line {number} is not a reviewed version with id and keep ({error})") from error
        if not isinstance(decision, bool):
            raise FairlabError(f"{path}, line {number}: 'keep' must be true or false, not {json.dumps(decision)}")
    return found


def review_lines(rejected: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the flagged versions of a rejected row as lines of a review file, in which a person fills in ``keep``."""
    return [
        {
            "id": f"{rejected['id']}-{target}",
            "source_text": rejected["text"],
            "text": text,
            "why": rejected["detail"],
            "keep": None,
        }
        for target, text in rejected["versions"].items()
    ]
