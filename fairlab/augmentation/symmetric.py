"""Claims with both labels, made from supported pairs by exchanging a name or number in the claim, the evidence or both.

The construction is an automatic variant of Schuster et al. 2019, "Towards Debiasing Fact Verification Models", section
4, whose authors wrote the new claims and evidence by hand.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import inf
from random import Random
from typing import Any, Literal

from fairlab.augmentation.filtering import stays
from fairlab.backbones.backbone import Backbone
from fairlab.backbones.causal_lm import CausalLM
from fairlab.protocols import Planned, refuse_axis
from fairlab.rewriting.labelled.label_keeping import CONTRASTS, labelled_item
from fairlab.text.papers import SCHUSTER_2019
from fairlab.text.pipeline import parse
from fairlab.types import Count, FairlabError, Made, Row

NOT_SUPPORTED = "evidence does not support the claim"
NOTHING_SHARED = "claim and evidence share no name or number that can be exchanged"
UNLIKELY = "every exchange makes the claim or the evidence less likely to a language model"
NUMBER = re.compile(r"(?<![\w.,-])\d+(?![\w-]|[.,]\d)")  # a whole number, not part of another number or a word
NAMES = ("PERSON", "GPE", "NORP", "ORG", "FAC", "LOC", "EVENT", "LANGUAGE")


@dataclass(frozen=True)
class Term:
    """Name or number in a claim.

    Attributes:
        text: Text of the term as written in the claim.
        kind: Class of terms that the term can be exchanged with: the kind of name and its number of words, or the
            number of digits and the first digit.
    """

    text: str
    kind: str


@dataclass(frozen=True)
class Exchange:
    """Claim and evidence in which a name or number is exchanged.

    Attributes:
        evidence: Evidence with the new name or number.
        claim: Claim with the new name or number.
        what: Kind of the exchanged term, ``a name`` or ``a number``.
    """

    evidence: str
    claim: str
    what: str


class Symmetric(Planned):
    """Augmentation that makes four pairs from a supported pair, with each claim and each evidence once per label.

    A name or number that occurs in both claim and evidence is exchanged for another of the same kind from the other
    claims. The original claim and the original evidence form a supported pair, and so do the changed claim and the
    changed evidence. An original and a changed text form a refuted pair. Pairs without a possible exchange are omitted,
    so a model that reads only one field performs at chance by construction. With ``others="kept"`` they stay unchanged,
    including the shortcuts in their claims. Two shortcomings remain. The label can still be predicted by checking
    whether the names in the claim occur in the evidence, and an exchange makes some claims unproven instead of refuted.

    An exchange reads oddly if spaCy assigns the wrong kind to the new name. With a language model, several exchanges
    are drawn, and the exchange with the smallest rise in the negative log-likelihood per token is used. The rise is
    computed in the claim and in the evidence, and the larger value counts. If it is above ``rise``, the pair is treated
    like a pair without a possible exchange.

    Args:
        label: Column of the label.
        others: Treatment of pairs without a possible exchange: ``left_out`` or ``kept``.
        language_model: Causal LM that selects an exchange; with None, the first exchange drawn is used.
        candidates: Number of exchanges drawn per name or number if there is a language model, at least 1.
        rise: Maximum rise of a token's negative log-likelihood by an exchange, in nats; a value below 0 requires a
            decrease.
        seed: Seed for the choice among the names or numbers of a pair, and among their replacements.

    Raises:
        CannotScore: The language model is not causal.
        FairlabError: In ``decide``, if a row has no evidence, or if no pair is supported.
    """

    title = "claims with both labels by exchange"
    limits = "Only names and numbers are exchanged, without checking whether the result makes sense."
    citation = SCHUSTER_2019
    name = "symmetric"
    plan = "fairlab.run.augmenting.whole_set.WholeSet"
    needs_rewriter = False

    def __init__(
        self,
        *,
        label: str = "label",
        others: Literal["left_out", "kept"] = "left_out",
        language_model: Backbone | None = None,
        candidates: Count = 3,
        rise: float = 0.1,
        seed: int = 0,
    ) -> None:
        self.label, self.others, self.seed = label, others, seed
        self.model = None if language_model is None else CausalLM(language_model)
        self.candidates, self.rise = 1 if self.model is None else candidates, rise

    @classmethod
    def made_by(cls, values: Mapping[str, Any]) -> dict[str, Any]:
        """Return the settings that determine the output, for the manifest.

        These settings are the column of the label, the treatment of other pairs, and the check by a language model.

        Raises:
            FairlabError: An axis was given.
        """
        refuse_axis(values, "symmetric exchanges names and numbers of claims without an axis")
        node = values["augmentation"]
        settings = {name: node[name] for name in ("label", "others")}
        if node["language_model"]:
            settings |= {name: node[name] for name in ("candidates", "rise")}
            settings["language_model"] = node["language_model"]["name"]
        return settings

    def decide(self, rows: Sequence[Row]) -> dict[int, Made]:
        """Return the output for every row, by the row's number."""
        if short := next((row for row in rows if len(row.fields) != 2), None):
            raise FairlabError(
                f"{short.place} has {len(short.fields)} texts, but augmentation=symmetric needs claims with "
                "evidence; give field=[EVIDENCE,CLAIM]"
            )
        supported = [row for row in rows if labelled_item(row, self.label).label in CONTRASTS]
        if not supported:
            raise FairlabError(f"no row is labelled {' or '.join(CONTRASTS)}; augmentation=symmetric needs such rows")
        terms = dict(zip((row.number for row in supported), found_terms(supported), strict=True))
        pool: dict[str, list[str]] = defaultdict(list)
        for term in sorted({term for some in terms.values() for term in some}, key=lambda one: (one.kind, one.text)):
            pool[term.kind].append(term.text)
        made = {row.number: Made(reason=NOT_SUPPORTED) for row in rows}
        made |= self._made(supported, [self._draw_exchanges(row, terms[row.number], pool) for row in supported])
        if self.others == "kept":
            made |= {row.number: stays(row) for row in rows if not made[row.number].rows}
        return made

    def _made(self, rows: Sequence[Row], offered: Sequence[Sequence[Exchange]]) -> dict[int, Made]:
        """Return the four pairs made from every row, or the reason why there are none, by the row's number."""
        best = (
            [some[0] if some else None for some in offered]
            if self.model is None
            else self._likeliest_exchanges(rows, offered)
        )
        return {
            row.number: Made(rows=tuple(self._quadruple(row, one)), counts={"quadruples": 1, f"by {one.what}": 1})
            if one
            else Made(reason=UNLIKELY if some else NOTHING_SHARED)
            for row, some, one in zip(rows, offered, best, strict=True)
        }

    def _draw_exchanges(self, row: Row, terms: Sequence[Term], pool: Mapping[str, Sequence[str]]) -> list[Exchange]:
        """Draw the exchanges to choose from, and return the distinct ones in the order they were drawn."""
        draw, drawn = Random(f"{self.seed} {row.number}"), dict[Exchange, None]()
        evidence, claim = row.fields
        for term in draw.sample(list(terms), len(terms)):
            sort = "a number" if term.kind.startswith("number") else "a name"
            others = [text for text in pool[term.kind] if not _shares_a_word(text, f"{evidence} {claim}")]
            for _ in range(self.candidates if others else 0):
                if exchanged := _exchange_term(evidence, claim, term.text, draw.choice(others)):
                    drawn[Exchange(*exchanged, sort)] = None
        return list(drawn)

    def _likeliest_exchanges(self, rows: Sequence[Row], offered: Sequence[Sequence[Exchange]]) -> list[Exchange | None]:
        """Return each row's exchange with the smallest rise under the model, or None if it exceeds the maximum."""
        assert self.model is not None
        pairs = [
            (row.fields, (one.evidence, one.claim)) for row, some in zip(rows, offered, strict=True) for one in some
        ]
        found = iter(rises(self.model, pairs))
        best = []
        for some in offered:
            least, one = min(((next(found), one) for one in some), key=lambda each: each[0], default=(inf, None))
            best.append(one if least <= self.rise else None)
        return best

    def _quadruple(self, row: Row, made: Exchange) -> Iterator[dict[str, Any]]:
        supported = row.extra[self.label]
        refuted = CONTRASTS[supported]
        evidence, claim = row.fields
        pairs = [
            (evidence, claim, supported),
            (made.evidence, made.claim, supported),
            (evidence, made.claim, refuted),
            (made.evidence, claim, refuted),
        ]
        for number, (*fields, label) in enumerate(pairs):
            texts = dict(zip(row.names, fields, strict=True))
            yield {**row.extra, **texts, "id": f"{row.id}-{number}", "source_id": row.id, self.label: label}


