"""Upshift: a text with a tenth of its words replaced or joined by others that a language model finds likely there.

Source: Mondal and Lipizzi 2024, section 3.1, "upshifted through contextual word embedding sentence augmentation"; how
much of a text that changes is not said. The words are chosen here by this project's rule, and never a biaser.
"""

from __future__ import annotations

import hashlib
import random
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from fairlab.backbones.backbone import Backbone
from fairlab.backbones.causal_lm import CausalLM
from fairlab.backbones.masked_lm import MaskedLM
from fairlab.rewriting.english.edits import fitted_edits, starts_sentence
from fairlab.rewriting.english.protected import protected_spans
from fairlab.text.pipeline import parse
from fairlab.text.sentences import sentence_spans
from fairlab.text.view import Edit, read_view

SHARE = 0.1  # of the words
TRIED, FEWEST_TRIED = 2, 8  # places that are tried for each one that may change, and at least
LIKELIEST = (3, 20)  # words of the model at a place, of which one may come in; more where none of the first agrees
HIDDEN = "X"  # what the parser reads in the place of a word of the axis
BEFORE = {"JJ": "NN", "RB": "VB"}  # tags of words that may be put in, and how those of the words begin that they join
SHORTEST = 4  # letters of a word that may be replaced: shorter ones are mostly grammar
TOKENS = 30  # of a sentence that is added
WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)*")

# Neither replaced nor put in: grammar hangs on them, and negation turns a text's sense.
GRAMMAR = frozenset(
    """
    not never none nothing nobody neither nor no without hardly barely cannot every each with from that this these those
    than then when where which while whom whose into onto over under upon about after before between against within
    among through during since until because although though have been were will would shall should could might must
    does their them they your yours ours mine itself there here also only
    """.split()
)

Held = Callable[[str], list[tuple[int, int]]]


@dataclass(frozen=True)
class Place:
    """A place of a text where a word may be replaced, or another put before it.

    Attributes:
        edit: the place in the text, with nothing new yet; of no width where a word is put in.
        word: number of the word that stands there.
        query: the sentence with the model's mask there, and for every word that must stay.
        mask: which of the query's masks it is.
        around: the sentence before and after the place, with :data:`HIDDEN` for every word that must stay.
        old: the word that would be replaced; empty where one is put in.
    """

    edit: Edit
    word: int
    query: str
    mask: int
    around: tuple[str, str]
    old: str

    @property
    def unchanged(self) -> str:
        """The sentence as it is."""
        return f"{self.around[0]}{self.old}{self.around[1]}"

    def inserted_as(self, word: str) -> str:
        """A word as it stands at the place, with a blank where it is put before another."""
        return word if self.old else f"{word} "

    def inserted(self, word: str) -> str:
        """The sentence with a word at the place."""
        return f"{self.around[0]}{self.inserted_as(word)}{self.around[1]}"


