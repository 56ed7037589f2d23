"""Scoring streams of texts with an exported ensemble, in one process or several."""

from __future__ import annotations

import multiprocessing
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from itertools import islice
from typing import TypeVar

from fairlab.types import FairlabError

CHUNK = 1_000  # texts handed to a process at a time
AHEAD = 2  # chunks waiting for each process, which bounds the memory

T = TypeVar("T")
Scorer = Callable[[list[str]], list[dict[str, float]]]
_scorer: Scorer | None = None


def score_stream(
    items: Iterable[T], text: Callable[[T], str], load: Callable[[], Scorer], *, num_proc: int
) -> Iterator[tuple[T, dict[str, float]]]:
    """Every item with its scores by harm, in order.

    Args:
        items: any number of items; memory stays flat.
        text: function from an item to its text.
        load: function that makes the scorer of a list of texts; each process calls it once.
        num_proc: number of processes; 1 stays in this one.

    Raises:
        FairlabError: ``num_proc`` is below 1.
    """
    if num_proc < 1:
        raise FairlabError(f"num_proc must be at least 1, not {num_proc}")
    chunks = _chunks(items)
    if num_proc == 1:
        scorer = load()
        for chunk in chunks:
            yield from zip(chunk, scorer([text(item) for item in chunk]), strict=True)
        return
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(num_proc, mp_context=context, initializer=_start, initargs=(load,)) as pool:
        waiting: deque[tuple[list[T], Future[list[dict[str, float]]]]] = deque()
        for chunk in chunks:
            waiting.append((chunk, pool.submit(_score, [text(item) for item in chunk])))
            if len(waiting) > AHEAD * num_proc:
                yield from _next(waiting)
        while waiting:
            yield from _next(waiting)


def _chunks(items: Iterable[T]) -> Iterator[list[T]]:
    iterator = iter(items)
    while chunk := list(islice(iterator, CHUNK)):
        yield chunk


def _next(waiting: deque[tuple[list[T], Future[list[dict[str, float]]]]]) -> Iterator[tuple[T, dict[str, float]]]:
    chunk, future = waiting.popleft()
    yield from zip(chunk, future.result(), strict=True)


def _start(load: Callable[[], Scorer]) -> None:
    """Each process has one thread, so that processes do not fight over cores."""
    import torch

    global _scorer
    torch.set_num_threads(1)
    _scorer = load()


def _score(texts: Sequence[str]) -> list[dict[str, float]]:
    assert _scorer is not None
    return _scorer(list(texts))
