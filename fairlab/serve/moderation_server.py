"""Local server with the interface of OpenAI's ``/v1/moderations``, backed by an exported ensemble.

Source of the request and response formats: https://platform.openai.com/docs/api-reference/moderations
"""

from __future__ import annotations

import asyncio
import logging
import socket
import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from http import HTTPStatus
from typing import Any

import uvicorn
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from uvicorn.protocols.http.h11_impl import H11Protocol

from fairlab.checks.json_text import from_json
from fairlab.data.stream.rows import BROKEN
from fairlab.methods.safety_ensemble.exported.scoring import Scorer, Scores
from fairlab.serve.waiting_line import LineFull, WaitingLine

LOCAL = "127.0.0.1"
MODERATIONS, HEALTH = "/v1/moderations", "/health"
MOST_TEXTS = 1_000  # per request
UNCHOSEN = 0.5  # threshold of a harm without an exported one
CLOSING = {"Connection": "close"}  # the rest of the request was not read
RETRY = {"Retry-After": "1"}  # seconds after which a rejected client may retry

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class ServerBounds:
    """Limits of a server.

    Attributes:
        body: Maximum size of a request's body, in bytes.
        waiting: Maximum number of requests that wait for the scorer.
        connections: Maximum number of simultaneous connections.
        seconds: Maximum time to read a request's body, and also from its last byte to the answer.
    """

    body: int
    waiting: int
    connections: int
    seconds: float


class Moderations:
    """Moderation server, which listens once it is created and answers requests in ``run``.

    Args:
        scorer: Function from a list of texts to their scores by harm.
        thresholds: Minimum score for flagging a text, by harm; every harm has an entry.
        model: Name of the model in responses.
        port: Port to listen on; 0 selects a free port.
        bounds: Limits of the server.

    Raises:
        OSError: The port is not available.
    """

    def __init__(
        self, scorer: Scorer, thresholds: Mapping[str, float], model: str, port: int, bounds: ServerBounds
    ) -> None:
        self.thresholds, self.model, self.bounds = dict(thresholds), model, bounds
        self.line = WaitingLine(scorer, bounds.waiting)
        self.socket = socket.create_server((LOCAL, port), backlog=bounds.connections)
        self.port: int = self.socket.getsockname()[1]
        routes = [Route(MODERATIONS, self.moderate, methods=["POST"]), Route(HEALTH, self.health, methods=["GET"])]
        config = uvicorn.Config(
            Starlette(routes=routes, exception_handlers={HTTPException: _refuse}),
            http=partial(Connection, bounds),  # type: ignore[arg-type]
            ws="none",
            lifespan="off",
            log_config=None,
            log_level="critical",  # requests must not be logged, because texts are private
            access_log=False,
            server_header=False,
            timeout_keep_alive=bounds.seconds,  # type: ignore[arg-type]
            timeout_graceful_shutdown=bounds.seconds,  # type: ignore[arg-type]
        )
        self.server = uvicorn.Server(config)

    def run(self) -> None:
        """Answer requests until a signal comes, or until ``end`` is called in another thread."""
        self.server.run(sockets=[self.socket])

    def end(self) -> None:
        """Let ``run`` answer the requests that it has read, and return."""
        self.server.should_exit = True

    async def health(self, request: Request) -> Response:
        """Answer that the server is running."""
        _refuse_other_host(request)
        return _json({"status": "ok", "model": self.model, "harms": list(self.thresholds)})

    async def moderate(self, request: Request) -> Response:
        """Answer a request with scores.

        Raises:
            HTTPException: The request is wrong, or its texts cannot be scored now.
        """
        _refuse_other_host(request)
        texts = texts_of(await self._body(request))
        try:
            found = await self.line.scores(texts, self.bounds.seconds)
        except LineFull:
            sentence = "too many requests wait; try again later"
            raise HTTPException(HTTPStatus.SERVICE_UNAVAILABLE, sentence, RETRY) from None
        except TimeoutError:
            took = f"scoring took longer than {self.bounds.seconds:g} seconds; send fewer texts"
            raise HTTPException(HTTPStatus.GATEWAY_TIMEOUT, took) from None
        except Exception as error:
            log.exception("texts could not be scored")
            raise HTTPException(HTTPStatus.INTERNAL_SERVER_ERROR, "the texts could not be scored") from error
        for number, one in enumerate(found, start=1):
            if any(one[harm] is None for harm in self.thresholds):
                sentence = f"text {number} could not be scored in time; shorten it"
                raise HTTPException(HTTPStatus.UNPROCESSABLE_ENTITY, sentence)
        results = [self._result(one) for one in found]
        return _json({"id": f"modr-{uuid.uuid4().hex}", "model": self.model, "results": results})

    async def _body(self, request: Request) -> bytes:
        """Return the body of a request.

        A body that is too large is read and discarded, because a client that is still sending would not see the answer.
        """
        most, pieces, size = self.bounds.body, list[bytes](), 0
        too_large = HTTPException(
            HTTPStatus.REQUEST_ENTITY_TOO_LARGE, f"the body is longer than {most:,} bytes", CLOSING
        )
        if "expect" in request.headers and int(request.headers.get("content-length", 0)) > most:
            raise too_large
        try:
            async with asyncio.timeout(self.bounds.seconds):
                async for piece in request.stream():
                    size += len(piece)
                    if size <= most:
                        pieces.append(piece)
        except (TimeoutError, ClientDisconnect):
            sentence = "the body did not arrive completely in time"
            raise HTTPException(HTTPStatus.REQUEST_TIMEOUT, sentence, CLOSING) from None
        if size > most:
            raise too_large
        return b"".join(pieces)

    def _result(self, found: Scores) -> dict[str, Any]:
        scores = {harm: float(found[harm]) for harm in self.thresholds}
        named = {harm: scores[harm] >= cut for harm, cut in self.thresholds.items()}
        return {
            "flagged": any(named.values()),
            "categories": named,
            "category_scores": scores,
            "category_applied_input_types": {harm: ["text"] for harm in scores},
        }