class WordUpshift:
    """Replaces words, or puts words before them, by one of those a masked LM finds likeliest there, where it agrees.

    A place, a word or by a coin the gap before it, is asked about by itself. Words of the axis, words in addresses and
    code, capitalised and short words are not replaced; words of the axis, short words, negations and the like, and
    words that stand in the sentence already do not come in. A word agrees that has the part of speech, number and tense
    of the one it replaces, or is an adverb or adjective that belongs to the word it is put before, and leaves the parts
    of speech of all other words as they were. Places are tried in an order drawn at random until a tenth of the words
    are changed, no two side by side, or twice as many places were tried. The three likeliest words are tried, and
    where none of them agrees with a text, twenty. Words of the axis are hidden from the model, the parser and the
    choice of places, so that copies of one text that differ in them alone change alike and no member gets words of its
    own.

    Args:
        backbone: a masked LM with its tokenizer.
        held: function from a text to the spans that must stay: the words of the axis.
        seed: seed that decides, with the text less the words of the axis, which words change.

    Raises:
        CannotScore: the backbone is no masked LM.
    """

    name = "word"

    def __init__(self, backbone: Backbone, held: Held, seed: int = 0) -> None:
        self.model = MaskedLM(backbone)
        self.held, self.seed = held, seed

    def __call__(self, texts: Sequence[str]) -> list[str]:
        """Every text upshifted; one without a word that may change stays as it is."""
        views = [read_view(text) for text in texts]
        places = [self._places(view.text) for view in views]
        asked = list(dict.fromkeys(place.query for some, _ in places for place in some))
        likely = dict(zip(asked, self.model.fillers(asked, top=max(LIKELIEST)), strict=True))
        found: dict[int, list[Edit]] = {}
        for likeliest in LIKELIEST:
            left = [number for number in range(len(texts)) if not found.get(number)]
            tried = [place for number in left for place in places[number][0]]
            words = self._agreeing({place: self._fitting(place, likely[place.query], likeliest) for place in tried})
            found |= {number: _chosen(places[number][0], words, places[number][1]) for number in left}
        return [view.write(fitted_edits(view.text, found[number])) for number, view in enumerate(views)]

    def _places(self, text: str) -> tuple[list[Place], int]:
        """The places to try, in their order, and how many of them may change."""
        held = self.held(text)
        stay = [*held, *protected_spans(text)]
        words = [match.span() for match in WORD.finditer(text)]
        words = [span for span in words if not any(first < span[1] and span[0] < last for first, last in stay)]
        free = [number for number, span in enumerate(words) if _may_change(text, *span)]
        changed = min(len(free), max(1, round(SHARE * len(words))))
        hidden = " ".join(text[start:end] for start, end in words)
        rng = random.Random(hashlib.sha256(f"{self.seed}:{hidden}".encode()).digest())
        drawn = [
            (number, rng.random() < 0.5)
            for number in rng.sample(free, min(len(free), max(FEWEST_TRIED, TRIED * changed)))
        ]
        sentences = sentence_spans(text)
        found = [self._place(text, words[number], number, replaces, held, sentences) for number, replaces in drawn]
        return [place for place in found if place], changed

    def _place(
        self,
        text: str,
        span: tuple[int, int],
        number: int,
        replaces: bool,
        held: Sequence[tuple[int, int]],
        sentences: Sequence[tuple[int, int]],
    ) -> Place | None:
        bounds = next(((start, end) for start, end in sentences if start <= span[0] < end), None)
        if bounds is None:
            return None
        edit = Edit(span[0], span[1] if replaces else span[0], "")
        before = [one for one in held if bounds[0] <= one[0] < edit.start]
        after = [one for one in held if edit.end <= one[0] < bounds[1]]
        parts = ((bounds[0], edit.start, before), (edit.end, bounds[1], after))
        masked = [_with(self.model.mask, text, *part) for part in parts]
        gap = "" if replaces else " "
        first, last = (_with(HIDDEN, text, *part) for part in parts)
        return Place(
            edit,
            number,
            f"{masked[0]}{self.model.mask}{gap}{masked[1]}",
            len(before),
            (first, last),
            text[edit.start : edit.end],
        )

    def _agreeing(self, offered: Mapping[Place, Sequence[str]]) -> dict[Place, str]:
        """The word that comes to each place: the first offered that agrees; places without one are left out."""
        made = [one for place, some in offered.items() for one in (place.unchanged, *map(place.inserted, some)) if some]
        parsed = dict(zip(dict.fromkeys(made), parse(dict.fromkeys(made)), strict=True))
        found = {}
        for place, some in offered.items():
            agree = (word for word in some if _agrees(place, parsed[place.unchanged], parsed[place.inserted(word)]))
            if word := next(agree, ""):
                found[place] = word
        return found

    def _fitting(self, place: Place, likely: Sequence[Sequence[str]], likeliest: int) -> list[str]:
        """Those of the likeliest words that may come in; none of a place beyond the model's length."""
        barred = {match.group().casefold() for match in WORD.finditer(place.unchanged)} | GRAMMAR
        words = likely[place.mask][:likeliest] if place.mask < len(likely) else []
        fitting = [word for word in words if len(word) >= SHORTEST and word.casefold() not in barred]
        return [word for word in fitting if not self.held(word)]


