"""Surface tokens, which may be shortcuts, and the number of negations among them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise

TOKEN = re.compile(r"\w+(?=n['’]t\b)|n['’]t\b|\w+")
# One-token negations; "n't" is written with either apostrophe. *Fail to* is counted by :func:`negations`.
NEGATIONS = frozenset("not n't no never nobody nothing none nowhere neither nor cannot".split())
FAILING = frozenset("fail fails failed failing".split())


def surface_tokens(text: str) -> list[str]:
    """Return the case-folded words of a text without punctuation, with *n't* as a separate token.

    Example:
        >>> surface_tokens("She didn't, and CAN’T, go.")
        ['she', 'did', "n't", 'and', 'ca', "n't", 'go']
    """
    return TOKEN.findall(text.lower().replace("’", "'"))


def negations(tokens: Sequence[str]) -> int:
    """Count the negations in surface tokens, including *fail to*.

    Example:
        >>> negations(surface_tokens("Nobody failed to see it, did they not?"))
        3
    """
    failing = sum(one in FAILING and two == "to" for one, two in pairwise(tokens))
    return sum(token in NEGATIONS for token in tokens) + failing
