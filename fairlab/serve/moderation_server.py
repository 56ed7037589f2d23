"""Local server with the interface of OpenAI's ``/v1/moderations``, backed by an exported ensemble.

Source of the request and response formats: https://platform.openai.com/docs/api-reference/moderations
"""

from __future__ import annotations

import io
import json
import logging
import socket
import threading
import time
import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from fairlab.checks.json_text import from_json
from fairlab.data.stream.rows import BROKEN
from fairlab.methods.safety_ensemble.exported.scoring import Scorer, Scores
from fairlab.serve.reading import DeadlineReader
from fairlab.serve.waiting_line import LineFull, WaitingLine

LOCAL = "127.0.0.1"
MODERATIONS, HEALTH = "/v1/moderations", "/health"
METHODS = {MODERATIONS: "POST", HEALTH: "GET"}
MOST_TEXTS = 1_000  # per request
UNCHOSEN = 0.5  # threshold of a harm without an exported one
PIECE = 1 << 16  # bytes read at a time
PATIENCE = 1.0  # seconds for which a client is never disconnected in favour of another
AT_ONCE = 0.5  # upper limit in seconds for a thread to leave a closed connection
RETRY = "1"  # seconds after which a rejected client may retry

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class ServerBounds:
    """Limits of a server.

    Attributes:
        body: Maximum size of a request's body, in bytes.
        waiting: Maximum number of requests that wait for the scorer.
        connections: Maximum number of simultaneous connections.
        seconds: Maximum time from the first to the last byte of a request, and also from the last byte to the answer.
    """

    body: int
    waiting: int
    connections: int
    seconds: float


class RequestError(Exception):
    """Exception for a request that is answered with an error status and one sentence."""

    def __init__(self, status: HTTPStatus, sentence: str) -> None:
        super().__init__(sentence)
        self.status, self.sentence = status, sentence


