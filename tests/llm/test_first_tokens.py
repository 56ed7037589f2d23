"""Answers with their probabilities as first tokens, told by hand."""

import math

import pytest

from fairlab.llm.first_tokens import answer_probabilities, first_candidates


def test_a_reply_without_log_probabilities_or_with_broken_ones():
    for body in ({}, {"choices": [{}]}, {"choices": [{"logprobs": {"content": [{"token": "a"}]}}]}, None, "x"):
        assert first_candidates(body) == {}
    found = [{"token": token, "logprob": value} for token, value in (("a", 0), ("b", 0.5), ("c", -math.inf), ("d", -1))]
    first = {"choices": [{"logprobs": {"content": [{"token": "a", "top_logprobs": found}]}}]}
    assert first_candidates(first) == {"a": 0.0, "d": -1.0}


@pytest.mark.parametrize(
    ("text", "first", "answers", "expected"),
    [
        ("unsafe", {"un": 0.5, "safe": 0.5}, ("unsafe", "safe"), [0.5, 0.5]),
        ("**Yes**", {}, ("yes", "no"), [1.0, 0.0]),
        ("Not toxic.", {"Not": 0.6, " tox": 0.2, "n": 0.1}, ("toxic", "not_toxic", "neutral"), [0.25, 0.75, 0.0]),
        ("toxicity", {}, ("toxic", "fine"), None),
        ("LABEL_1", {"LABEL": 0.9, "0": 0.1}, ("LABEL_0", "LABEL_1"), [0.0, 1.0]),
        ("1: it is", {"1": 0.5, "0": 0.3, "2": 0.2}, ("0", "1", "2"), [0.3, 0.5, 0.2]),
        ("hate speech", {"hate": 0.7, "fine": 0.1}, ("hate", "hate speech", "fine"), [0.0, 1.0, 0.0]),
        ("+", {}, ("+", "-"), [1.0, 0.0]),
    ],
)
def test_the_answer_at_the_start_counts(text, first, answers, expected):
    found = answer_probabilities(text, {token: math.log(value) for token, value in first.items()}, answers)
    if expected is None:
        assert all(map(math.isnan, found))
    else:
        assert found == pytest.approx(expected)
