"""Every claim with both labels: supported pairs with a name or a number exchanged in the claim, the evidence, or both.

The construction is that of Schuster et al. 2019, "Towards Debiasing Fact Verification Models", section 4, whose authors
wrote the new claims and evidence by hand; here a program does.
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
from fairlab.text.pipeline import parse
from fairlab.types import FairlabError, Made, Row

NOT_SUPPORTED = "evidence does not support the claim"
NOTHING_SHARED = "claim and evidence share no name or number that can be exchanged"
UNLIKELY = "every exchange makes the claim or the evidence less likely to a language model"
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


@dataclass(frozen=True)
class Exchange:
    """A pair with one of its names or numbers exchanged.

    Attributes:
        evidence: the evidence with the exchange.
        claim: the claim with it.
        what: ``a name`` or ``a number``.
    """

    evidence: str
    claim: str
    what: str


class Symmetric(Planned):
    """Makes four pairs of a supported one, in which each claim and each evidence stands once with each label.

    One name or number that claim and evidence share is exchanged by another of its kind from the other claims. Claim
    and evidence as they were, and both with the exchange, are a supported pair each; either with the other's exchange
    is a refuted one. Pairs of which no such four are made are left out, so a model that reads one field alone is at
    chance by construction; with ``others="kept"`` they stay as they are, with what their claims give away. Whether the
    claim's names stand in the evidence still tells the label, and an exchange makes some claims unproven rather than
    refuted.

    An exchange reads oddly where the new name is of another kind to a reader than to spaCy. With a language model
    several are drawn, and the one is taken that raises the negative log-likelihood of a token least, in the claim or in
    the evidence, whichever it raises more; a pair of which that is more than ``rise`` counts as one of which no four
    are made.

    Args:
        label: column of the label.
        others: what becomes of the pairs of which no four are made: ``left_out`` or ``kept``.
        language_model: a causal LM that checks the exchanges; None takes the first one drawn.
        candidates: exchanges drawn for each name or number where a language model chooses, at least 1.
        rise: most that an exchange may raise the negative log-likelihood of a token, in nats; below 0 it has to fall.
        seed: seed of the choice among the names or numbers of a pair, and of what takes their place.

    Raises:
        CannotScore: the language model is not a causal one.
        FairlabError: ``others`` is neither, or ``candidates`` is below 1; in ``decide``, a row has no label or no
            evidence, or no pair is supported.
    """

    title = "claims with both labels by exchange"
    limits = "Names and numbers alone are exchanged, by a program that does not know whether the result makes sense."
    citation = """@inproceedings{schuster2019towards,
  title = {Towards Debiasing Fact Verification Models},
  author = {Schuster, Tal and Shah, Darsh and Yeo, Yun Jie Serene and Roberto Filizzola Ortiz, Daniel and
    Santus, Enrico and Barzilay, Regina},
  booktitle = {Proceedings of EMNLP-IJCNLP},
  year = {2019}
}"""
    name = "symmetric"
    plan = "fairlab.run.augmenting.whole_set.WholeSet"
    needs_rewriter = False

    def __init__(
        self,
        *,
        label: str = "label",
        others: Literal["left_out", "kept"] = "left_out",
        language_model: Backbone | None = None,
        candidates: int = 3,
        rise: float = 0.1,
        seed: int = 0,
    ) -> None:
        if others not in ("left_out", "kept"):
            raise FairlabError(f"augmentation.others must be left_out or kept, not {others}")
        if candidates < 1:
            raise FairlabError(f"augmentation.candidates must be at least 1, not {candidates}")
        self.label, self.others, self.seed = label, others, seed
        self.model = None if language_model is None else CausalLM(language_model)
        self.candidates, self.rise = 1 if self.model is None else candidates, rise

    @classmethod
    def made_by(cls, values: Mapping[str, Any]) -> dict[str, Any]:
        """The column of the label, what became of other pairs and what checked them, for an output's manifest.

        Raises:
            FairlabError: an axis was given.
        """
        refuse_axis(values, "symmetric exchanges names and numbers of claims without an axis")
        node = values["augmentation"]
        settings = {name: node[name] for name in ("label", "others")}
        if node["language_model"]:
            settings |= {name: node[name] for name in ("candidates", "rise")}
            settings["language_model"] = node["language_model"]["name"]
        return settings

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
        made |= self._made(supported, [self._offered(row, terms[row.number], pool) for row in supported])
        if self.others == "kept":
            made |= {row.number: stays(row) for row in rows if not made[row.number].rows}
        return made

    def _made(self, rows: Sequence[Row], offered: Sequence[Sequence[Exchange]]) -> dict[int, Made]:
        """The four pairs of every row that has an exchange, by its number."""
        best = [some[0] if some else None for some in offered] if self.model is None else self._likeliest(rows, offered)
        return {
            row.number: Made(rows=tuple(self._quadruple(row, one)), counts={"quadruples": 1, f"by {one.what}": 1})
            if one
            else Made(reason=UNLIKELY if some else NOTHING_SHARED)
            for row, some, one in zip(rows, offered, best, strict=True)
        }

    def _offered(self, row: Row, terms: Sequence[Term], pool: Mapping[str, Sequence[str]]) -> list[Exchange]:
        """Exchanges to choose from, as they were drawn, each once."""
        draw, drawn = Random(f"{self.seed} {row.number}"), dict[Exchange, None]()
        evidence, claim = row.fields
        for term in draw.sample(list(terms), len(terms)):
            others = [text for text in pool[term.kind] if not _shares_a_word(text, f"{evidence} {claim}")]
            for _ in range(self.candidates if others else 0):
                if exchanged := _exchanged(evidence, claim, term.text, draw.choice(others)):
                    drawn[Exchange(*exchanged, _sort(term))] = None
        return list(drawn)

    def _likeliest(self, rows: Sequence[Row], offered: Sequence[Sequence[Exchange]]) -> list[Exchange | None]:
        """Of every row the exchange that the language model finds oddest by least; None above ``rise``."""
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
    """Names and numbers of every claim, each once."""
    found = []
    for doc in parse((row.fields[1] for row in rows), entities=True):
        names = [
            Term(entity.text, f"{entity.label_} of {len(entity)}") for entity in doc.ents if entity.label_ in NAMES
        ]
        numbers = [Term(one, f"number of {len(one)} that begins with {one[0]}") for one in NUMBER.findall(doc.text)]
        found.append(list(dict.fromkeys([*names, *numbers])))
    return found


def rises(model: CausalLM, pairs: Sequence[tuple[Sequence[str], Sequence[str]]]) -> list[float]:
    """Most that each exchange raises the negative log-likelihood of a token in one of its texts, in nats.

    Args:
        model: a causal LM.
        pairs: the texts as they were and the same ones with the exchange.
    """
    texts = [text for pair in pairs for some in pair for text in some]
    likelihood = dict(zip(texts, model.log_likelihoods(texts, progress="exchanges read").means, strict=True))
    return [max(float(likelihood[was] - likelihood[now]) for was, now in zip(*pair, strict=True)) for pair in pairs]


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
