"""Upshift: a text with a tenth of its words replaced or joined by others that a language model finds likely there.

Source: Mondal and Lipizzi 2024, section 3.1, "upshifted through contextual word embedding sentence augmentation"; how
much of a text that changes is not said. The words are chosen here by this project's rule, and never a biaser.
"""

from __future__ import annotations

import hashlib
import random
import re
from collections.abc import Callable, Sequence
from typing import Any

from fairlab.backbones.backbone import Backbone
from fairlab.backbones.causal_lm import CausalLM
from fairlab.backbones.masked_lm import MaskedLM
from fairlab.rewriting.edits import Edit, apply_edits, starts_sentence
from fairlab.text.protected import protected_spans
from fairlab.text.sentences import sentence_spans

SHARE = 0.1  # of the words
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


class WordUpshift:
    """Replaces words, or puts words before them, by the word a masked LM finds most likely there.

    Every chosen place is either, by a coin. Words of the axis, words in addresses and code, capitalised and short
    words are not replaced, and neither words of the axis nor short words, negations and the like come in. All places
    of a sentence are asked about at once. Words of the axis are hidden from the model and from the choice of places,
    so that copies of one text that differ in them alone change alike and no member gets words of its own.

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
        asked: list[tuple[int, list[Edit], str]] = []
        for number, text in enumerate(texts):
            held = self.held(text)
            edits = self._places(text, held)
            for start, end in sentence_spans(text):
                if inside := [edit for edit in edits if start <= edit.start < end]:
                    marks = sorted([*inside, *(Edit(*span, "") for span in held if start <= span[0] < end)], key=_start)
                    asked.append((number, marks, self._masked(text, start, end, marks)))
        queries = list(dict.fromkeys(query for *_, query in asked))
        answers = dict(zip(queries, self.model.fillers(queries), strict=True))
        made: list[list[Edit]] = [[] for _ in texts]
        for number, marks, query in asked:
            text, held_starts = texts[number], {start for start, _ in self.held(texts[number])}
            for mark, likely in zip(marks, answers[query], strict=False):  # none beyond the model's length
                new = "" if mark.start in held_starts else self._taken(text, mark, likely)
                if new:
                    made[number].append(Edit(mark.start, mark.end, new if mark.end > mark.start else f"{new} "))
        return [apply_edits(text, edits) if edits else text for text, edits in zip(texts, made, strict=True)]

    def _places(self, text: str, held: Sequence[tuple[int, int]]) -> list[Edit]:
        """The places that change, from left to right: a word, or nothing before a word."""
        stay = [*held, *protected_spans(text)]
        words = [match.span() for match in WORD.finditer(text)]
        words = [span for span in words if not any(first < span[1] and span[0] < last for first, last in stay)]
        free = [span for span in words if _may_change(text, *span)]
        number = min(len(free), max(1, round(SHARE * len(words))))
        hidden = " ".join(text[start:end] for start, end in words)
        rng = random.Random(hashlib.sha256(f"{self.seed}:{hidden}".encode()).digest())
        chosen = sorted(rng.sample(free, number))
        return [Edit(start, end if rng.random() < 0.5 else start, "") for start, end in chosen]

    def _masked(self, text: str, start: int, end: int, marks: Sequence[Edit]) -> str:
        mask, pieces, position = self.model.mask, [], start
        for mark in marks:
            pieces += [text[position : mark.start], mask if mark.end > mark.start else f"{mask} "]
            position = mark.end
        return "".join([*pieces, text[position:end]])

    def _taken(self, text: str, edit: Edit, likely: Sequence[str]) -> str:
        """The first likely word that is another one than stands here or beside, and none of the axis."""
        here = WORD.match(text, edit.start)
        before = [match.group() for match in WORD.finditer(text[: edit.start])][-1:]
        after = [here.group()] if here else []
        following = WORD.search(text, here.end()) if here else None
        beside = {word.casefold() for word in [*before, *after, *([following.group()] if following else [])]}
        barred = beside | GRAMMAR
        fitting = (word for word in likely if len(word) >= SHORTEST and word.casefold() not in barred)
        return next((word for word in fitting if not self.held(word)), "")


def _start(edit: Edit) -> int:
    return edit.start


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
