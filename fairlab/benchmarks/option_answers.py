"""A model's answers to multiple-choice questions, from likelihoods or from chat replies.

Shape letter: N is the number of questions.
"""

from __future__ import annotations

import re
import string
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairlab.backbones.likelihood import likelihood
from fairlab.backbones.masked_lm import MaskedLM
from fairlab.backbones.writers import TextPrompt
from fairlab.types import CannotScore

LETTERS = string.ascii_uppercase
LETTER = re.compile(  # a letter that is not the article "a"
    r"\W*(?:(?:the )?(?:correct |right )?answer(?: is)?\W*)?(?:option )?\(?([A-Z])(?=[.):,\]]|\s*$|\s*\n)",
    re.IGNORECASE,
)
NONE = -1  # unclear answer


def option_log_likelihoods(
    model: Any, contexts: Sequence[str], options: Sequence[Sequence[str]], *, progress: str = ""
) -> list[NDArray[np.float64]]:
    """Return, for each of N contexts, the log-likelihood of each option after a space.

    Raises:
        CannotScore: The model does not provide left-to-right likelihoods.
    """
    scorer = likelihood(model)
    if isinstance(scorer, MaskedLM):
        raise CannotScore("a masked language model does not continue texts; give a causal one")
    pairs = [(context, f" {one}") for context, some in zip(contexts, options, strict=True) for one in some]
    sums = scorer.continuation_log_likelihoods(pairs, progress=progress).sums
    ends = np.cumsum([len(some) for some in options])
    return list(np.split(sums, ends[:-1]))


def preface(system: str) -> str:
    """Return a system prompt as a paragraph to put before a context, or an empty string without a system prompt."""
    return f"{system}\n\n" if system else ""


def rotated(number: int, count: int) -> list[int]:
    """Return the positions of options in the order in which question ``number`` shows them.

    Example:
        >>> rotated(1, 3)
        [1, 2, 0]
    """
    return [(number + k) % count for k in range(count)]


def option_prompt(text: str, options: Sequence[str], order: Sequence[int], system: str = "") -> TextPrompt:
    """Return a user turn that asks for the letter of an option, after any system prompt."""
    lines = "\n".join(f"{LETTERS[k]}. {options[place]}" for k, place in enumerate(order))
    asked = f"{text}\n{lines}\nAnswer with the letter of the right option alone."
    return TextPrompt(asked, chat=True, system=system)


def read_option(reply: str, options: Sequence[str], order: Sequence[int]) -> int:
    """Return the position of the option that a reply names by its letter, or else by its text.

    A letter with the text of a different option, or several options without a letter, count as no option.

    Returns:
        Position, or -1 if the reply names no option.

    Example:
        >>> read_option("The answer is B.", ["the nurse", "the cook", "unknown"], [1, 2, 0])
        2
        >>> read_option("I think the cook did.", ["the nurse", "the cook", "unknown"], [1, 2, 0])
        1
    """
    found = LETTER.match(reply)
    place = LETTERS.index(found[1].upper()) if found else NONE
    named = [k for k, one in enumerate(options) if re.search(rf"\b{re.escape(_plain(one))}\b", _plain(reply))]
    if 0 <= place < len(order):
        return order[place] if not named or order[place] in named else NONE
    return named[0] if len(named) == 1 else NONE


def _plain(text: str) -> str:
    bare = re.sub(r"[^\w\s]", " ", re.sub("['’]", "", text.casefold()))
    return " ".join(bare.split()).removeprefix("the ")
