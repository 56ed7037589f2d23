"""Independent computations in as many threads as there are cores; compiled code lets the threads work side by side."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from rich.progress import track

from fairlab.checks.cores import cores

K = TypeVar("K")
V = TypeVar("V")
R = TypeVar("R")


def in_threads(function: Callable[[V], R], items: Mapping[K, V], title: str) -> Iterator[tuple[K, R]]:
    """Yield each key with the function's result for its value, in the order of the keys.

    Args:
        function: Function whose results depend on its argument alone.
        items: Arguments by key.
        title: Title of a progress bar, shown on a terminal only.
    """
    with ThreadPoolExecutor(cores()) as pool:
        found = zip(items, pool.map(function, items.values()), strict=True)
        yield from track(found, title, total=len(items), transient=True)
