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
from fairlab.audit.outputs import MOST_FAILED, ModelFailed
from fairlab.checks.values import TARGET, node_faults
from fairlab.llm.changed import refuse_changed
from fairlab.llm.client import LLM
from fairlab.llm.exchange import Reply, Request
from fairlab.llm.ledger import LEDGER, Ledger
from fairlab.llm.loading import as_budget, load_server
from fairlab.llm.pending import RETRIED
from fairlab.llm.score_endpoints import (
    ModerationEndpoint,
    ScoreEndpoint,
    TextClassificationEndpoint,
    fields_request,
    scores_of_reply,
)
from fairlab.types import FairlabError

Array = NDArray[np.float64]
IN_FLIGHT = 8  # requests in flight; simple servers refuse more connections at once
TIMEOUT = 60.0  # seconds per request
RETRIES = 6
STAGE = "audit"  # name of the calls in the ledger
TRIED = 20  # texts that are sent first
SAME = 0.05  # largest difference of a score from the recorded one, which allows for rounding by a server
Failures = dict[tuple[str, ...], ModelFailed]  # by the fields of a text
CONNECTION = f"{load_server.__module__}.{load_server.__name__}"
HOST = re.compile(r"https?://([^/?#@]+)", re.IGNORECASE)
REMEDY = "check the server"
KINDS = (
    "give the address of /v1/moderations, or of text classification, such as http://HOST/predict; or question=FILE for "
    "a chat model"
)


class AuditedModeration(ModerationEndpoint):
    """Client of an audited moderation endpoint."""

    whose, remedy, retries_internal = "", KINDS, False


