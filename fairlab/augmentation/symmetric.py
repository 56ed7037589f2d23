"""Every claim with both labels: supported pairs with a name or a number exchanged in the claim, the evidence, or both.

The construction is that of Schuster et al. 2019, "Towards Debiasing Fact Verification Models", section 4, whose authors
wrote the new claims and evidence by hand; here a program does.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any, Literal

from fairlab.augmentation.filtering import stays
from fairlab.protocols import Planned, refuse_axis
from fairlab.rewriting.label_keeping import CONTRASTS, labelled_item
from fairlab.text.pipeline import parse
from fairlab.types import FairlabError, Made, Row

NOT_SUPPORTED = "evidence does not support the claim"
NOTHING_SHARED = "claim and evidence share no name or number that can be exchanged"
NUMBER = re.compile(r"(?<![\w.,-])\d+(?![\w-]|[.,]\d)")  # a whole number, no part of another or of a word
NAMES = ("PERSON", "GPE", "NORP", "ORG", "FAC", "LOC", "EVENT", "LANGUAGE")


@dataclass(frozen=True)
class Term:
    """A name or a number.

    Attributes:
        text: as it stands in the text.
        kind: what it may be exchanged with: kind of name and number of words, or number of digits and the first one.
    """

    text: str
    kind: str


class Symmetric(Planned):
    """Makes four pairs of a supported one, in which each claim and each evidence stands once with each label.

    One name or number that claim and evidence share is exchanged by another of its kind from the other claims. Claim
    and evidence as they were, and both with the exchange, are a supported pair each; either with the other's exchange
    is a refuted one. Pairs of which no such four are made are left out, so a model that reads one field alone is at
    chance by construction; with ``others="kept"`` they stay as they are, with what their claims give away. Whether the
    claim's names stand in the evidence still tells the label, and an exchange makes some claims unproven rather than
    refuted.

    Args:
        label: column of the label.
        others: what becomes of the pairs of which no four are made: ``left_out`` or ``kept``.
        seed: seed of the choice among the names or numbers of a pair, and of what takes their place.

    Raises:
        FairlabError: ``others`` is neither; in ``decide``, a row has no label or no evidence, or no pair is supported.
    """

    name = "symmetric"
    plan = "fairlab.plans.whole_set.WholeSet"
    needs_rewriter = False

    def __init__(
        self, *, label: str = "label", others: Literal["left_out", "kept"] = "left_out", seed: int = 0
    ) -> None:
        if others not in ("left_out", "kept"):
            raise FairlabError(f"augmentation.others must be left_out or kept, not {others}")
        self.label, self.others, self.seed = label, others, seed

    @classmethod
    def made_by(cls, values: Mapping[str, Any]) -> dict[str, Any]:
        """The column of the label and what became of other pairs, for an output's manifest.

        Raises:
            FairlabError: an axis was given.
        """
        refuse_axis(values, "symmetric exchanges names and numbers of claims without an axis")
        return {name: values["augmentation"][name] for name in ("label", "others")}

    def decide(self, rows: Sequence[Row]) -> dict[int, Made]:
        """What becomes of every row, by its number."""
        if short := next((row for row in rows if len(row.fields) != 2), None):
            raise FairlabError(
                f"{short.place} has {len(short.fields)} texts, and augmentation=symmetric works on claims with "
                "evidence; give field=[EVIDENCE,CLAIM]"
            )
        supported = [row for row in rows if labelled_item(row, self.label).label in CONTRASTS]
        if not supported:
            raise FairlabError(f"no row is labelled {' or '.join(CONTRASTS)}; augmentation=symmetric starts from those")
        terms = dict(zip((row.number for row in supported), found_terms(supported), strict=True))
        pool: dict[str, list[str]] = defaultdict(list)
        for term in sorted({term for some in terms.values() for term in some}, key=lambda one: (one.kind, one.text)):
            pool[term.kind].append(term.text)
        made = {row.number: Made(reason=NOT_SUPPORTED) for row in rows}
        made |= {row.number: self._made(row, terms[row.number], pool) for row in supported}
        if self.others == "kept":
            made |= {row.number: stays(row) for row in rows if not made[row.number].rows}
        return made

    def _made(self, row: Row, terms: Sequence[Term], pool: Mapping[str, Sequence[str]]) -> Made:
        draw = Random(f"{self.seed} {row.number}")
        evidence, claim = row.fields
        for term in draw.sample(list(terms), len(terms)):
            others = [text for text in pool[term.kind] if not _shares_a_word(text, f"{evidence} {claim}")]
            if others and (exchanged := _exchanged(evidence, claim, term.text, draw.choice(others))):
                return Made(
                    rows=tuple(self._quadruple(row, exchanged)), counts={"quadruples": 1, f"by {_sort(term)}": 1}
                )
        return Made(reason=NOTHING_SHARED)

    def _quadruple(self, row: Row, exchanged: tuple[str, str]) -> Iterator[dict[str, Any]]:
        supported = row.extra[self.label]
        refuted = CONTRASTS[supported]
        (evidence, claim), (other_evidence, other_claim) = row.fields, exchanged
        pairs = [
            (evidence, claim, supported),
            (other_evidence, other_claim, supported),
            (evidence, other_claim, refuted),
            (other_evidence, claim, refuted),
        ]
        for number, (*fields, label) in enumerate(pairs):
            texts = dict(zip(row.names, fields, strict=True))
            yield {**row.extra, **texts, "id": f"{row.id}-{number}", "source_id": row.id, self.label: label}


def found_terms(rows: Sequence[Row]) -> list[list[Term]]:
    """Names and numbers of every claim, each once."""
    found = []
    for doc in parse((row.fields[1] for row in rows), entities=True):
        names = [
            Term(entity.text, f"{entity.label_} of {len(entity)}") for entity in doc.ents if entity.label_ in NAMES
        ]
        numbers = [Term(one, f"number of {len(one)} that begins with {one[0]}") for one in NUMBER.findall(doc.text)]
        found.append(list(dict.fromkeys([*names, *numbers])))
    return found


def _exchanged(evidence: str, claim: str, old: str, new: str) -> tuple[str, str] | None:
    """Evidence and claim with the exchange; None where it leaves a part of what was exchanged behind."""
    whole = re.compile(rf"(?<!\w){re.escape(old)}(?!\w)")
    if not (whole.search(evidence) and whole.search(claim)):
        return None
    made = whole.sub(lambda _: new, evidence), whole.sub(lambda _: new, claim)
    return None if any(_shares_a_word(old, text) for text in made) else made


def _shares_a_word(term: str, text: str) -> bool:
    """Whether a word of a name, or a number, stands in a text."""
    words = {word.casefold() for word in re.findall(r"\w+", term) if word[0].isupper() or word[0].isdigit()}
    return not words.isdisjoint(word.casefold() for word in re.findall(r"\w+", text))


def _sort(term: Term) -> str:
    return "a number" if term.kind.startswith("number") else "a name"
