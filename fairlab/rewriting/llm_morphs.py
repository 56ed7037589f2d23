"""Upshifts and downshifts by a language model, checked: a text with a sentence more, or its summary.

Source: Mondal and Lipizzi 2024, section 3.1. The paper's morphs are by other models; prompts and checks are ours.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from string import ascii_uppercase
from typing import Literal

from fairlab.llm.client import LLM
from fairlab.llm.exchange import ANSWERED, ExchangeOutcome, Reply, Request, estimated_tokens
from fairlab.rewriting.edits import Edit, apply_edits
from fairlab.rewriting.prompt import load_prompt
from fairlab.text.sentences import sentence_spans
from fairlab.text.words import WORD
from fairlab.types import FairlabError

SHIFTS = {"upshift": "upshift", "summary": "downshift"}  # the setting, and what it makes
SCHEMA = {
    "type": "object",
    "properties": {"text": {"type": "string"}},
    "required": ["text"],
    "additionalProperties": False,
}
SAID = ANSWERED | {ExchangeOutcome.REJECTED}
SHORTEST, LONGEST = 3, 25  # words of a sentence that an upshift adds
_PLACE = re.compile(r"\[[A-Z]\]")
_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")
_ARTICLE = re.compile(r"\b[Aa]n? (?=\[[A-Z]\])")

Held = Callable[[str], list[tuple[int, int]]]


class LLMMorph:
    """Texts with a sentence more, or their summaries, by a language model behind its ledger, at temperature 0.

    Words of the axis are hidden from the model, so that copies of a text that differ in them alone are asked about once
    and change alike.

    Args:
        llm: language model to ask.
        shift: ``upshift`` for a sentence more, ``summary`` for shorter texts.
        held: function from a text to the spans of the words of the axis.

    Raises:
        FairlabError: there is no language model.
    """

    name = "llm"

    def __init__(self, llm: LLM | None, shift: Literal["upshift", "summary"], held: Held) -> None:
        if llm is None:
            raise FairlabError(
                f"augmentation.{shift}=llm asks a language model; add llm=local, openai, gemini, vllm or replay"
            )
        self.llm, self.shift, self.held = llm, shift, held
        self.prompt = load_prompt(shift)

    def __call__(self, texts: Sequence[str]) -> list[str]:
        """Every text morphed; empty where the model gave nothing, or a text with a :func:`fault`.

        Raises:
            FairlabError: calls that the server lost again and again.
        """
        asked = [hidden(text, self.held(text)) for text in texts]
        replies = self.llm.ask([self._request(text) for text, _ in asked], stage=f"{SHIFTS[self.shift]}s")
        lost = [reply for reply in replies if not reply.ok and reply.outcome not in SAID]
        if lost:
            raise FairlabError(
                f"{len(lost)} of {len(replies)} {SHIFTS[self.shift]}s got no answer ({lost[0].outcome}: "
                f"{lost[0].reason}); run the same command again to ask for these alone"
            )
        return [self._morph(text, words, reply) for (text, words), reply in zip(asked, replies, strict=True)]

    def _request(self, text: str) -> Request:
        turns = [{"role": "system", "content": self.prompt.task.strip()}]
        for example in self.prompt.examples:
            turns.append({"role": "user", "content": self._asked(example["text"])})
            turns.append({"role": "assistant", "content": json.dumps({"text": example["answer"]}, ensure_ascii=False)})
        asked = (*turns, {"role": "user", "content": self._asked(text)})
        return Request(asked, schema=SCHEMA, max_tokens=2 * estimated_tokens(text) + 64)

    def _asked(self, text: str) -> str:
        """The text, and of a summary what it should be about: the letters of the text."""
        if self.shift == "upshift":
            return text
        letters = " and ".join(dict.fromkeys(_PLACE.findall(text)))
        return json.dumps({"text": text, "about": letters} if letters else {"text": text}, ensure_ascii=False)

    def _morph(self, text: str, words: Sequence[str], reply: Reply) -> str:
        made = " ".join(reply.value["text"].split()) if reply.ok else ""
        if made and self.shift == "upshift":
            made = f"{text} {made}"
        return "" if fault(text, made, self.shift) else unhidden(made, words)


def hidden(text: str, spans: Sequence[tuple[int, int]]) -> tuple[str, list[str]]:
    """A text with letters in brackets for spans of it, the same one for the same words, and the words of each letter.

    Words beyond the alphabet stay as they are, and so do articles: *a* and *an* are both written *a*.

    Example:
        >>> hidden("An Indian met Indians.", [(3, 9), (14, 21)])
        ('A [A] met [B].', ['Indian', 'Indians'])
    """
    words = list(dict.fromkeys(text[start:end] for start, end in spans))[: len(ascii_uppercase)]
    letters = dict(zip(words, ascii_uppercase, strict=False))
    edits = [Edit(start, end, f"[{letters[text[start:end]]}]") for start, end in spans if text[start:end] in letters]
    return _ARTICLE.sub(lambda found: f"{found[0][0]} ", _put(text, edits)), words


def unhidden(text: str, words: Sequence[str]) -> str:
    """A text with the words that :func:`hidden` hid, *a* or *an* before them as they sound."""
    letters = dict(zip(ascii_uppercase, words, strict=False))
    places = [Edit(*match.span(), letters[match[0][1]]) for match in _PLACE.finditer(text) if match[0][1] in letters]
    return apply_edits(text, places)


def _put(text: str, edits: Sequence[Edit]) -> str:
    for edit in sorted(edits, key=lambda one: -one.start):
        text = text[: edit.start] + edit.new + text[edit.end :]
    return text


def fault(before: str, after: str, shift: Literal["upshift", "summary"]) -> str:
    """What is wrong with a morph by its letters in brackets, numbers, names and length; empty where nothing is.

    Nothing comes in that is not in the text. An upshift is the text and a sentence of at least three words that says
    something else; a summary keeps a letter where there was one, and has fewer words.

    Args:
        before: the text that was asked about, its words of the axis hidden.
        after: the answer.
        shift: what was asked for.
    """
    if new := _beyond(before, after):
        return f"new {new}"
    if _PLACE.search(before) and not _PLACE.search(after):
        return "lost letters in brackets"
    if shift == "upshift":
        return _fault_of_sentence(before, after[len(before) :])
    return "" if 0 < len(WORD.findall(after)) < len(WORD.findall(before)) else "wrong length"


def _fault_of_sentence(before: str, added: str) -> str:
    """What is wrong with a sentence that stands after a text."""
    words, known = WORD.findall(added.casefold()), set(WORD.findall(before.casefold()))
    if not SHORTEST <= len(words) <= LONGEST:
        return "wrong length"
    return "nothing new" if known.issuperset(words) else ""


def _beyond(old: str, new: str) -> str:
    """What a text holds beyond another: letters in brackets, numbers, or names."""
    if set(_PLACE.findall(new)) - set(_PLACE.findall(old)):
        return "letters in brackets"
    if set(_NUMBER.findall(new)) - set(_NUMBER.findall(old)):
        return "numbers"
    known = {word.casefold() for word in WORD.findall(old)}
    return "names" if any(name.casefold() not in known for name in _names(new)) else ""


def _names(text: str) -> list[str]:
    """Capitalised words that begin no sentence."""
    starts = {start for start, _ in sentence_spans(text)}
    words = [match for match in WORD.finditer(_PLACE.sub("   ", text)) if match.start() not in starts]
    return [match[0] for match in words if match[0][:1].isupper() and len(match[0]) > 1]
