"""Classifiers behind an HTTP endpoint, as functions from texts to scores.

The address decides the interface:

- ``/v1/moderations``, no path, or a path that ends in ``/v1``: the moderation interface of OpenAI and of
  ``fairlab serve``. The name of a model follows after ``#``.
- any other path: the text-classification interface of Hugging Face's Inference Providers and Inference Endpoints, and
  of ``/predict`` in Text Embeddings Inference.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any
from urllib.parse import urlsplit

import numpy as np
from numpy.typing import NDArray

from fairlab.audit.any_classifier import AnyClassifier, Fields
from fairlab.audit.outputs import ModelFailed
from fairlab.checks.values import TARGET, node_faults
from fairlab.llm.client import LLM
from fairlab.llm.exchange import Reply, Request
from fairlab.llm.ledger import Ledger
from fairlab.llm.loading import as_budget, load_server
from fairlab.llm.probe import refuse_changed
from fairlab.llm.score_endpoints import (
    ModerationEndpoint,
    ScoreEndpoint,
    TextClassificationEndpoint,
    fields_request,
    read_scores,
)
from fairlab.types import FairlabError

Array = NDArray[np.float64]
LEDGER = "outputs/llm_ledger.sqlite"
IN_FLIGHT = 8  # requests in flight; simple servers refuse more connections at once
TIMEOUT = 60.0  # seconds per request
RETRIES = 6
STAGE = "audit"  # name of the calls in the ledger
TRIED = 20  # texts whose replies are read before the others are sent
TOLD_BY = ("a text", "You are a disgusting idiot!", "Thank you, this was wonderful.")  # texts that tell models apart
SAME = 0.01  # largest difference of a model's scores for them to recorded ones, relative to the largest score
HOST = re.compile(r"https?://([^/?#@]+)", re.IGNORECASE)
REMEDY = "check the server"
KINDS = (
    "give the address of /v1/moderations, or of text classification, such as http://HOST/predict; or question=FILE for "
    "a chat model"
)


class Moderation(ModerationEndpoint):
    """Client of an audited moderation endpoint."""

    whose, remedy, retries_internal = "", KINDS, False


class TextClassification(TextClassificationEndpoint):
    """Client of an audited text-classification endpoint."""

    whose, remedy, retries_internal = "", KINDS, False


def refuse_other_servers(models: Iterable[Any], api_key_env: str | None) -> None:
    """Raise an error if a key is given and the models are not all on the server that the key is for."""
    hosts = {found[1].lower() if isinstance(one, str) and (found := HOST.match(one)) else "" for one in models}
    if api_key_env is not None and (len(hosts) != 1 or "" in hosts):
        raise FairlabError(
            "api_key_env is for models on one server, so that no other server receives the key; audit the models one "
            "by one, and compare the audits with fairlab compare"
        )


def load_endpoint(address: str, llm: Mapping[str, Any] | None = None) -> AnyClassifier:
    """Wrap the classifier behind an address, whose labels are those in its first response.

    All scores are recorded in a ledger. If it holds scores from an earlier audit, some are requested again, to find out
    whether the endpoint still has the same model.

    Args:
        address: Address of the endpoint, with the name of the model after ``#`` if the server has several.
        llm: Settings as in ``llm=``, of which ``api_key_env``, ``ledger``, ``budget``, ``concurrency``, ``retries``,
            ``total_timeout`` and ``extra`` are used; None uses the default of each.

    Raises:
        FairlabError: The address contains a password, a setting is invalid, the key is missing or refused, there is no
            such server, it has another interface, or it answers differently from the ledger.
    """
    base_url, name, kind = _interface(address)
    given = dict(llm or {})
    for fault in node_faults("llm", {**given, TARGET: f"{load_server.__module__}.{load_server.__name__}"}):
        raise FairlabError(fault)
    endpoint = kind(
        base_url,
        name,
        api_key_env=given.get("api_key_env"),
        concurrency=given.get("concurrency", IN_FLIGHT),
        extra=given.get("extra"),
        total_timeout=given.get("total_timeout", TIMEOUT),
    )
    chat = LLM(
        endpoint,
        address,
        Ledger(given.get("ledger", LEDGER)),
        budget=as_budget(given.get("budget") or {}),
        retries=1,
        extra=given.get("extra"),
    )
    found = _classifier(address, chat, several=kind is Moderation)
    chat.retries = given.get("retries", RETRIES)
    return found


def _interface(address: str) -> tuple[str, str, type[ScoreEndpoint]]:
    """Return the base address, the name of the model and the kind of an endpoint."""
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
    base, path = url.rstrip("/"), parts.path.rstrip("/")
    if not path:
        return f"{base}/v1", model, Moderation
    if path.endswith(("/v1", Moderation.path)):
        return base.removesuffix(Moderation.path), model, Moderation
    if model:
        raise FairlabError(f"{url} classifies with one model, so leave out #{model}; or {KINDS}")
    return url, model, TextClassification


def _classifier(name: str, chat: LLM, several: bool) -> AnyClassifier:
    tests = [fields_request([text]) for text in TOLD_BY]
    for request in tests:
        refuse_changed(chat, request, lambda text: [score for _, score in sorted(read_scores(text).items())], SAME)
    first, *_ = chat.ask(tests, stage=STAGE)
    if not first.ok:
        raise FairlabError(f"{name} returns no scores ({first.reason}); {KINDS}")
    scores = read_scores(first.text)
    labels = tuple(scores) if several else tuple(sorted(scores, key=_natural))
    one = not several and len(scores) > 1 and math.isclose(sum(scores.values()), 1, abs_tol=1e-3)

    def row(reply: Reply) -> list[float]:
        if not reply.ok:
            raise ModelFailed(f"{name} fails ({reply.reason}); {REMEDY}", reply.reason, REMEDY)
        found = read_scores(reply.text)
        if absent := next((label for label in labels if label not in found), None):
            said = f"it returns no score for '{absent}', unlike for the first text; it must return all labels"
            raise ModelFailed(f"{name} fails ({said}); {REMEDY}", said, REMEDY)
        return [found[label] for label in labels]

    def call(texts: Sequence[Fields]) -> Array:
        return rows_of_replies(chat, list(map(fields_request, texts)), row)

    return AnyClassifier(name, call, labels, "one" if one else "several")


def rows_of_replies(chat: LLM, requests: Sequence[Request], row: Callable[[Reply], list[float]]) -> Array:
    """Return the row of outputs in the reply to each request.

    If none of the first :data:`TRIED` replies has a row, the other requests are not sent.

    Args:
        chat: Client of the model.
        requests: Requests, one per text.
        row: Function that returns the row in a reply, or raises :class:`~fairlab.audit.outputs.ModelFailed`.

    Raises:
        ModelFailed: A reply has no row.
    """
    for part in (requests[:TRIED], requests):
        rows, failures = [], []
        for reply in chat.ask(part, stage=STAGE):
            try:
                rows.append(row(reply))
            except ModelFailed as error:
                failures.append(error)
        if not rows:
            break
    if failures:
        raise failures[0]
    return np.array(rows)


def _natural(name: str) -> list[Any]:
    """Return the sort key by which ``LABEL_2`` comes before ``LABEL_10``."""
    return [int(part) if part.isdecimal() else part for part in re.split(r"(\d+)", name)]
