"""Memory use of a process that serves requests for a long time."""

from __future__ import annotations

import ctypes
import time
from collections.abc import Callable

from fairlab.methods.safety_ensemble.exported.scoring import Scorer, Scores

EVERY = 0.2  # seconds; a call takes a few milliseconds


def memory_returner() -> Callable[[], object]:
    """Return a function that gives freed memory back to the system; it does nothing if the C library is not glibc."""
    try:
        trim = ctypes.CDLL(None).malloc_trim
    except (AttributeError, OSError, TypeError):
        return lambda: None
    return lambda: trim(0)


def returning_memory(scorer: Scorer, give_back: Callable[[], object], every: float = EVERY) -> Scorer:
    """Return a scorer that also gives freed memory back, at most once in ``every`` seconds.

    The buffers of forward passes differ in size from request to request. They fragment the heap of the C library, which
    keeps what was freed, so that a process that scores all day would grow slowly.
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
