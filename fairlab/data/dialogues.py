"""Conversion of conversations to the text that a chat model is trained on, with the positions of the answers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

from fairlab.checks.chat_templates import chat_text
from fairlab.types import FairlabError

MESSAGES, PROMPT, COMPLETION = "messages", "prompt", "completion"
ROLES = ("system", "user", "assistant")
ANSWERS = "assistant"


class Dialogue(NamedTuple):
    """Text of a conversation, and the spans of its answers, each including the token that ends it.

    Attributes:
        text: Whole text.
        answers: Start and end of each answer in the text, in characters.
        starts: Whether to begin with the model's start token. Chat templates already contain it.
    """

    text: str
    answers: tuple[tuple[int, int], ...]
    starts: bool


def read_dialogue(row: Mapping[str, Any], tokenizer: Any) -> Dialogue:
    """Read the conversation in a row.

    Args:
        row: Row with ``messages`` (each with ``role`` and ``content``), or with ``prompt`` and ``completion`` (two
            texts or two lists of messages). Only the assistant's messages or the completion are answers to train on.
        tokenizer: Tokenizer of the model. Messages are formatted with its chat template. A prompt and a completion
            given as texts are joined and followed by the end token.

    Raises:
        ValueError: The row has neither valid messages nor a valid prompt and completion.
        FairlabError: The tokenizer lacks a chat template or an end token that the row needs, or the template fails.
    """
    if MESSAGES in row:
        return _chat(_messages(row[MESSAGES], MESSAGES), 0, tokenizer)
    prompt, completion = row.get(PROMPT), row.get(COMPLETION)
    if isinstance(prompt, str) and isinstance(completion, str):
        return _plain(prompt, completion, tokenizer)
    if isinstance(prompt, list) and isinstance(completion, list):
        before = _messages(prompt, PROMPT)
        return _chat([*before, *_messages(completion, COMPLETION)], len(before), tokenizer)
    raise ValueError("it has neither messages, nor prompt and completion as two texts or two lists of messages")


def _messages(value: Any, name: str) -> list[dict[str, str]]:
    if not isinstance(value, list) or not value:
        raise ValueError(f"its {name} must be a list of messages")
    for one in value:
        if not isinstance(one, dict) or one.get("role") not in ROLES or not isinstance(one.get("content"), str):
            raise ValueError(f"a message needs a role ({', '.join(ROLES)}) and a text as content")
    return [{"role": one["role"], "content": one["content"]} for one in value]


def _plain(prompt: str, completion: str, tokenizer: Any) -> Dialogue:
    if not completion.strip():
        raise ValueError("its completion is empty")
    if tokenizer.eos_token is None:
        raise FairlabError("the tokenizer has no end token, so a model cannot learn to stop; choose another backbone")
    text = prompt + completion
    end = "" if text.endswith(tokenizer.eos_token) else tokenizer.eos_token
    return Dialogue(text + end, ((len(prompt), len(text + end)),), True)


def _chat(messages: Sequence[dict[str, str]], first: int, tokenizer: Any) -> Dialogue:
    """Format messages with the chat template, and locate the answers from message ``first`` on.

    An answer extends from the end of the template's generation prompt to the end-of-turn token. White space after that
    token belongs to the next turn.
    """
    if not tokenizer.chat_template:
        raise FairlabError("the tokenizer has no chat template; give rows with prompt and completion as texts")
    places = [k for k, one in enumerate(messages) if k >= first and one["role"] == ANSWERS]
    if not places:
        raise ValueError("it has no answer of the assistant")
    whole = chat_text(tokenizer, messages, answer=False)
    spans = []
    for k in places:
        before, until = (
            chat_text(tokenizer, messages[:k], answer=True),
            chat_text(tokenizer, messages[: k + 1], answer=False),
        )
        if not (until.startswith(before) and whole.startswith(until.rstrip())):
            raise FairlabError(
                "the chat template formats a finished answer differently from a begun one, so the tokens of answers "
                "cannot be located; give rows with prompt and completion as texts"
            )
        spans.append((len(before), len(until.rstrip())))
    if not whole[: spans[-1][1]].endswith(tuple(tokenizer.all_special_tokens)):
        if tokenizer.eos_token is None or spans[-1][1] != len(whole.rstrip()):
            raise FairlabError("the chat template does not end answers with a special token; choose another backbone")
        whole = whole.rstrip() + tokenizer.eos_token
        spans[-1] = (spans[-1][0], len(whole))
    assert all(one[1] <= other[0] for one, other in pairwise(spans))
    return Dialogue(whole, tuple(spans), False)
