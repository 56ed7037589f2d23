"""Chat models that classify texts by a question, as functions from texts to probabilities.

Shapes: N is the number of texts, L the number of labels.
"""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairlab.audit.any_classifier import AnyClassifier, Fields
from fairlab.audit.endpoints import Failures, refuse_other_servers, rows_of_replies
from fairlab.audit.mending import split_rule, with_rule
from fairlab.audit.outputs import SHOWN, ModelFailed
from fairlab.checks.values import TARGET, node_faults
from fairlab.files import read_bounded
from fairlab.llm.exchange import Reply, Request
from fairlab.llm.first_tokens import FirstTokens, answer_probabilities, read_reply
from fairlab.llm.loading import load_server
from fairlab.llm.urls import is_address
from fairlab.text.naming import listed_names
from fairlab.types import FairlabError

Array = NDArray[np.float64]
PLACE = "{text}"  # place of the text in a question
REPLY_TOKENS = 32


def prompted(
    models: Mapping[str, Any],
    questions: Mapping[str, str],
    answers: Sequence[str] | None,
    llm: Mapping[str, Any] | None,
) -> dict[str, AnyClassifier]:
    """Convert chat models to classifiers that ask a question about every text.

    Args:
        models: Names of served models by label, as ``http://HOST/v1#NAME`` or ``openai/NAME``.
        questions: Questions by label for a single model, or one question with an empty label. ``{text}`` marks the
            place of the text.
        answers: Possible answers of the model, one per label.
        llm: Settings of the server, as in ``llm=``; None uses those of ``llm=local``.

    Raises:
        FairlabError: A question, a model or a setting is invalid.
    """
    from fairlab.run.config.composing import composing
    from fairlab.run.config.served_nodes import server_settings

    if not answers:
        raise FairlabError("question= needs labels=[...], the words with which the model answers, or answers=[...]")
    answers = [str(one) for one in answers]
    if len({tuple(answer_probabilities(one, {}, answers)) for one in answers}) < len(answers):
        raise FairlabError(f"two answers of {listed_names(answers)} are the same; give one answer per label")
    if len(models) > 1 and len(questions) > 1:
        raise FairlabError("several questions are for one model; give one question, or one model")
    pairs = {asked or label: (models[label], questions[asked]) for label in models for asked in questions}
    settings, rules = {}, {}
    with composing():
        for label, (model, _) in pairs.items():
            name, rules[label] = split_rule(model) if isinstance(model, str) else ("", None)
            server = server_settings(name)
            if server is None or not server.get("model"):
                raise FairlabError(f"question= is for a chat model, as http://HOST/v1#NAME or openai/NAME, not {model}")
            own = ("model", "_target_", *(["base_url"] if is_address(model) else []))
            settings[label] = server | {key: value for key, value in (llm or {}).items() if key not in own}
    if keys := {one["api_key_env"] for one in settings.values()} - {None}:
        refuse_other_servers([one["base_url"] for one in settings.values()], keys.pop())
    found = {
        label: _classifier(str(model), question, answers, settings[label]) for label, (model, question) in pairs.items()
    }
    return {label: one if (rule := rules[label]) is None else with_rule(one, rule) for label, one in found.items()}


def read_questions(given: str | Mapping[str, str]) -> dict[str, str]:
    """Return questions by label, each given as a text or as a file that contains it; a single one has an empty label.

    Raises:
        FairlabError: A question has no place for the text to classify.
    """
    questions = dict(given) if isinstance(given, Mapping) else {"": given}
    if not questions:
        raise FairlabError("question has no value; give a file with a question, or leave question out")
    for label, question in questions.items():
        where = f"the question '{question[:SHOWN]}' is no file, and"
        if PLACE not in question and os.path.isfile(question):
            where, questions[label] = question, read_bounded(Path(question)).strip()
        if PLACE not in questions[label]:
            raise FairlabError(f"{where} does not contain {PLACE}, where the text is inserted; add it, or give a file")
    return questions


def _classifier(name: str, question: str, answers: Sequence[str], settings: Mapping[str, Any]) -> AnyClassifier:
    if settings.get("batch"):
        raise FairlabError("question= needs the probabilities of first tokens; set llm.batch=false")
    for fault in node_faults("llm", {TARGET: f"{load_server.__module__}.{load_server.__name__}", **settings}):
        raise FairlabError(fault)
    chat = load_server(**settings, kind=FirstTokens)

    failures: Failures = {}

    def request_of(fields: Fields) -> Request:
        content = question.replace(PLACE, "\n".join(fields))
        return Request(({"role": "user", "content": content},), max_tokens=REPLY_TOKENS, log_probabilities=True)

    def row(reply: Reply) -> list[float]:
        text, first = read_reply(reply)
        found = answer_probabilities(text, first, answers)
        if not math.isnan(found[0]):
            return found
        said, remedy = f"it gives no answer ({reply.reason})", "change the model or its settings"
        if reply.ok:
            said = f"it answers '{text[:SHOWN]}', not one of {listed_names(answers)}"
            remedy = "change the question or the answers"
        raise ModelFailed(f"{name} fails ({said}); {remedy}", said, remedy)

    def call(texts: Sequence[Fields]) -> Array:
        return rows_of_replies(chat, texts, request_of, row, failures)

    return AnyClassifier(name, call, tuple(answers), "one")
