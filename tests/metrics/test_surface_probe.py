"""The bag-of-words probe: what it needs, what it reads, and its gain over the commonest label."""

import numpy as np
import pytest

from fairlab.metrics import surface_probe
from fairlab.metrics.surface_probe import (
    _bag,
    _fit,
    commonest_share,
    out_of_fold,
    probe,
    probe_gain,
    too_little,
    transferred,
)


@pytest.mark.parametrize(("rarest", "different", "enough"), [(50, 5, True), (49, 5, False), (50, 4, False)])
def test_fifty_documents_of_every_label_and_five_texts_are_the_fewest(rarest, different, enough):
    labels = ["a"] * 60 + ["b"] * rarest
    assert (too_little(labels, [f"text {k % different}" for k in range(len(labels))]) == "") == enough


def test_one_label_and_no_text_are_too_little():
    assert too_little(["a"] * 100, [f"text {k}" for k in range(100)])
    assert too_little([], [])


def test_the_gain_by_hand(monkeypatch):
    monkeypatch.setattr(surface_probe, "probe", lambda *_: np.array([1.0, 0.0, 1.0, 0.0]))
    assert probe_gain(["t"] * 4, [*"aaab"]) == -25
    assert commonest_share([*"bacaa"]) == 0.6


def test_a_prediction_is_the_likeliest_of_the_sorted_labels(monkeypatch):
    seeds = []
    probabilities = np.array([[0.9, 0.1], [0.2, 0.8], [0.6, 0.4]])
    monkeypatch.setattr(surface_probe, "out_of_fold", lambda texts, labels, seed: seeds.append(seed) or probabilities)
    assert probe(["t"] * 3, [*"bba"]).tolist() == [0, 1, 1]
    assert probe_gain(["t"] * 3, [*"bba"]) == probe_gain(["t"] * 3, [*"bba"], 7) == 0
    assert seeds == [0, 0, 7]


def test_a_probe_is_transferred_to_other_texts():
    texts, labels = ["good film", "bad film"] * 3, ["p", "n"] * 3
    assert transferred(texts, labels, ["good", "bad", "bad"], ["p", "n", "p"]).tolist() == [1, 1, 0]


def test_a_label_that_no_fold_was_trained_on_is_not_predicted():
    texts, labels = [f"word{k}" for k in range(20)] + [" Same", "same ", "SAME", "same", "same"], ["a"] * 20 + ["b"] * 5
    found = out_of_fold(texts, labels)
    assert found[20:].tolist() == [[1, 0]] * 5  # copies stay together, so that all others have the label a
    np.testing.assert_allclose(found.sum(axis=1), 1)


@pytest.mark.parametrize(("count", "kept"), [(100, True), (101, False)])
def test_words_that_occur_once_are_left_out_of_many_texts(count, kept):
    texts = np.array(["once", *["often"] * (count - 1)], dtype=object)
    model = _fit(texts, np.arange(count) % 2)
    assert ("once" in model[0].vocabulary_) == kept


def test_words_and_their_pairs_are_read():
    assert _bag("a b c") == ["a", "b", "c", "a b", "b c"]
    assert _bag("") == [""]
