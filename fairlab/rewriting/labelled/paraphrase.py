"""Offline rewriter of labelled texts, which removes negations, adds openers, and replaces words by likely synonyms.

It replaces the language model of RAZOR if none is available. The vocabulary is in ``paraphrases.yaml``.
"""

from __future__ import annotations

import hashlib
import random
import re
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from fairlab.backbones.backbone import Backbone
from fairlab.backbones.masked_lm import MaskedLM
from fairlab.files import sha256
from fairlab.rewriting.english.edits import apply_edits
from fairlab.rewriting.labelled.affirming import Affirming
from fairlab.rewriting.labelled.label_keeping import Labelled
from fairlab.rewriting.labelled.same_facts import differing_facts
from fairlab.text.difference import stretches
from fairlab.text.surface_tokens import surface_tokens
from fairlab.text.view import Edit
from fairlab.text.words import TermFinder, match_case

LISTS = Path(__file__).with_name("paraphrases.yaml")
WORD = re.compile(r"[^\W\d_]+(?:-[^\W\d_]+)*")
FITTING = 400  # number of likeliest words at a position among which a synonym must be
VARIANTS = 3  # maximum number of rewrites of a text without its negations
# Words that are capitalised only because they begin a sentence.
SMALL = frozenset(
    "the a an this that these those it its he she they we i you his her their our my your there here in on at by for "
    "of with from as when while if after before since because although though some all most many each every both one "
    "no not hardly nobody nothing never none to avoid refrain don".split()
)
FUNCTION = frozenset(
    "a an the and or but of to in on at by for with from as is are was were be been being am do does did has have had "
    "will would can could shall should may might must it its this that these those there here any some all so than "
    "then too also ever always still just i you he she we they me him her us them my your his our their who which what "
    "s re m ve d ll t one being ca wo sha".split()
)