def found_terms(rows: Sequence[Row]) -> list[list[Term]]:
    """Return the distinct names and numbers in every claim."""
    found = []
    for doc in parse((row.fields[1] for row in rows), entities=True):
        names = [
            Term(entity.text, f"{entity.label_} of {len(entity)}") for entity in doc.ents if entity.label_ in NAMES
        ]
        numbers = [Term(one, f"number of {len(one)} that begins with {one[0]}") for one in NUMBER.findall(doc.text)]
        found.append(list(dict.fromkeys([*names, *numbers])))
    return found


def rises(model: CausalLM, pairs: Sequence[tuple[Sequence[str], Sequence[str]]]) -> list[float]:
    """Return the largest rise in the negative log-likelihood per token that each exchange causes in a text, in nats.

    Args:
        model: Causal LM.
        pairs: For each exchange, the original texts and the texts with the exchange.
    """
    texts = [text for pair in pairs for some in pair for text in some]
    likelihood = dict(zip(texts, model.log_likelihoods(texts, progress="exchanges read").means, strict=True))
    return [max(float(likelihood[was] - likelihood[now]) for was, now in zip(*pair, strict=True)) for pair in pairs]


def _exchange_term(evidence: str, claim: str, old: str, new: str) -> tuple[str, str] | None:
    """Exchange a term in evidence and claim.

    Returns:
        Changed evidence and claim, or None if the term is not in both or a part of it remains.
    """
    whole = re.compile(rf"(?<!\w){re.escape(old)}(?!\w)")
    if not (whole.search(evidence) and whole.search(claim)):
        return None
    made = whole.sub(lambda _: new, evidence), whole.sub(lambda _: new, claim)
    return None if any(_shares_a_word(old, text) for text in made) else made


def _shares_a_word(term: str, text: str) -> bool:
    """Return whether a text contains a capitalised word or a number of the term."""
    words = {word.casefold() for word in re.findall(r"\w+", term) if word[0].isupper() or word[0].isdigit()}
    return not words.isdisjoint(word.casefold() for word in re.findall(r"\w+", text))
