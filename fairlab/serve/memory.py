"""Memory use of a process that serves requests for a long time."""

from __future__ import annotations

import ctypes
import time
from collections.abc import Callable

from fairlab.methods.safety_ensemble.exported.scoring import Scorer, Scores

EVERY = 0.2  # seconds; a call takes a few milliseconds


def memory_returner() -> Callable[[], object]:
    """Return a function that returns freed memory to the system; without glibc, the function does nothing."""
    try:
        trim = ctypes.CDLL(None).malloc_trim
    except (AttributeError, OSError, TypeError):
        return lambda: None
    return lambda: trim(0)


def returning_memory(scorer: Scorer, give_back: Callable[[], object], every: float = EVERY) -> Scorer:
    """Return a scorer that also returns freed memory to the system, at most once in ``every`` seconds.

    The buffers of forward passes have different sizes in every request. They fragment the heap of the C library, which
    keeps freed memory, so that a process that scores all day would grow slowly.
    """
    last = time.monotonic()

    def score(texts: list[str]) -> list[Scores]:
        nonlocal last
        found = scorer(texts)
        if time.monotonic() - last >= every:
            give_back()
            last = time.monotonic()
        return found

    return score