class Paraphrase:
    """Offline rewriter of labelled texts that does not use the label or the context.

    Negations are removed if a rule of :mod:`fairlab.rewriting.labelled.affirming` applies. Every second rewrite gets an
    opener (*In fact, ...*). Then one word is replaced by a listed synonym, the likeliest one in context according to
    the masked LM.

    Args:
        language_model: Masked LM; None leaves words unchanged.
        negate: Whether to replace a word by the negation of its opposite (*closed* by *not open*), if the opposite is
            listed, in the second half of the rewrites of a text without negations. This is meant for a score that
            depends on words; other scores accept such rewrites blindly.
        seed: Seed that, together with the text, determines the openers and the replaced words.

    Raises:
        CannotScore: The backbone is not a masked LM.
    """

    title = "offline paraphrase of labelled texts"
    limits = "A small masked LM chooses synonyms, and English rules rewrite negations; variety is low."
    citation = "This rewriter is fairlab's own."

    def __init__(self, *, language_model: Backbone | None = None, negate: bool = False, seed: int = 0) -> None:
        self.negate = negate
        self.affirming = Affirming(lists()["complements"], lists()["negations"], lists()["opposites"])
        self.model = None if language_model is None else MaskedLM(language_model)
        self.seed = seed
        self.provenance: dict[str, Any] = {
            "rewriter": "offline: rules and contextual substitution" if self.model else "offline: rules",
            "paraphrases_sha256": sha256(LISTS),
            "seed": seed,
        }

    def rewrites(self, items: Sequence[Labelled], count: int) -> list[list[str]]:
        """Return rewrites; see :class:`fairlab.rewriting.labelled.label_keeping.LabelledRewriter`."""
        texts = [item.text for item in items]
        affirmed = self.affirming(texts, min(count, VARIANTS))
        negated = self.affirming.negating(texts) if self.negate else [[] for _ in texts]
        asked: list[tuple[int, str]] = []
        for number, (text, said) in enumerate(zip(texts, affirmed, strict=True)):
            bases = said or [text]
            turned = [] if said else negated[number][: count // 2]
            asked += [(number, self._add_opener(bases[k % len(bases)], k)) for k in range(count - len(turned))]
            asked += [(number, one) for one in turned]
        made: list[list[str]] = [[] for _ in texts]
        for (number, _), text in zip(asked, self._substitute([text for _, text in asked]), strict=True):
            if text != texts[number] and text not in made[number] and len(made[number]) < count:
                made[number].append(text)
        return made

    def _add_opener(self, text: str, place: int) -> str:
        """Put an opener before the text of every second rewrite."""
        if place % 2 == 0:
            return text
        opener = _rng(self.seed, text, place).choice(lists()["openers"])
        first = re.match(r"\w+", text)
        small = first is not None and first.group().casefold() in SMALL and first.group() != "I"
        return f"{opener}, {text[0].lower() + text[1:] if small else text}"

    def _substitute(self, texts: Sequence[str]) -> list[str]:
        """Replace one word of each text by its likeliest synonym, if there is one."""
        if self.model is None:
            return list(texts)
        known, places = synonyms(), list[tuple[int, re.Match[str]]]()
        for number, text in enumerate(texts):
            found = [match for match in WORD.finditer(text) if match.group().casefold() in known]
            if found:
                places.append((number, _rng(self.seed, text, 0).choice(found)))
        masked = [texts[k][: m.start()] + self.model.mask + texts[k][m.end() :] for k, m in places]
        queries = list(dict.fromkeys(masked))
        likely = dict(zip(queries, self.model.fillers(queries, top=FITTING), strict=True)) if queries else {}
        made = list(texts)
        for (number, match), query in zip(places, masked, strict=True):
            old = match.group()
            for new in likely[query][0] if likely[query] else []:
                if new.casefold() in known[old.casefold()] and new.casefold() != old.casefold():
                    made[number] = apply_edits(texts[number], [Edit(*match.span(), match_case(old, new.casefold()))])
                    break
        return made


class LexicalEntailment:
    """Word-based check that a rewrite has the meaning of its source.

    A fault is reported if numbers or capitalised names differ, if the number of words that reverse a sentence
    (``turning`` in ``paraphrases.yaml``) changes between odd and even, or if a content word is added or removed.
    Exceptions are inflections, listed synonyms, and parts of an opener or of a rule's replacement for a negation.

    The check uses neither label nor context: it accepts rewrites that seem to keep the meaning, and thus the label. It
    does not detect changes of word order, semantic role, tense or scope, or that *hardly* is weaker than *not*. It
    rejects most good rewrites by a language model, because it does not know their words; such rewrites need the
    language model's own check.
    """

    name = "lexical"

    def __init__(self) -> None:
        said = lists()
        opposites = said["opposites"]
        self.turning = TermFinder([*said["turning"], *opposites.values()])
        self.idle = TermFinder(said["idle"])
        phrases = [*said["openers"], *said["turning"], *said["complements"], *said["complements"].values()]
        phrases += [*opposites, *opposites.values()]
        phrases += ["precious little anything anyone anywhere something else neglect avoid stop"]
        self.free = FUNCTION | {_lemma(token) for phrase in phrases for token in surface_tokens(phrase)}

    def faults(self, items: Sequence[Labelled], made: Sequence[str]) -> list[str | None]:
        """Return the fault of each rewrite; see :class:`fairlab.rewriting.labelled.label_keeping.LabelCheck`."""
        return [self._fault(item.text, text) for item, text in zip(items, made, strict=True)]

    def _fault(self, old: str, new: str) -> str | None:
        if differing := differing_facts(old, new):
            return differing
        if (self._turns(old) - self._turns(new)) % 2:
            return "turned around"
        for before, after in stretches(surface_tokens(old), surface_tokens(new)):
            if before != after and (word := self._find_unmatched(before, after)):
                return f"'{word}' has no counterpart"
        return None

    def _turns(self, text: str) -> int:
        idle = [(span.start, span.end) for span in self.idle.find(text)]
        apart = text.replace("’", "'")
        contracted = len(re.findall(r"n't\b", apart))
        inside = [span for span in self.turning.find(text) if not any(a <= span.start < b for a, b in idle)]
        return contracted + sum(span.term != "n't" for span in inside)

    def _find_unmatched(self, before: Sequence[str], after: Sequence[str]) -> str:
        """Return a content word on one side without a counterpart on the other, or an empty string."""
        known = synonyms()
        for some, others in ((before, after), (after, before)):
            counterparts = {_lemma(token) for token in others}
            counterparts |= {word for token in others for word in known.get(token, ())}
            for token in some:
                if _lemma(token) not in self.free | counterparts and token not in counterparts | self.free:
                    return token
        return ""


@cache
def lists() -> dict[str, Any]:
    """Load the vocabulary of the rewriter."""
    found: dict[str, Any] = yaml.safe_load(LISTS.read_text(encoding="utf-8"))
    return found


@cache
def synonyms() -> Mapping[str, frozenset[str]]:
    """Return the listed words with their possible replacements."""
    found: dict[str, set[str]] = {}
    for words in lists()["synonyms"]:
        for word in words:
            found.setdefault(word, set()).update(other for other in words if other != word)
    return {word: frozenset(others) for word, others in found.items()}


@cache
def _lemma(token: str) -> str:
    from lemminflect import getLemma

    for part in ("VERB", "NOUN"):
        if lemmas := getLemma(token, upos=part, lemmatize_oov=False):
            return str(lemmas[0])
    return token


def _rng(seed: int, text: str, place: int) -> random.Random:
    return random.Random(hashlib.sha256(f"{seed}:{place}:{text}".encode()).digest())
