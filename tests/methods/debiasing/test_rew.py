"""Weights against n-grams, on claims whose association is known."""

import pytest

from fairlab.methods.debiasing.rew import bigrams, learned_weights, lmi_weights, occurrences

# Bigram a: labels 0 0 0 1; bigram b: labels 1 1; two claims with neither.
HOLDS = occurrences([{("a", "a")}] * 4 + [{("b", "b")}] * 2 + [set()] * 2, 1)
LABELS = [0, 0, 0, 1, 1, 1, 0, 1]


def test_bigrams_pass_over_the_ten_commonest_words():
    common = " ".join(f"w{k}" for k in range(10))
    claims = [f"{common} He DID not"] + [common] * 3 + ["Did, not: go"]
    assert bigrams(claims) == [{("he", "did"), ("did", "not")}, set(), set(), set(), {("did", "not"), ("not", "go")}]


def test_occurrences_of_those_that_are_common_enough():
    found = occurrences([{("a", "b"), ("b", "c")}, {("b", "c")}, {("a", "b"), ("x", "y")}], 2)
    assert found.toarray().tolist() == [[1, 1], [0, 1], [1, 0]]


def test_lmi_weights_are_the_label_over_what_the_bigram_says_of_it():
    assert lmi_weights(HOLDS, LABELS).tolist() == pytest.approx([2 / 3, 2 / 3, 2 / 3, 1, 0.5, 0.5, 1, 1])


def test_learned_weights_even_out_a_bigrams_labels():
    weights = learned_weights(HOLDS, LABELS, 500)
    assert weights.min() >= 1
    share = weights[:3].sum() / weights[:4].sum()
    assert share == pytest.approx(0.5, abs=0.05)  # 0.75 before
    assert weights[6:].tolist() == pytest.approx([1, 1], abs=1e-3)


def test_the_norm_of_alpha_is_penalised(monkeypatch):
    free = learned_weights(HOLDS, LABELS, 200)
    monkeypatch.setattr("fairlab.methods.debiasing.rew.PENALTY", 100.0)  # the authors' 1e-10 hardly counts
    assert learned_weights(HOLDS, LABELS, 200).max() < free.max() / 2


def test_without_a_bigram_all_count_alike():
    assert learned_weights(occurrences([set(), set()], 1), [0, 1], 5).tolist() == [1, 1]
    assert lmi_weights(occurrences([set(), set()], 1), [0, 1]).tolist() == [1, 1]
