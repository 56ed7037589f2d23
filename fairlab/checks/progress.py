"""Progress bars with the time left, on a terminal only."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from typing import TypeVar

from rich.progress import track

T = TypeVar("T")


def with_progress(items: Sequence[T], title: str) -> Iterable[T]:
    """Return the items, with a progress bar if there is a title and a terminal."""
    return track(items, title, disable=not title or not sys.stderr.isatty(), transient=True)