class Connection(H11Protocol):
    """Connection of uvicorn within the limits of the server.

    It is closed if its client is too slow, or has waited longest when there are too many connections.
    """

    def __init__(self, bounds: ServerBounds, **settings: Any) -> None:
        super().__init__(**settings)
        self.bounds = bounds
        self.since = self.loop.time()  # start of the wait for the client

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Watch the connection, and make room for it if there are too many."""
        waiting = [one for one in self.connections if isinstance(one, Connection) and one.awaits_client]
        if len(self.connections) >= self.bounds.connections and waiting:
            min(waiting, key=lambda one: one.since).transport.abort()
        super().connection_made(transport)
        self.loop.call_later(2 * self.bounds.seconds, self._close_unless_new, None)

    @property
    def awaits_client(self) -> bool:
        """Return whether the next bytes must come from the client."""
        return self.cycle is None or self.cycle.more_body or self.cycle.response_complete

    def on_response_complete(self) -> None:
        """Begin to wait for the next request."""
        self.since = self.loop.time()
        super().on_response_complete()

    def _close_unless_new(self, earlier: object) -> None:
        """Close the connection if no request has begun since the last call, and otherwise check again later."""
        if self.cycle is earlier:
            self.transport.abort()
        else:
            self.loop.call_later(2 * self.bounds.seconds, self._close_unless_new, self.cycle)


def _refuse_other_host(request: Request) -> None:
    """Refuse a request that names another host: a foreign page could resolve its own name to this server."""
    if request.headers.get("host", "").rpartition(":")[0] not in (LOCAL, "localhost"):
        raise HTTPException(HTTPStatus.FORBIDDEN, f"this server answers only as {LOCAL} and localhost")


def _json(content: Any, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    return JSONResponse(content, status, {"X-Content-Type-Options": "nosniff", **(headers or {})})


def _refuse(request: Request, error: Exception) -> Response:
    """Return an error response in OpenAI's format."""
    assert isinstance(error, HTTPException)
    sentence = error.detail
    if error.status_code == HTTPStatus.NOT_FOUND:
        sentence = f"there is no {request.url.path[:100]} here; there are: {MODERATIONS}, {HEALTH}"
    kind = {"message": sentence, "type": "invalid_request_error", "param": None, "code": None}
    return _json({"error": kind}, error.status_code, error.headers)


def texts_of(body: bytes) -> list[str]:
    """Return the texts in a request's body.

    Raises:
        HTTPException: The body is not JSON, or has the wrong type.
    """
    try:
        content = from_json(body.decode("utf-8"))
    except ValueError as error:
        raise _bad(f"the body is not JSON ({' '.join(str(error).split())[:200]})") from error
    if not isinstance(content, dict) or "input" not in content:
        raise _bad("the body must be an object with 'input', a text or a list of texts")
    texts = _texts_of_input(content["input"])
    if len(texts) > MOST_TEXTS:
        raise _bad(f"'input' holds {len(texts):,} texts; send at most {MOST_TEXTS:,} at a time")
    if not isinstance(content.get("model", ""), str | None):
        raise _bad("'model' must be a text")
    if any(BROKEN.search(text) for text in texts):
        raise _bad("a text contains a NUL character or half a surrogate pair")
    return texts


def _texts_of_input(given: Any) -> list[str]:
    """Return the texts of the field ``input``.

    The field has a text, a list of texts, or a list of parts, which are judged as one text.

    Raises:
        HTTPException: The input has another form, or a part is an image.
    """
    if isinstance(given, list) and given and all(isinstance(part, dict) for part in given):
        if any(part.get("type") == "image_url" for part in given):
            raise _bad("a part of 'input' is an image; this server reads only texts")
        if any(part.get("type") != "text" or not isinstance(part.get("text"), str) for part in given):
            raise _bad('a part of \'input\' must be {"type": "text", "text": ...}')
        return ["\n".join(part["text"] for part in given)]
    texts = [given] if isinstance(given, str) else given
    if not isinstance(texts, list) or not texts or not all(isinstance(text, str) for text in texts):
        raise _bad("'input' must be a text or a list of texts or of parts, at least one")
    return texts


def _bad(sentence: str) -> HTTPException:
    return HTTPException(HTTPStatus.BAD_REQUEST, sentence)
