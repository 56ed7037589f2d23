"""Formatting of conversations with a tokenizer's chat template, which is untrusted code from the model's author."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from fairlab.checks.time_limits import TooSlow, time_limit
from fairlab.types import FairlabError

SECONDS = 5.0  # maximum time for formatting a conversation


def chat_text(tokenizer: Any, messages: Sequence[Mapping[str, str]]) -> str:
    """Format messages with the chat template of a tokenizer, up to the beginning of the assistant's answer.

    Each message has ``role`` and ``content``.

    Raises:
        FairlabError: The template fails or takes too long.
    """
    try:
        with time_limit(SECONDS):
            return str(tokenizer.apply_chat_template(list(messages), tokenize=False, add_generation_prompt=True))
    except TooSlow:
        said = f"takes longer than {SECONDS:g} seconds"
    except Exception as error:  # any error of the template or of jinja
        said = f"fails ({type(error).__name__}: {' '.join(str(error).split())[:200]})"
    raise FairlabError(f"the chat template of {tokenizer.name_or_path} {said}; fix it, or use another model")