class Moderations(ThreadingHTTPServer):
    """Moderation server, which listens once it is created and answers requests in ``serve_forever``.

    Args:
        scorer: Function from a list of texts to their scores by harm.
        thresholds: Minimum score for flagging a text, by harm; every harm has an entry.
        model: Name of the model in responses.
        port: Port to listen on; 0 selects a free port.
        bounds: Limits of the server.

    Raises:
        OSError: The port is not available.
    """

    request_queue_size = 128

    def __init__(
        self, scorer: Scorer, thresholds: Mapping[str, float], model: str, port: int, bounds: ServerBounds
    ) -> None:
        super().__init__((LOCAL, port), Answers)
        self.thresholds, self.model, self.bounds = dict(thresholds), model, bounds
        self.line = WaitingLine(scorer, bounds.waiting)
        self.free = threading.BoundedSemaphore(bounds.connections)
        self.idle = threading.Condition()
        self.reading: dict[Answers, float] = {}  # start times of connections that wait for their clients
        self.answering = 0

    def process_request(self, request: Any, client_address: Any) -> None:
        """Handle a connection in a separate thread, or reject it if there are too many connections.

        To avoid rejecting a connection, close the one that has waited longest for its client, if it has waited longer
        than :data:`PATIENCE`.
        """
        if self.free.acquire(blocking=False) or (self._close_slowest() and self.free.acquire(timeout=AT_ONCE)):
            super().process_request(request, client_address)
            return
        request.settimeout(1)
        body = _error("the server has too many connections; try again in a moment")
        head = f"HTTP/1.1 503 Service Unavailable\r\nRetry-After: {RETRY}\r\nContent-Type: application/json\r\n"
        with suppress(OSError):
            request.sendall(f"{head}Connection: close\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body)
        self.shutdown_request(request)

    def _close_slowest(self) -> bool:
        """Close the connection that has waited longest for its client.

        Returns:
            Whether a connection has waited long enough and was closed.
        """
        with self.idle:
            slowest = min(self.reading.items(), key=lambda one: one[1], default=None)
            if slowest is None or time.monotonic() - slowest[1] < min(PATIENCE, self.bounds.seconds / 2):
                return False
            del self.reading[slowest[0]]
        with suppress(OSError):
            slowest[0].connection.shutdown(socket.SHUT_RDWR)
        return True

    def awaits(self, answers: Answers, waiting: bool) -> None:
        """Record whether a connection is waiting for its client."""
        with self.idle:
            if waiting:
                self.reading[answers] = time.monotonic()
            else:
                self.reading.pop(answers, None)

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        """Answer all requests on a connection."""
        try:
            super().process_request_thread(request, client_address)
        finally:
            self.free.release()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Log an error of a connection, such as a disconnected client, at debug level.

        The server continues.
        """
        log.debug("a connection ended early", exc_info=True)

    def end(self) -> None:
        """Answer the requests that have been read, and close the server.

        Call this after serving has stopped.
        """
        self.line.end(self.bounds.seconds)
        with self.idle:
            self.idle.wait_for(lambda: not self.answering, self.bounds.seconds)
        self.server_close()

    @contextmanager
    def counted(self) -> Iterator[None]:
        """Count a request as in progress within the context."""
        with self.idle:
            self.answering += 1
        try:
            yield
        finally:
            with self.idle:
                self.answering -= 1
                self.idle.notify_all()

    def reply(self, texts: Sequence[str], found: Sequence[Scores]) -> dict[str, Any]:
        """Return the response to a request, in the format that OpenAI documents."""
        return {"id": f"modr-{uuid.uuid4().hex}", "model": self.model, "results": [self._result(one) for one in found]}

    def _result(self, found: Scores) -> dict[str, Any]:
        scores = {harm: float(found[harm]) for harm in self.thresholds}
        named = {harm: scores[harm] >= cut for harm, cut in self.thresholds.items()}
        return {
            "flagged": any(named.values()),
            "categories": named,
            "category_scores": scores,
            "category_applied_input_types": {harm: ["text"] for harm in scores},
        }


class Answers(BaseHTTPRequestHandler):
    """Handler of the requests on one connection."""

    server: Moderations
    protocol_version = "HTTP/1.1"
    server_version, sys_version = "fairlab", ""
    disable_nagle_algorithm = True

    def setup(self) -> None:
        """Set up reading with a deadline, which closes connections whose clients are silent or send too slowly."""
        super().setup()
        self.reader = DeadlineReader(self.connection, self.server.bounds.seconds)
        self.rfile.close()
        self.rfile = io.BufferedReader(self.reader)

    def handle_one_request(self) -> None:
        """Wait for the next request and answer it."""
        self.reader.deadline = None
        self.server.awaits(self, True)
        try:
            super().handle_one_request()
        finally:
            self.server.awaits(self, False)

    def answer(self) -> None:
        """Answer a request with scores, or with an error."""
        try:
            with self.server.counted():
                self._send(HTTPStatus.OK, json.dumps(self._answered()).encode())
        except RequestError as error:
            self._refuse(error.status, error.sentence)

    do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = do_HEAD = do_OPTIONS = answer

    def handle_expect_100(self) -> bool:
        """Ask the client for the body only if its size is within the limit."""
        try:
            self._length()
        except RequestError as error:
            self._refuse(error.status, error.sentence)
            return False
        return super().handle_expect_100()

    def _answered(self) -> dict[str, Any]:
        path = self.path.partition("?")[0]
        # A foreign page could resolve its own name to this server; its requests then carry that name.
        hosts = self.headers.get_all("Host", [])
        if len(hosts) != 1 or hosts[0].rpartition(":")[0] not in (LOCAL, "localhost"):
            raise RequestError(HTTPStatus.FORBIDDEN, f"this server answers only as {LOCAL} and localhost")
        if path not in METHODS:
            raise RequestError(HTTPStatus.NOT_FOUND, f"there is no {path[:100]} here; there are: {', '.join(METHODS)}")
        if self.command != METHODS[path]:
            raise RequestError(HTTPStatus.METHOD_NOT_ALLOWED, f"{path} accepts only {METHODS[path]}")
        if path == HEALTH:
            return {"status": "ok", "model": self.server.model, "harms": list(self.server.thresholds)}
        body = self._body()
        self.server.awaits(self, False)
        texts = texts_of(body)
        try:
            found = self.server.line.scores(texts, self.server.bounds.seconds)
        except LineFull:
            raise RequestError(HTTPStatus.SERVICE_UNAVAILABLE, "too many requests wait; try again later") from None
        except TimeoutError:
            took = f"scoring took longer than {self.server.bounds.seconds:g} seconds; send fewer texts"
            raise RequestError(HTTPStatus.GATEWAY_TIMEOUT, took) from None
        except Exception as error:
            log.exception("texts could not be scored")
            raise RequestError(HTTPStatus.INTERNAL_SERVER_ERROR, "the texts could not be scored") from error
        for number, one in enumerate(found, start=1):
            if any(one[harm] is None for harm in self.server.thresholds):
                sentence = f"text {number} could not be scored in time; shorten it"
                raise RequestError(HTTPStatus.UNPROCESSABLE_ENTITY, sentence)
        return self.server.reply(texts, found)

    def _length(self) -> int:
        """Return the size of the body in bytes."""
        lengths, most = self.headers.get_all("Content-Length", []), self.server.bounds.body
        if not lengths or "Transfer-Encoding" in self.headers:
            raise RequestError(HTTPStatus.LENGTH_REQUIRED, "the request has no Content-Length; give it")
        if len(lengths) > 1:  # readers could disagree about the end of the body
            raise RequestError(HTTPStatus.BAD_REQUEST, "the request has several Content-Lengths; give one")
        given = lengths[0]
        if not (given.isascii() and given.isdigit()) or len(given) > 18:
            raise RequestError(HTTPStatus.BAD_REQUEST, "the Content-Length is not a number of bytes")
        if int(given) > most:
            raise RequestError(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, f"the body is longer than {most:,} bytes")
        return int(given)

    def _body(self) -> bytes:
        """Return the body, which must be complete by the request's deadline."""
        left, pieces = self._length(), list[bytes]()
        while left:
            try:
                piece = self.rfile.read1(min(left, PIECE))
            except TimeoutError:
                piece = b""
            if not piece:
                raise RequestError(HTTPStatus.REQUEST_TIMEOUT, "the body did not arrive completely in time")
            pieces.append(piece)
            left -= len(piece)
        return b"".join(pieces)

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        """Send an error in OpenAI's format for requests that the standard library rejects, such as malformed ones."""
        del explain
        self._refuse(HTTPStatus(code), message or HTTPStatus(code).phrase)

    def _refuse(self, status: HTTPStatus, sentence: str) -> None:
        """Send an error and close the connection, because the rest of the request was not read."""
        self.close_connection = True
        more = {"Connection": "close"}
        if status == HTTPStatus.SERVICE_UNAVAILABLE:
            more["Retry-After"] = RETRY
        if status == HTTPStatus.METHOD_NOT_ALLOWED:
            more["Allow"] = METHODS[self.path.partition("?")[0]]
        self._send(status, _error(sentence), more)
        self._pass_over()

    def _pass_over(self) -> None:
        """Discard incoming bytes for a short time.

        Otherwise, a client that is still sending would not see the answer.
        """
        self.reader.deadline = time.monotonic() + min(2.0, self.server.bounds.seconds)
        self.reader.silence = 0.2
        try:
            self.wfile.flush()
            while self.rfile.read1(PIECE):
                pass
        except OSError:
            pass

    def _send(self, status: HTTPStatus, content: bytes, more: Mapping[str, str] | None = None) -> None:
        self.connection.settimeout(self.server.bounds.seconds)  # for everything that is written in one call
        self.send_response(status)
        for name, value in {
            "Content-Type": "application/json",
            "Content-Length": str(len(content)),
            **(more or {}),
        }.items():
            self.send_header(name, value)
        self.send_header("X-Content-Type-Options", "nosniff")
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content)

    def log_message(self, *_: object) -> None:
        """Do nothing, because requests must not be logged: texts are private."""


def texts_of(body: bytes) -> list[str]:
    """Return the texts in a request's body.

    Raises:
        RequestError: The body is not JSON, or has the wrong type.
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

    Args:
        given: A text, a list of texts, or a list of parts, which are judged as one text.

    Raises:
        RequestError: The input has another form, or a part is an image.
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


def _bad(sentence: str) -> RequestError:
    return RequestError(HTTPStatus.BAD_REQUEST, sentence)


def _error(sentence: str) -> bytes:
    """Return the body of an error response in OpenAI's format."""
    kind = {"message": sentence, "type": "invalid_request_error", "param": None, "code": None}
    return json.dumps({"error": kind}).encode()
