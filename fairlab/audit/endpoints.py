"""Classifiers behind an HTTP endpoint, as functions from texts to scores.

The address decides the interface:

- ``/v1/moderations``, no path, or a path that ends in ``/v1``: the moderation interface of OpenAI and of
  ``fairlab serve``. The name of a model follows after ``#``.
- any other path: the text-classification interface of Hugging Face's Inference Providers and Inference Endpoints, and
  of ``/predict`` in Text Embeddings Inference.
"""

from __future__ import annotations

import json
import logging
import math
import re
import ssl
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from http.client import HTTPException, IncompleteRead
from typing import Any
from urllib.parse import urlsplit

import numpy as np
from numpy.typing import NDArray

from fairlab.audit.any_classifier import AnyClassifier, Fields, Kind
from fairlab.audit.outputs import SHOWN, ModelFailed
from fairlab.checks.foreign import error_text
from fairlab.checks.json_text import from_json
from fairlab.llm.endpoint import LONGEST_BODY, LOOPBACK, REASON_LENGTH, retry_after
from fairlab.llm.exchange import LONGEST_WAIT
from fairlab.llm.keys import ApiKey
from fairlab.text.labels import as_written
from fairlab.types import FairlabError

Array = NDArray[np.float64]
Scores = dict[str, float]
AT_ONCE = 32  # texts per call of the model, which are one request of the moderation interface
IN_FLIGHT = 8  # requests in flight of the other interface; simple servers refuse more connections at once
MOST_LABELS = 1000  # labels that a text-classification endpoint is asked for; some give five by default
TIMEOUT = 60.0  # seconds
BUSY = (429, 502, 503)  # statuses of a server that may answer later
WAITS = (1.0, 2.0, 4.0, 8.0, 16.0, 32.0)  # seconds before each further request to a busy server
HOST = re.compile(r"https?://([^/?#@]+)", re.IGNORECASE)
KINDS = "give the address of /v1/moderations, or of text classification, such as http://HOST/predict"
log = logging.getLogger(__name__)


def is_address(model: Any) -> bool:
    """Return whether a model is the address of an endpoint."""
    return isinstance(model, str) and model.lower().startswith(("http://", "https://"))


def refuse_other_servers(models: Iterable[Any], api_key_env: str | None) -> None:
    """Raise an error if a key is given and the models are not all on the server that the key is for."""
    hosts = {found[1].lower() if isinstance(one, str) and (found := HOST.match(one)) else "" for one in models}
    if api_key_env is not None and (len(hosts) != 1 or "" in hosts):
        raise FairlabError(
            "api_key_env is for models on one server, so that no other server receives the key; audit the models one "
            "by one, and compare the audits with fairlab compare"
        )


def load_endpoint(address: str, api_key_env: str | None = None) -> AnyClassifier:
    """Wrap the classifier behind an address, whose labels are those in its first response.

    Args:
        address: Address of the endpoint, with the name of the model after ``#`` if the server has several.
        api_key_env: Name of the environment variable with the key; None sends no key.

    Raises:
        FairlabError: The address contains a password, the key is missing or refused, or there is no such server.
        ModelFailed: The server has another interface.
    """
    url, _, model = address.partition("#")
    try:
        parts = urlsplit(url)
    except ValueError as error:
        raise FairlabError(f"{url} is not an address ({error}); {KINDS}") from error
    if parts.username or parts.password or parts.query:
        raise FairlabError(
            "the address contains a key or password; put it into an environment variable, and give its name as "
            "api_key_env"
        )
    place, path = url.rstrip("/"), parts.path.rstrip("/")
    if not path:
        place, path = f"{place}/v1", "/v1"
    if path.endswith("/v1"):
        place += "/moderations"
    if place.endswith("/moderations"):
        return _moderation(address, _Server(place, api_key_env), model)
    if model:
        raise FairlabError(f"{url} classifies with one model, so leave out #{model}; or {KINDS}")
    return _classification(address, _Server(url, api_key_env))


def _moderation(name: str, server: _Server, model: str) -> AnyClassifier:
    def scores(texts: Sequence[Fields]) -> list[Scores]:
        body = {"input": [" ".join(fields) for fields in texts]} | ({"model": model} if model else {})
        results = server.read(body, lambda reply: [_numbers(one["category_scores"]) for one in reply["results"]])
        if len(results) != len(texts):
            raise FairlabError(f"{server.url} returned {len(results)} results for {len(texts)} texts; check the server")
        return results

    labels = tuple(scores([["a text"]])[0])
    return AnyClassifier(name, lambda texts: server.table(scores(texts), labels), labels, "several", at_once=AT_ONCE)


def _classification(name: str, server: _Server) -> AnyClassifier:
    def scores_of(fields: Fields) -> Scores:
        inputs = fields[0] if len(fields) == 1 else list(fields)
        return server.read({"inputs": inputs, "parameters": {"top_k": MOST_LABELS}}, _labelled)

    def call(texts: Sequence[Fields]) -> Array:
        with ThreadPoolExecutor(IN_FLIGHT) as pool:
            return server.table(list(pool.map(scores_of, texts)), labels)

    first = scores_of(["a text"])
    labels = tuple(sorted(first, key=_natural))
    kind: Kind = "one" if len(first) > 1 and math.isclose(sum(first.values()), 1, abs_tol=1e-3) else "several"
    return AnyClassifier(name, call, labels, kind, at_once=AT_ONCE)


