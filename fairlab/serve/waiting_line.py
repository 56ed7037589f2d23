"""Bounded queue in which requests wait for a single scorer, with constant memory use.

Requests are scored in pieces. The more a piece costs, the later it is placed in the queue. A request with few short
texts therefore does not wait until a large request is finished, and a large request is not postponed forever.
"""

from __future__ import annotations

import asyncio
import heapq
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

from fairlab.methods.safety_ensemble.exported.scoring import Scorer, Scores

MOST_COST = 20_000.0  # maximum cost of texts that are scored together
COST_A_SECOND = 20_000.0  # cost that moves a piece back in the queue by one second


class LineFull(Exception):
    """Error for a request to a queue that already holds the maximum number of waiting requests."""


@dataclass
class Waiting:
    """Request in the queue.

    Attributes:
        found: Scores so far, by position of the text.
        left: Number of texts without scores.
        answer: Future that receives the scores of the request.
    """

    found: list[Scores | None]
    left: int
    answer: asyncio.Future[list[Scores]]


@dataclass(order=True)
class Piece:
    """Consecutive texts of a request that are scored together.

    Attributes:
        due: Time that determines the order of pieces, on the clock ``time.monotonic``.
        number: Number of the piece, in order of arrival.
        request: Request that the texts belong to.
        first: Position of the first text in the request.
        texts: Texts of the piece.
        cost: Cost of the texts; see :func:`cost_of`.
    """

    due: float
    number: int
    request: Waiting = field(compare=False)
    first: int = field(compare=False)
    texts: list[str] = field(compare=False)
    cost: float = field(compare=False)


class WaitingLine:
    """Queue for the texts of many requests.

    Small requests are scored before the remainder of large ones. Pieces that wait at the same time are scored together,
    which is cheaper than scoring them in turn. If scoring them together fails, each piece is scored alone, so that an
    error affects only its own request.

    Args:
        scorer: Function from a list of texts to their scores, called by only one thread.
        most: Maximum number of waiting requests, at least 1, in addition to the request that is being scored.
    """

    def __init__(self, scorer: Scorer, most: int) -> None:
        self.scorer, self.most = scorer, most
        self.pieces: list[Piece] = []
        self.unanswered = self.count = 0
        self.thread = ThreadPoolExecutor(1)
        self.work: asyncio.Task[None] | None = None

    async def scores(self, texts: Sequence[str], seconds: float) -> list[Scores]:
        """Return the scores of a request's texts.

        Raises:
            LineFull: Too many requests are waiting.
            TimeoutError: scoring took longer than ``seconds``; the request is removed from the queue.
            Exception: any error of the scorer.
        """
        if self.unanswered > self.most:
            raise LineFull
        request = Waiting([None] * len(texts), len(texts), asyncio.get_running_loop().create_future())
        self.unanswered += 1
        self._add(request, texts)
        if self.work is None or self.work.done():
            self.work = asyncio.create_task(self._work())
        try:
            return await asyncio.wait_for(request.answer, seconds)
        finally:
            self.unanswered -= 1

    def _add(self, request: Waiting, texts: Sequence[str]) -> None:
        """Add the pieces of a request to the queue."""
        due, first = time.monotonic(), 0
        for piece in pieces_of(texts):
            cost = sum(map(cost_of, piece))
            due += cost / COST_A_SECOND
            heapq.heappush(self.pieces, Piece(due, self.count, request, first, piece, cost))
            self.count += 1
            first += len(piece)

    async def _work(self) -> None:
        while together := self._next():
            await self._score(together)

    def _next(self) -> list[Piece]:
        """Return the pieces to score together, or an empty list if no request waits."""
        self.pieces = [piece for piece in self.pieces if not piece.request.answer.done()]  # other clients have gone
        heapq.heapify(self.pieces)
        together, cost = list[Piece](), 0.0
        while self.pieces and (not together or cost + self.pieces[0].cost <= MOST_COST):
            together.append(heapq.heappop(self.pieces))
            cost += together[-1].cost
        return together

    async def _score(self, pieces: list[Piece]) -> None:
        texts = [text for piece in pieces for text in piece.texts]
        try:
            found = iter(await asyncio.get_running_loop().run_in_executor(self.thread, self.scorer, texts))
            for piece in pieces:
                self._take(piece, [next(found) for _ in piece.texts])
        except Exception as error:  # any error, so that the next request is still answered
            if len(pieces) > 1:
                for piece in pieces:
                    await self._score([piece])
            elif not pieces[0].request.answer.done():
                pieces[0].request.answer.set_exception(error)

    def _take(self, piece: Piece, scores: list[Scores]) -> None:
        """Store the scores of a piece, and complete the request's answer if no text is left."""
        request = piece.request
        request.found[piece.first : piece.first + len(scores)] = scores
        request.left -= len(scores)
        if not request.left and not request.answer.done():  # its client may have gone
            request.answer.set_result([one for one in request.found if one is not None])


def cost_of(text: str) -> float:
    """Estimate the cost of scoring a text.

    The cost is assumed to be quadratic in the length, as in some third-party code.
    """
    return 100.0 + len(text) + len(text) ** 2 / 1_000


def pieces_of(texts: Sequence[str]) -> Iterator[list[str]]:
    """Yield consecutive texts with a total cost of at most :data:`MOST_COST`.

    A text that costs more is yielded alone.
    """
    piece, cost = list[str](), 0.0
    for text in texts:
        if piece and cost + cost_of(text) > MOST_COST:
            yield piece
            piece, cost = [], 0.0
        piece.append(text)
        cost += cost_of(text)
    if piece:
        yield piece
