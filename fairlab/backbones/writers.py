"""Interface of models that write texts: a causal backbone, a served model, or a file of stored texts."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from fairlab.types import FairlabError

END, LENGTH, REFUSED, FAILED = "end", "length", "refused", "failed"
ENDINGS = (END, LENGTH, REFUSED, FAILED)


@dataclass(frozen=True)
class TextPrompt:
    """Text that a model continues or answers.

    Attributes:
        text: Text of the prompt.
        sample: Number of the sample, from 0; the samples of one prompt have different seeds.
        chat: Whether the prompt is a user's turn that the model answers; otherwise the model continues the text.
        system: System prompt before a user's turn; empty for none.
    """

    text: str
    sample: int = 0
    chat: bool = False
    system: str = ""

    def messages(self) -> list[dict[str, str]]:
        """Return the messages: the system prompt, if there is one, and the user's turn."""
        turns = (("system", self.system), ("user", self.text))
        return [{"role": role, "content": text} for role, text in turns if text or role == "user"]


@dataclass(frozen=True)
class Sampling:
    """Settings for sampling tokens.

    Attributes:
        temperature: Divisor of the logits; 0 selects the most likely token.
        top_p: Probability mass of the most likely tokens, from which a token is sampled.
        max_tokens: Maximum number of tokens in a written text.
        seed: Seed from which the seed of every text is derived.

    Raises:
        FairlabError: A value is out of range.
    """

    temperature: float = 0.0
    top_p: float = 1.0
    max_tokens: int = 32
    seed: int = 0

    def __post_init__(self) -> None:
        if not self.temperature >= 0:
            raise FairlabError(f"temperature must be at least 0, not {self.temperature}")
        if not 0 < self.top_p <= 1:
            raise FairlabError(f"top_p must be above 0 and at most 1, not {self.top_p}")
        if self.max_tokens < 1:
            raise FairlabError(f"max_tokens must be at least 1, not {self.max_tokens}")

    def seed_of(self, prompt: TextPrompt) -> int:
        """Return the seed of one text, which depends only on ``seed``, the prompt and its sample number."""
        digest = hashlib.sha256(f"{self.seed}\n{prompt.sample}\n{prompt.text}".encode()).digest()
        return int.from_bytes(digest[:4]) >> 1


@dataclass(frozen=True)
class Written:
    """Text that a model wrote.

    Attributes:
        text: Text without its prompt; empty if the model failed.
        ended: Reason why the text ended: ``end`` if the model ended it, ``length`` if it reached the maximum length,
            ``refused`` if the server's filter blocked it, or ``failed`` if there is no answer.
        tokens: Number of tokens in the text.
    """

    text: str
    ended: str = END
    tokens: int = 0


class Writer(Protocol):
    """Model that writes texts."""

    def write(
        self,
        prompts: Sequence[TextPrompt],
        sampling: Sampling,
        *,
        done: Callable[[int, Written], None] | None = None,
        progress: str = "",
    ) -> list[Written]:
        """Return a text for each prompt, in input order.

        Args:
            prompts: Any number of prompts.
            sampling: Sampling settings.
            done: Function that is called with a prompt's position and its text as soon as the text is finished.
            progress: Title of a progress bar, shown on a terminal only.

        Raises:
            CannotScore: The model cannot generate text, or a prompt leaves no room for output.
        """
        ...
