"""A line of requests before one scorer: bounded, so that memory stays flat, and served by one thread.

Requests are scored in pieces, and a piece is later in the line the more it costs. So a request of few short texts never
waits for all of a large one, and a large one is not passed over for ever.
"""

from __future__ import annotations

import heapq
import threading
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, InvalidStateError
from contextlib import suppress
from dataclasses import dataclass, field

from fairlab.methods.safety_ensemble.exported.scoring import Scorer, Scores

MOST_COST = 20_000.0  # of texts that are scored together
COST_A_SECOND = 20_000.0  # cost by which a piece is a second later in the line


class LineFull(Exception):
    """As many requests wait as may."""


@dataclass
class Waiting:
    """A request in the line.

    Attributes:
        found: scores so far by place of the text.
        left: number of texts that have none.
        answer: what the request is answered.
    """

    found: list[Scores | None]
    left: int
    answer: Future[list[Scores]] = field(default_factory=Future)


@dataclass(order=True)
class Piece:
    """Some texts of a request.

    Attributes:
        due: time by which pieces are in order, of the clock ``time.monotonic``.
        number: of the piece, in order of coming.
        request: request of the texts.
        first: place of the first of the texts in the request.
        texts: texts of the piece.
        cost: of the texts; see :func:`cost_of`.
    """

    due: float
    number: int
    request: Waiting = field(compare=False)
    first: int = field(compare=False)
    texts: list[str] = field(compare=False)
    cost: float = field(compare=False)


class WaitingLine:
    """Scores the texts of many requests, small ones before what is left of large ones.

    Pieces that wait together are scored together, which costs less than one after the other; where that fails, each
    is scored alone, so that no request suffers from another.

    Args:
        scorer: Function from a list of texts to their scores, called by one thread alone.
        most: Most requests that wait, at least 1; one more is being scored.
    """

    def __init__(self, scorer: Scorer, most: int) -> None:
        self.scorer, self.most = scorer, most
        self.pieces: list[Piece] = []
        self.unanswered = self.count = 0
        self.ended = False
        self.change = threading.Condition()
        self.thread = threading.Thread(target=self._work, daemon=True)
        self.thread.start()

    def scores(self, texts: Sequence[str], seconds: float) -> list[Scores]:
        """Return the scores of the texts of a request.

        Raises:
            LineFull: too many requests wait.
            TimeoutError: it took longer than so many seconds; the request then leaves the line.
            Exception: whatever the scorer raises.
        """
        request = Waiting([None] * len(texts), len(texts))
        with self.change:
            if self.ended or self.unanswered > self.most:
                raise LineFull
            self.unanswered += 1
            self._add(request, texts)
            self.change.notify()
        try:
            return request.answer.result(seconds)
        finally:
            request.answer.cancel()
            with self.change:
                self.unanswered -= 1

    def end(self, seconds: float) -> None:
        """Score what waits, and end; at most so many seconds long."""
        with self.change:
            self.ended = True
            self.change.notify()
        self.thread.join(seconds)

    def _add(self, request: Waiting, texts: Sequence[str]) -> None:
        """Put the pieces of a request into the line."""
        due, first = time.monotonic(), 0
        for piece in pieces_of(texts):
            cost = sum(map(cost_of, piece))
            due += cost / COST_A_SECOND
            heapq.heappush(self.pieces, Piece(due, self.count, request, first, piece, cost))
            self.count += 1
            first += len(piece)

    def _work(self) -> None:
        while together := self._next():
            self._score(together)

    def _next(self) -> list[Piece]:
        """Wait for pieces and return those that are to be scored together; none at the end."""
        with self.change:
            while True:
                while self.pieces and self.pieces[0].request.answer.done():  # whoever asked has gone
                    heapq.heappop(self.pieces)
                if self.pieces or self.ended:
                    break
                self.change.wait()
            together, cost = list[Piece](), 0.0
            while self.pieces and (not together or cost + self.pieces[0].cost <= MOST_COST):
                together.append(heapq.heappop(self.pieces))
                cost += together[-1].cost
            return together

    def _score(self, pieces: list[Piece]) -> None:
        pieces = [piece for piece in pieces if not piece.request.answer.done()]
        try:
            found = iter(self.scorer([text for piece in pieces for text in piece.texts]))
            for piece in pieces:
                self._take(piece, [next(found) for _ in piece.texts])
        except Exception as error:  # whatever it is, the next request is to be answered
            if len(pieces) > 1:
                for piece in pieces:
                    self._score([piece])
            elif pieces:
                with suppress(InvalidStateError):
                    pieces[0].request.answer.set_exception(error)

    def _take(self, piece: Piece, scores: list[Scores]) -> None:
        """Keep the scores of a piece; the last piece of a request answers it."""
        request = piece.request
        request.found[piece.first : piece.first + len(scores)] = scores
        request.left -= len(scores)
        if not request.left:
            with suppress(InvalidStateError):  # whoever asked has gone
                request.answer.set_result([one for one in request.found if one is not None])


def cost_of(text: str) -> float:
    """Return what a text may cost: code of others can take time with the square of a text's length."""
    return 100.0 + len(text) + len(text) ** 2 / 1_000


def pieces_of(texts: Sequence[str]) -> Iterator[list[str]]:
    """Yield consecutive texts that cost at most :data:`MOST_COST` together; one that costs more is alone."""
    piece, cost = list[str](), 0.0
    for text in texts:
        if piece and cost + cost_of(text) > MOST_COST:
            yield piece
            piece, cost = [], 0.0
        piece.append(text)
        cost += cost_of(text)
    if piece:
        yield piece