def _labelled(reply: Any) -> Scores:
    """Return the scores by label in a response for one text: a list of labels with scores, perhaps in another list."""
    found = reply[0] if len(reply) == 1 and isinstance(reply[0], list) else reply
    named = ((one["label"], one["score"]) for one in found)
    return _numbers({name if isinstance(name, str) else as_written(name): score for name, score in named})


def _natural(name: str) -> list[Any]:
    """Return the sort key by which ``LABEL_2`` comes before ``LABEL_10``."""
    return [int(part) if part.isdecimal() else part for part in re.split(r"(\d+)", name)]


def _numbers(value: Any) -> Scores:
    """Return the scores that a server gives for one text, with NaN for null."""
    if not isinstance(value, Mapping) or not value:
        raise ValueError(f"there must be a number per label, not {json.dumps(value)[:SHOWN]}")
    return {name: math.nan if score is None else float(score) for name, score in value.items()}


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """Handler that follows no redirect, which could send the texts and the key to another server."""

    def redirect_request(self, *_: Any) -> None:
        return None


class _Server:
    """Connection to one address that takes and returns JSON."""

    def __init__(self, url: str, api_key_env: str | None) -> None:
        self.url = url
        self.key = ApiKey(api_key_env, url, "api_key_env")
        local = urlsplit(url).hostname in LOOPBACK  # an environment proxy cannot reach a loopback address
        self.opener = urllib.request.build_opener(_NoRedirect, *([urllib.request.ProxyHandler({})] if local else []))

    def read(self, body: dict[str, Any], interpret: Callable[[Any], Any]) -> Any:
        """Send a request, and interpret its response.

        Raises:
            ModelFailed: The server refuses the texts, or responds in another format.
            FairlabError: The server cannot be reached, stays busy or refuses the key.
        """
        try:
            return interpret(self._answer(body))
        except (OSError, HTTPException, ValueError, KeyError, TypeError, IndexError) as error:
            said = self._said(error)
            status = error.code if isinstance(error, urllib.error.HTTPError) else None
            if status in (401, 403):
                raise self.key.refused(status, said) from error
            if status in BUSY:
                raise FairlabError(f"{self.url} stays busy ({said}); run this again later") from error
            if status is None and isinstance(error, OSError):
                raise FairlabError(f"{self.url} cannot be reached ({said}); {_remedy(error)}") from error
            message = f"{self.url} returns no scores ({said}); {KINDS}"
            if isinstance(error, HTTPException):
                raise FairlabError(message) from error
            raise ModelFailed(message, said, "check the server") from error

    def table(self, scores: Sequence[Scores], labels: Sequence[str]) -> Array:
        """Return the scores (N, L) of texts in the order of the labels."""
        if absent := next((name for name in labels for one in scores if name not in one), None):
            said = (
                f"it returns no score for '{absent}', unlike for the first text; it must return all labels every time"
            )
            raise ModelFailed(f"{self.url} fails ({said}); check the server", said, "check the server")
        return np.array([[one[name] for name in labels] for one in scores])

    def _answer(self, body: dict[str, Any]) -> Any:
        """Return the JSON value of the response. The request is repeated while the server is busy."""
        headers = {"Content-Type": "application/json", **self.key.headers()}
        request = urllib.request.Request(self.url, json.dumps(body).encode(), headers)
        waits = iter(WAITS)
        while True:
            try:
                with self.opener.open(request, timeout=TIMEOUT) as reply:
                    content = reply.read(LONGEST_BODY + 1)
                if len(content) > LONGEST_BODY:
                    raise ValueError(f"the answer is longer than {LONGEST_BODY:,} bytes")
                return from_json(content.decode())
            except (OSError, HTTPException) as error:
                wait = next(waits, None)
                named = error.headers.get("Retry-After") if isinstance(error, urllib.error.HTTPError) else None
                asked = retry_after(named) or 0.0
                if wait is None or asked > LONGEST_WAIT or not _may_pass(error):
                    raise
                wait = max(wait, asked)
                log.info("%s is busy (%s); the request is repeated in %.0f s", self.url, error_text(error), wait)
                time.sleep(wait)

    def _said(self, error: Exception) -> str:
        """Return what an error says, with the beginning of the server's own message and without the key."""
        said = f"no {error_text(error)}" if isinstance(error, KeyError) else error_text(_cause(error))
        if isinstance(error, urllib.error.HTTPError):
            message = ""
            with suppress(OSError, HTTPException), error:
                message = " ".join(error.read(LONGEST_BODY).decode(errors="replace").split())
            said += f": {message[:REASON_LENGTH]}" if message and not message.startswith("<") else ""
        return self.key.blank(said)


def _may_pass(error: Exception) -> bool:
    """Return whether the same request may succeed later: the server was busy or slow, or the connection was cut."""
    if isinstance(error, urllib.error.HTTPError):
        return error.code in BUSY
    return isinstance(_cause(error), ConnectionResetError | IncompleteRead | TimeoutError)


def _cause(error: Exception) -> Exception:
    """Return the error that urllib wrapped, or the error itself."""
    reason = getattr(error, "reason", None)
    return reason if isinstance(reason, Exception) else error


def _remedy(error: Exception) -> str:
    """Return the remedy for a server that cannot be reached."""
    cause = _cause(error)
    if isinstance(cause, ssl.SSLError):
        return "set SSL_CERT_FILE to the certificate that its server uses, or give an http:// address"
    if isinstance(cause, TimeoutError):
        return f"run this again when it answers within {TIMEOUT:.0f} s"
    return "start its server, or give another address"