class AuditedTextClassification(TextClassificationEndpoint):
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
        llm: Settings as in ``llm=``; None uses the defaults. Only ``api_key_env``, ``ledger``, ``budget``,
            ``concurrency``, ``retries``, ``total_timeout``, ``tokens_per_minute`` and ``extra`` have an effect.

    Raises:
        FairlabError: The address contains a password, a setting is invalid, the key is missing or refused, there is no
            such server, it has another interface, or it answers differently from the ledger.
    """
    base_url, model, kind = _interface(address)
    given = {TARGET: CONNECTION, **(llm or {})}
    if given[TARGET] != CONNECTION:
        raise FairlabError(f"{address} is an endpoint; give llm=local with settings such as llm.ledger=FILE")
    for fault in node_faults("llm", given):
        raise FairlabError(fault)
    budget = as_budget(given.get("budget") or {})
    if budget.dollars is not None:
        raise FairlabError("an endpoint has no price per token; give llm.budget.calls instead of llm.budget.dollars")
    endpoint = kind(
        base_url,
        model,
        api_key_env=given.get("api_key_env"),
        concurrency=given.get("concurrency", IN_FLIGHT),
        extra=given.get("extra"),
        total_timeout=given.get("total_timeout", TIMEOUT),
    )
    chat = LLM(
        endpoint,
        f"{endpoint.url}#{model}" if model else endpoint.url,
        Ledger(given.get("ledger", LEDGER)),
        budget=budget,
        retries=given.get("retries", RETRIES),
        extra=given.get("extra"),
        tokens_per_minute=given.get("tokens_per_minute"),
    )
    (first,) = chat.ask([fields_request(["a text"])], stage=STAGE)
    if not first.ok:
        remedy = "run this again when it answers" if first.outcome in RETRIED else KINDS
        raise FairlabError(f"{address} returns no scores ({first.reason}); {remedy}")
    scores = scores_of_reply(first.text)
    if kind is AuditedModeration:
        return AnyClassifier(address, _Scorer(address, chat, tuple(scores)), tuple(scores), "several")
    labels = tuple(sorted(scores, key=_natural))
    one = len(labels) > 1 and math.isclose(sum(scores.values()), 1, abs_tol=1e-3)
    return AnyClassifier(address, _Scorer(address, chat, labels), labels, "one" if one else "several")


def _interface(address: str) -> tuple[str, str, type[ScoreEndpoint]]:
    """Return the base address, the name of the model and the kind of an endpoint."""
    url, _, model = address.partition("#")
    try:
        parts = urlsplit(url)
    except ValueError as error:
        raise FairlabError(f"{url} is not an address ({error}); {KINDS}") from error
    if parts.username or parts.password or parts.query:  # before a message names the address
        raise FairlabError(
            "the address contains a key or password; put it into an environment variable, and give its name as "
            "api_key_env"
        )
    base, path = url.rstrip("/"), parts.path.rstrip("/")
    if not path:
        return f"{base}/v1", model, AuditedModeration
    if path.endswith(("/v1", AuditedModeration.path)):
        return base.removesuffix(AuditedModeration.path), model, AuditedModeration
    if model:
        raise FairlabError(f"{url} classifies with one model, so leave out #{model}; or {KINDS}")
    return url, model, AuditedTextClassification


class _Scorer:
    """Function from texts to the scores that an endpoint gives them."""

    def __init__(self, name: str, chat: LLM, labels: Sequence[str]) -> None:
        self.name, self.chat, self.labels = name, chat, labels
        self.failures: Failures = {}
        self.is_checked = False  # whether recorded scores were compared with new ones

    def __call__(self, texts: Sequence[Fields]) -> Array:
        if not self.is_checked:
            refuse_changed(self.chat, list(map(fields_request, texts)), _is_same)
            self.is_checked = True
        return rows_of_replies(self.chat, texts, fields_request, self._row, self.failures)

    def _row(self, reply: Reply) -> list[float]:
        said = "" if reply.ok else reply.reason
        scores = scores_of_reply(reply.text) if reply.ok else {}
        if reply.ok and (absent := next((label for label in self.labels if label not in scores), None)):
            said = f"it returns no score for '{absent}', unlike for the first text; it must return all labels"
        if said:
            raise ModelFailed(f"{self.name} fails ({said}); {REMEDY}", said, REMEDY)
        return [scores[label] for label in self.labels]


def _is_same(recorded: str, new: str) -> bool:
    before, after = scores_of_reply(recorded), scores_of_reply(new)
    values = [(score, after.get(label, math.inf)) for label, score in before.items()]
    return all(abs(one - other) <= SAME or (math.isnan(one) and math.isnan(other)) for one, other in values)


def rows_of_replies(
    chat: LLM,
    texts: Sequence[Fields],
    request: Callable[[Fields], Request],
    row: Callable[[Reply], list[float]],
    failures: Failures,
) -> Array:
    """Return the row of outputs in the reply about each text.

    Few texts are sent first, then more and more, until the model has failed on too many texts for an audit.

    Args:
        chat: Client of the model.
        texts: Texts.
        request: Function from a text to its request.
        row: Function that returns the row in a reply, or raises :class:`~fairlab.audit.outputs.ModelFailed`.
        failures: Failures so far, which are extended. These texts are not sent again.

    Raises:
        ModelFailed: The model fails on a text.
    """
    found: dict[tuple[str, ...], list[float]] = {}
    asked = [fields for fields in map(tuple, texts) if fields not in failures]
    failed = len(texts) - len(asked)
    size = TRIED
    while asked and failed <= MOST_FAILED * len(texts):
        part, asked = asked[:size], asked[size:]
        for fields, reply in zip(part, chat.ask(list(map(request, part)), stage=STAGE), strict=True):
            try:
                found[fields] = row(reply)
            except ModelFailed as error:
                failures[fields] = error
                failed += 1
        size *= 2
    if failed:
        raise next(failures[fields] for fields in map(tuple, texts) if fields in failures)
    return np.array([found[fields] for fields in map(tuple, texts)])


def _natural(name: str) -> list[Any]:
    """Return the sort key by which ``LABEL_2`` comes before ``LABEL_10``."""
    return [int(part) if part.isdecimal() else part for part in re.split(r"(\d+)", name)]
