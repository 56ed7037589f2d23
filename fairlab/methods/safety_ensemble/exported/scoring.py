"""Batch scoring of texts with an exported ensemble, in one process or several."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any, TypeVar

from fairlab.data.stream.shards import drawn_ahead, process_pool
from fairlab.types import FairlabError

T = TypeVar("T")
Scores = dict[str, Any]  # values of one text: score per harm and, on request, further values
Scorer = Callable[[list[str]], list[Scores]]


def score_batches(
    batches: Iterable[T], texts: Callable[[T], list[str]], load: Callable[[], Scorer], *, num_proc: int
) -> Iterator[tuple[T, list[Scores]]]:
    """Yield every batch with the scores of its texts, in order.

    Args:
        batches: Any number of batches, of which only a few are in memory at a time.
        texts: Function from a batch to its texts.
        load: Picklable function that makes the scorer; each process calls it once.
        num_proc: Number of processes; 1 scores in the current process.

    Raises:
        FairlabError: ``num_proc`` is below 1, or a process was killed from outside.
    """
    if num_proc < 1:
        raise FairlabError(f"num_proc must be at least 1, not {num_proc}")
    if num_proc == 1:
        scorer = load()
        for batch in batches:
            yield batch, scorer(texts(batch))
        return
    load()  # reports errors of the ensemble in one sentence before any process starts
    with process_pool(num_proc, partial(_load_alone, load)) as submit:
        begun = ((batch, submit(_score, texts(batch))) for batch in batches)
        for batch, future in drawn_ahead(begun, num_proc):
            yield batch, future.result()


def _load_alone(load: Callable[[], Scorer]) -> Scorer:
    """Load the scorer of a worker process, and limit it to one thread, so that workers do not compete for cores."""
    from threadpoolctl import threadpool_limits

    scorer = load()
    threadpool_limits(limits=1)
    if "torch" in sys.modules:  # loaded by a source of the ensemble
        sys.modules["torch"].set_num_threads(1)
    return scorer


def _score(texts: list[str], scorer: Scorer) -> list[Scores]:
    return scorer(texts)
