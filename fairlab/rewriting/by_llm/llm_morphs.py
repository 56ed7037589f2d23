"""Upshifts (a text with an added sentence) and downshifts (its summary) by a language model, with checks.

Source: Mondal and Lipizzi 2024, section 3.1. The paper uses other models; prompts and checks are this project's.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from string import ascii_uppercase
from typing import Literal

from fairlab.lexicons.names import find_name
from fairlab.llm.client import LLM
from fairlab.llm.exchange import SAID, Reply, Request, chat, estimated_tokens, object_schema
from fairlab.rewriting.by_llm.prompt import load_prompt
from fairlab.rewriting.english.edits import apply_edits, starts_sentence
from fairlab.text.view import Edit
from fairlab.text.words import WORD
from fairlab.types import FairlabError

SHIFTS = {"upshift": "upshift", "summary": "downshift"}  # setting, and name of the result
SCHEMA = object_schema({"text": {"type": "string"}})
SHORTEST, LONGEST = 3, 25  # length in words of a sentence added by an upshift
STOPS = (".", "!", "?", '"', "”", "'", "’", ":", ";", ")")
_PLACE = re.compile(r"\[[A-Z]\]")
_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")
_ARTICLE = re.compile(r"\b[Aa]n? (?=\[[A-Z]\])")

Held = Callable[[str], list[tuple[int, int]]]


class LLMMorph:
    """Rewriter that adds a sentence to texts, or summarises them, with a language model at temperature 0.

    Words of the axis are hidden from the model, so that copies of a text that differ only in these words share one
    request and change in the same way. The model's ledger answers repeated requests.

    Args:
        llm: Language model with its ledger.
        shift: ``upshift`` to add a sentence, ``summary`` to shorten texts.
        held: Function that returns the spans of the axis's words in a text.

    Raises:
        FairlabError: There is no language model.
    """

    name = "llm"

    def __init__(self, llm: LLM | None, shift: Literal["upshift", "summary"], held: Held) -> None:
        if llm is None:
            raise FairlabError(
                f"augmentation.{shift}=llm needs a language model; add llm=local, openai, gemini, vllm or replay"
            )
        self.llm, self.shift, self.held = llm, shift, held
        self.prompt = load_prompt(shift)

    def __call__(self, texts: Sequence[str]) -> list[str]:
        """Shift every text.

        Returns:
            Shifted texts. A text is empty if the model gave no answer, or an answer with a :func:`fault`.

        Raises:
            FairlabError: The server repeatedly failed to answer.
        """
        asked = [hidden(text, self.held(text)) for text in texts]
        replies = self.llm.ask([self._request(text) for text, _ in asked], stage=f"{SHIFTS[self.shift]}s")
        lost = [reply for reply in replies if not reply.ok and reply.outcome not in SAID]
        if lost:
            raise FairlabError(
                f"{len(lost)} of {len(replies)} {SHIFTS[self.shift]}s got no answer ({lost[0].outcome}: "
                f"{lost[0].reason}); run the same command again to request only these"
            )
        return [self._morph(text, words, reply) for (text, words), reply in zip(asked, replies, strict=True)]

    def _request(self, text: str) -> Request:
        examples = [
            (self._text_to_send(example["text"]), json.dumps({"text": example["answer"]}, ensure_ascii=False))
            for example in self.prompt.examples
        ]
        asked = chat(self.prompt.task, self._text_to_send(text), examples)
        return Request(asked, schema=SCHEMA, max_tokens=2 * estimated_tokens(text) + 64)

    def _text_to_send(self, text: str) -> str:
        """Return the text to send and, for a summary, the bracketed letters that it must be about."""
        if self.shift == "upshift":
            return text
        letters = " and ".join(dict.fromkeys(_PLACE.findall(text)))
        return json.dumps({"text": text, "about": letters} if letters else {"text": text}, ensure_ascii=False)

    def _morph(self, text: str, words: Mapping[str, str], reply: Reply) -> str:
        answer = " ".join(reply.value["text"].split()) if reply.ok else ""
        # the answer must not name a member that was not hidden
        if fault(text, answer, self.shift) or self.held(answer):
            return ""
        if self.shift == "upshift":
            stop = "" if text.rstrip().endswith(STOPS) else "."
            answer = f"{text.rstrip()}{stop} {answer}"
        return unhidden(answer, words)


def hidden(text: str, spans: Sequence[tuple[int, int]]) -> tuple[str, dict[str, str]]:
    """Replace each span of a text by a letter in brackets.

    Equal words get separate letters, because the forms of other members that replace them may differ. If the letters
    run out, the remaining spans stay unchanged. *a* and *an* before a letter are both written *a*.

    Returns:
        Text with letters, and the words that the letters replace.

    Example:
        >>> hidden("An Indian met Indians.", [(3, 9), (14, 21)])
        ('A [A] met [B].', {'A': 'Indian', 'B': 'Indians'})
    """
    free = (letter for letter in ascii_uppercase if f"[{letter}]" not in text)
    places = dict(zip(free, sorted(spans), strict=False))
    words = {letter: text[start:end] for letter, (start, end) in places.items()}
    for letter, (start, end) in reversed(places.items()):
        text = f"{text[:start]}[{letter}]{text[end:]}"
    return _ARTICLE.sub(lambda found: f"{found[0][0]} ", text), words


def unhidden(text: str, words: Mapping[str, str]) -> str:
    """Restore the words that :func:`hidden` replaced, with *a* or *an* before them according to their sound."""
    places = [Edit(*match.span(), words[match[0][1]]) for match in _PLACE.finditer(text) if match[0][1] in words]
    return apply_edits(text, places)


def fault(text: str, answer: str, shift: Literal["upshift", "summary"]) -> str:
    """Return the fault in an answer's bracketed letters, numbers, names or length, or an empty string.

    An answer must not have letters, numbers or names that are not in the text. An added sentence must be new and have 3
    to 25 words. A summary must keep a letter if the text has one, and must have fewer words. The text's words of the
    axis are hidden.
    """
    if new := _new_content(text, answer):
        return f"new {new}"
    words, known = WORD.findall(answer.casefold()), WORD.findall(text.casefold())
    if shift == "upshift":
        if not SHORTEST <= len(words) <= LONGEST:
            return "wrong length"
        return "nothing new" if set(known).issuperset(words) else ""
    if _PLACE.search(text) and not _PLACE.search(answer):
        return "lost letters in brackets"
    return "" if 0 < len(words) < len(known) else "wrong length"


def _new_content(old: str, new: str) -> str:
    """Return the kind of content that only the new text has (bracketed letters, numbers or names), or ""."""
    if set(_PLACE.findall(new)) - set(_PLACE.findall(old)):
        return "letters in brackets"
    if set(_NUMBER.findall(new)) - set(_NUMBER.findall(old)):
        return "numbers"
    known = {word.casefold() for word in WORD.findall(old)}
    return "names" if any(name.casefold() not in known for name in _names(new)) else ""


def _names(text: str) -> list[str]:
    """Return the capitalised words that do not begin a sentence, and the first names that do."""
    plain = _PLACE.sub("   ", text)
    words = [match for match in WORD.finditer(plain) if match[0][:1].isupper() and len(match[0]) > 1]
    return [match[0] for match in words if not starts_sentence(plain, match.start()) or find_name(match[0])]