def _with(stand_in: str, text: str, start: int, end: int, spans: Sequence[tuple[int, int]]) -> str:
    """A part of a text with a word in the place of spans of it."""
    pieces, position = list[str](), start
    for first, last in spans:
        pieces += [text[position:first], stand_in]
        position = last
    return "".join([*pieces, text[position:end]])


def _chosen(places: Sequence[Place], words: Mapping[Place, str], number: int) -> list[Edit]:
    """So many edits, the first that agree and are not side by side."""
    found: list[Place] = []
    for place in places:
        if place in words and len(found) < number and all(_apart(place, one, words) for one in found):
            found.append(place)
    return [replace(place.edit, new=place.inserted_as(words[place])) for place in found]


def _apart(one: Place, other: Place, words: Mapping[Place, str]) -> bool:
    return abs(one.word - other.word) > 1 and words[one] != words[other]


def _agrees(place: Place, before: Any, after: Any) -> bool:
    """Whether the word that came to a place has the old one's tag, or belongs to the next one, and no tag changed."""
    tags, new_tags = ([token.tag_ for token in doc] for doc in (before, after))
    at = next((k for k, token in enumerate(after) if token.idx == len(place.around[0])), None)
    if at is None:
        return False
    came = new_tags.pop(at)
    if place.old:
        return at < len(tags) and came == tags.pop(at) and tags == new_tags
    joins = came in BEFORE and tags[at].startswith(BEFORE[came]) and after[at].head.i == at + 1
    return joins and tags == new_tags and (at == 0 or tags[at - 1][:2] not in BEFORE)


def _may_change(text: str, start: int, end: int) -> bool:
    """Whether a word may be replaced: long enough, in lower case, no part of another word, and no grammar."""
    return (
        text[start].islower()
        and end - start >= SHORTEST
        and text[start:end] not in GRAMMAR
        and text[start - 1 : start] not in ("-", "'", "’")
        and text[end : end + 1] != "-"
        and not starts_sentence(text, start)
    )


class SentenceUpshift:
    """Appends a sentence that a causal LM continues the text with, greedily.

    Args:
        backbone: a causal LM with its tokenizer.
        held: not used, as nothing of the text changes; taken because every upshift is built with it.
        seed: not used, as greedy decoding draws nothing; taken because every upshift is built with a seed.

    Raises:
        CannotScore: the backbone is no causal LM.
    """

    name = "sentence"

    def __init__(self, backbone: Backbone, held: Held, seed: int = 0) -> None:
        del held, seed
        CausalLM(backbone)  # says so where it is none
        self.backbone = backbone

    def __call__(self, texts: Sequence[str]) -> list[str]:
        """Every text with one sentence more; one for which the model has nothing to add stays as it is."""
        return [f"{text} {self._sentence(text)}".rstrip() for text in texts]

    def _sentence(self, text: str) -> str:
        import torch

        tokenizer: Any = self.backbone.tokenizer
        model: Any = self.backbone.model
        ids = tokenizer(text + " ", add_special_tokens=True)["input_ids"][-self.backbone.max_length :]
        given = torch.tensor([ids], device=self.backbone.device)
        with self.backbone.measuring():
            made = model.generate(
                given,
                attention_mask=torch.ones_like(given),
                max_new_tokens=TOKENS,
                do_sample=False,
                pad_token_id=self.backbone.padding_id,
            )
        written: Any = tokenizer.decode(made[0, len(ids) :], skip_special_tokens=True)
        added = " ".join(written.split())
        spans = sentence_spans(added)
        return added[slice(*spans[0])]
