"""A line of requests before one scorer: bounded, so that memory stays flat, and served by one thread."""

from __future__ import annotations

import queue
import threading
from collections.abc import Sequence
from concurrent.futures import Future, InvalidStateError
from contextlib import suppress

from fairlab.methods.safety_ensemble.exported.scoring import Scorer, Scores

MOST_TEXTS = 512  # of requests that are scored together


class LineFull(Exception):
    """As many requests wait as may."""


class WaitingLine:
    """Scores the texts of many requests in the order in which they come.

    Requests that wait together are scored together, which costs less than one after the other; where that fails, each
    is scored alone, so that no request suffers from another.

    Args:
        scorer: of a list of texts, called by one thread alone.
        most: most requests that wait, at least 1.
    """

    def __init__(self, scorer: Scorer, most: int) -> None:
        self.scorer = scorer
        self.waiting: queue.Queue[tuple[list[str], Future[list[Scores]]] | None] = queue.Queue(most)
        self.thread = threading.Thread(target=self._work, daemon=True)
        self.thread.start()

    def scores(self, texts: Sequence[str], seconds: float) -> list[Scores]:
        """What the scorer says of the texts of a request.

        Raises:
            LineFull: too many requests wait.
            TimeoutError: it took longer than so many seconds; the request then leaves the line.
            Exception: whatever the scorer raises.
        """
        future: Future[list[Scores]] = Future()
        try:
            self.waiting.put_nowait((list(texts), future))
        except queue.Full:
            raise LineFull from None
        try:
            return future.result(seconds)
        finally:
            future.cancel()

    def end(self, seconds: float) -> None:
        """Score what waits, and end; at most so many seconds long."""
        with suppress(queue.Full):
            self.waiting.put(None, timeout=seconds)
        self.thread.join(seconds)

    def _work(self) -> None:
        while (first := self.waiting.get()) is not None:
            together, count, last = [first], len(first[0]), False
            while count < MOST_TEXTS and not last and not self.waiting.empty():
                following = self.waiting.get()
                last = following is None
                if following is not None:
                    together.append(following)
                    count += len(following[0])
            self._score([one for one in together if not one[1].cancelled()])
            if last:
                return

    def _score(self, requests: list[tuple[list[str], Future[list[Scores]]]]) -> None:
        try:
            found = iter(self.scorer([text for texts, _ in requests for text in texts]))
            answers: list[list[Scores] | Exception] = [[next(found) for _ in texts] for texts, _ in requests]
        except Exception as error:  # whatever it is, the next request is to be answered
            if len(requests) > 1:
                for one in requests:
                    self._score([one])
                return
            answers = [error]
        for (_, future), answer in zip(requests, answers, strict=True):
            try:
                if isinstance(answer, Exception):
                    future.set_exception(answer)
                else:
                    future.set_result(answer)
            except InvalidStateError:  # whoever asked has gone
                continue
