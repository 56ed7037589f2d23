"""Progress display: a bar with the remaining time on a terminal, otherwise one line per step on stderr."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TypeVar

from rich.progress import track

from fairlab.checks.escapes import print_escaped

T = TypeVar("T")
TELLING: ContextVar[bool] = ContextVar("TELLING", default=False)
MINUTE = 60


def with_progress(items: Sequence[T], title: str) -> Iterable[T]:
    """Return the items for iteration, with a progress bar if there is a title and stderr is a terminal."""
    return track(items, title, disable=not title or not sys.stderr.isatty(), transient=True)


@contextmanager
def telling_steps() -> Iterator[None]:
    """Print progress lines on stderr within the context, as commands do; library calls print none by default."""
    token = TELLING.set(True)
    try:
        yield
    finally:
        TELLING.reset(token)


def steps(names: Sequence[str], of: str = "") -> Iterator[str]:
    """Yield the names of steps, and print a line with the remaining time after each step is done.

    Lines are printed only within :func:`telling_steps`, and not on a terminal. Before the first step is done, nothing
    is printed, so that invalid input produces only the error message.

    Args:
        names: Names of the steps.
        of: Label to print before each step, such as the name of the model; empty for no label.
    """
    started = time.monotonic()
    for number, name in enumerate(names, 1):
        yield name
        if TELLING.get() and not sys.stderr.isatty():
            left = time_left(time.monotonic() - started, number, len(names))
            print_escaped(f"{f'{of}: ' if of else ''}{name} done ({number} of {len(names)}){left}", error=True)


def time_left(passed: float, done: int, steps: int) -> str:
    """Return the remaining time in words, with a leading comma, if ``done`` steps took ``passed`` seconds.

    The text is empty before the first step and after the last step is done.

    Example:
        >>> time_left(90.0, 1, 3), time_left(5.0, 2, 4), time_left(0.0, 0, 4)
        (', about 3 min left', ', about 5 s left', '')
    """
    if not 0 < done < steps:
        return ""
    left = passed / done * (steps - done)
    return (
        f", about {max(round(left / MINUTE), 1)} min left"
        if left >= MINUTE
        else f", about {max(round(left), 1)} s left"
    )
