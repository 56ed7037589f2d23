"""Answers with their probabilities as first tokens, told by hand."""

import math

import pytest

from fairlab.llm.first_tokens import answer_probabilities, first_candidates


def test_a_reply_without_log_probabilities_or_with_broken_ones():
    for body in ({}, {"choices": [{}]}, {"choices": [{"logprobs": {"content": [{"token": "a"}]}}]}, None, "x"):
        assert first_candidates(body, "a") == {}
    found = [{"token": token, "logprob": value} for token, value in (("a", 0), ("b", 0.5), ("c", -math.inf), ("d", -1))]
    first = {"choices": [{"logprobs": {"content": [{"token": "a", "top_logprobs": found}]}}]}
    assert first_candidates(first, "a") == {"a": 0.0, "d": -1.0}


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


@pytest.mark.parametrize(
    ("text", "tokens", "counts"),
    [
        ("no", ["\n", "no", "<|im_end|>"], 1),
        ("no", ["<think>", "No", " idea", "</think>", "\n\n", "no", "</s>"], 5),
        ("no", ["no", " idea", ", so ", "no"], 3),  # the reasoning is in another field of the message
        ("No, na\u00efve", ["No", ",", " na", "bytes:\\xc3", "bytes:\\xaf", "ve"], 0),
        ("no", ["Nope"], None),
    ],
)
def test_the_candidates_are_those_at_the_answer_and_not_in_the_reasoning(text, tokens, counts):
    listed = [{"token": one, "top_logprobs": [{"token": str(k), "logprob": -1}]} for k, one in enumerate(tokens)]
    found = first_candidates({"choices": [{"logprobs": {"content": listed}}]}, text)
    assert found == ({} if counts is None else {str(counts): -1.0})
