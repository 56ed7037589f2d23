"""Upshift of a text: a tenth of its words are replaced or preceded by words that a language model finds likely.

Source: Mondal and Lipizzi 2024, section 3.1, "upshifted through contextual word embedding sentence augmentation". The
paper does not state the proportion of words that change. Words are chosen by a rule of this project, which never
chooses a biaser.
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

SHARE = 0.1  # proportion of words that change
TRIED, FEWEST_TRIED = 2, 8  # positions tried per change, and their minimum number
LIKELIEST = (3, 20)  # numbers of candidates at a position; the second is used if none of the first agrees
HIDDEN = "X"  # replaces a word of the axis in the parser's input
BEFORE = {"JJ": "NN", "RB": "VB"}  # tags of words that may be inserted, and tag prefixes of the words they modify
# after these tags, an adjective cannot be inserted: *an American great actress*
_BEFORE_NO_ADJECTIVE = ("JJ", "RB", "NN")
_GOVERNED = frozenset(
    "of for to with from about upon into as by".split()
)  # prepositions that a verb or adjective takes
SHORTEST = 4  # minimum letters of a word that may be replaced: shorter ones are mostly function words
TOKENS = 30  # maximum number of tokens of an added sentence
WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)*")

# Neither replaced nor inserted, because grammar depends on these words and negation reverses the meaning.
GRAMMAR = frozenset(
    """
    not never none nothing nobody neither nor no without hardly barely cannot every each with from that this these those
    than then when where which while whom whose into onto over under upon about after before between against within
    among through during since until because although though have been were will would shall should could might must
    does their them they your yours ours mine itself there here also only ever very much more most less least many
    """.split()
)

Held = Callable[[str], list[tuple[int, int]]]


@dataclass(frozen=True)
class Place:
    """Position in a text where a word may be replaced, or a new one inserted before it.

    Attributes:
        edit: Edit at the position, without its new text; of zero width for an insertion.
        word: Number of the word at the position.
        query: Sentence with the model's mask at the position and for every protected word.
        mask: Index of the position's mask among the masks of the query.
        around: Parts of the sentence before and after the position, with :data:`HIDDEN` for every protected word.
        old: Word to be replaced, or empty for an insertion.
    """

    edit: Edit
    word: int
    query: str
    mask: int
    around: tuple[str, str]
    old: str

    @property
    def unchanged(self) -> str:
        """Return the sentence without a change at the position."""
        return f"{self.around[0]}{self.old}{self.around[1]}"

    def inserted_as(self, word: str) -> str:
        """Return a word as written at the position, followed by a space if it is inserted."""
        return word if self.old else f"{word} "

    def inserted(self, word: str) -> str:
        """Return the sentence with the given word at the position."""
        return f"{self.around[0]}{self.inserted_as(word)}{self.around[1]}"


class WordUpshift:
    """Upshift that replaces or inserts words that a masked LM finds likely and that agree grammatically.

    Each position (a word or, decided by a coin flip, the gap before it) has its own query. Words of the axis, words in
    addresses and code, and capitalised and short words are not replaced. Words of the axis, short words, negations and
    similar words, and words that are already in the sentence are not inserted. A word agrees if it has the part of
    speech, number and tense of the word it replaces, or is an adverb or adjective that modifies the next word; in both
    cases the parts of speech of all other words must not change.

    Positions are tried in random order until a tenth of the words are changed, no two of them adjacent, or twice that
    number of positions has been tried. The three likeliest words are tried, then twenty if none of them agrees with a
    text. Words of the axis are hidden from the model, the parser and the choice of positions. Copies of a text that
    differ only in these words therefore change in the same way, and no member gets words that others do not get.

    Args:
        backbone: Masked LM with its tokenizer.
        held: Function that returns the protected spans of a text: the words of the axis.
        seed: Seed that, together with the text without words of the axis, determines which words change.

    Raises:
        CannotScore: The backbone is not a masked LM.
    """

    name = "word"

    def __init__(self, backbone: Backbone, held: Held, seed: int = 0) -> None:
        self.model = MaskedLM(backbone)
        self.held, self.seed = held, seed

    def __call__(self, texts: Sequence[str]) -> list[str]:
        """Upshift every text. A text without a word that may change stays the same."""
        views = [read_view(text) for text in texts]
        places = [self._places(view.text) for view in views]
        asked = list(dict.fromkeys(place.query for some, _ in places for place in some))
        likely = dict(zip(asked, self.model.fillers(asked, top=max(LIKELIEST)), strict=True))
        found: dict[int, list[Edit]] = {}
        for likeliest in LIKELIEST:
            left = [number for number in range(len(texts)) if not found.get(number)]
            tried = [place for number in left for place in places[number][0]]
            words = self._find_agreeing(
                {place: self._usable_words(place, likely[place.query], likeliest) for place in tried}
            )
            found |= {number: _choose_edits(places[number][0], words, places[number][1]) for number in left}
        return [view.write(fitted_edits(view.text, found[number])) for number, view in enumerate(views)]

    def _places(self, text: str) -> tuple[list[Place], int]:
        """Return the positions to try, in order, and the number of changes to make."""
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
        masked = [_replace_spans(self.model.mask, text, *part) for part in parts]
        gap = "" if replaces else " "
        first, last = (_replace_spans(HIDDEN, text, *part) for part in parts)
        return Place(
            edit,
            number,
            f"{masked[0]}{self.model.mask}{gap}{masked[1]}",
            len(before),
            (first, last),
            text[edit.start : edit.end],
        )

    def _find_agreeing(self, offered: Mapping[Place, Sequence[str]]) -> dict[Place, str]:
        """Return the first candidate that agrees at each position, omitting positions without one."""
        made = [one for place, some in offered.items() for one in (place.unchanged, *map(place.inserted, some)) if some]
        parsed = dict(zip(dict.fromkeys(made), parse(dict.fromkeys(made)), strict=True))
        found = {}
        for place, some in offered.items():
            agree = (word for word in some if _agrees(place, parsed[place.unchanged], parsed[place.inserted(word)]))
            if word := next(agree, ""):
                found[place] = word
        return found

    def _usable_words(self, place: Place, likely: Sequence[Sequence[str]], likeliest: int) -> list[str]:
        """Return the usable words among the ``likeliest`` most likely words at a position.

        The list is empty for a position beyond the model's maximum length.
        """
        barred = {match.group().casefold() for match in WORD.finditer(place.unchanged)} | GRAMMAR
        words = likely[place.mask][:likeliest] if place.mask < len(likely) else []
        fitting = [word for word in words if len(word) >= SHORTEST and word.casefold() not in barred]
        return [word for word in fitting if not self.held(word)]


def _replace_spans(stand_in: str, text: str, start: int, end: int, spans: Sequence[tuple[int, int]]) -> str:
    """Replace the spans in a part of a text by ``stand_in``."""
    pieces, position = list[str](), start
    for first, last in spans:
        pieces += [text[position:first], stand_in]
        position = last
    return "".join([*pieces, text[position:end]])


def _choose_edits(places: Sequence[Place], words: Mapping[Place, str], number: int) -> list[Edit]:
    """Return the edits at the first ``number`` positions that have a word and are not adjacent."""
    found: list[Place] = []
    for place in places:
        apart = all(abs(place.word - one.word) > 1 and words.get(place) != words[one] for one in found)
        if place in words and len(found) < number and apart:
            found.append(place)
    return [replace(place.edit, new=place.inserted_as(words[place])) for place in found]


def _agrees(place: Place, before: Any, after: Any) -> bool:
    """Return whether the new word at a position fits the parse.

    A replacement must keep the tag of the old word and the parse of the sentence. An inserted word must modify the next
    word and leave the tags of all other words unchanged.
    """
    tags, new_tags = ([token.tag_ for token in doc] for doc in (before, after))
    at = next((k for k, token in enumerate(after) if token.idx == len(place.around[0])), None)
    if at is None:
        return False
    came = new_tags.pop(at)
    if place.old:
        if at >= len(tags) or came != tags.pop(at) or tags != new_tags or _is_bound(before[at]):
            return False
        read, read_anew = ([(token.dep_, token.head.i) for token in doc] for doc in (before, after))
        return read == read_anew
    joins = came in BEFORE and tags[at].startswith(BEFORE[came]) and after[at].head.i == at + 1
    barred = _BEFORE_NO_ADJECTIVE if came == "JJ" else tuple(BEFORE)
    return joins and tags == new_tags and (at == 0 or not tags[at - 1].startswith(barred))


def _is_bound(old: Any) -> bool:
    """Return whether the neighbours of a word allow only few other words, which the word's tag does not show.

    Such words are a verb or adjective with its preposition (*accused of*), a passive participle (*were settled*), an
    adjective after another modifier of its noun (*American former actor*), a word before a number (*fiscal 2007*), and
    a singular noun without an article or other modifier (*over summer*).
    """
    before, after = old.doc[max(0, old.i - 1) : old.i], old.doc[old.i + 1 : old.i + 2]
    if len(after) and after[0].tag_ == "CD":
        return True
    if old.tag_[:2] in ("VB", "JJ"):
        follows = old.tag_ == "JJ" and len(before) and before[0].tag_[:2] in ("NN", "JJ")
        governs = any(child.i == old.i + 1 and child.lower_ in _GOVERNED for child in old.children)
        return bool(follows or governs or any(child.dep_ == "auxpass" for child in old.children))
    bare = not any(child.i < old.i for child in old.children)
    return old.tag_ == "NN" and old.dep_ not in ("compound", "conj") and bare


def _may_change(text: str, start: int, end: int) -> bool:
    """Return whether a word may be replaced.

    The word must be long and in lower case. It must not be a function word, part of a compound, or first in a sentence.
    """
    return (
        text[start].islower()
        and end - start >= SHORTEST
        and text[start:end] not in GRAMMAR
        and text[start - 1 : start] not in ("-", "'", "’")
        and text[end : end + 1] != "-"
        and not starts_sentence(text, start)
    )


class SentenceUpshift:
    """Upshift that appends a sentence: the greedy continuation of the text by a causal LM.

    Args:
        backbone: Causal LM with its tokenizer.
        held: Unused, because the original text does not change; accepted because every upshift is built with it.
        seed: Unused, because greedy decoding is deterministic; accepted because every upshift is built with a seed.

    Raises:
        CannotScore: The backbone is not a causal LM.
    """

    name = "sentence"

    def __init__(self, backbone: Backbone, held: Held, seed: int = 0) -> None:
        del held, seed
        CausalLM(backbone)  # raises an error for other models
        self.backbone = backbone

    def __call__(self, texts: Sequence[str]) -> list[str]:
        """Append a sentence to every text. A text for which the model has no continuation stays the same."""
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
