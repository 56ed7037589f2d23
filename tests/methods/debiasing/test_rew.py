"""Weights against n-grams, on claims whose association is known."""

from types import SimpleNamespace

import numpy as np
import pytest
import torch

from fairlab.methods.debiasing.rew import ReW, bigrams, learned_weights, lmi_weights, occurrences

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
    three = occurrences([{("a", "a")}] * 4 + [{("b", "b")}] * 2 + [{("c", "c")}] * 2, 1)
    assert lmi_weights(three, LABELS).tolist() == pytest.approx([2 / 3, 2 / 3, 2 / 3, 1, 0.5, 0.5, 1, 1])


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


@pytest.mark.parametrize("kind", ["lmi", "learned"])
def test_the_loss_of_a_batch_is_weighted_by_the_bigrams_of_its_claims(kind):
    """Claims as in ``HOLDS``, after the ten commonest words; a bigram that occurs once is not used."""
    common = " ".join(f"w{k}" for k in range(10))
    claims = [f"{common} {own}" for own in ["a a"] * 4 + ["b b"] * 2 + ["c c", ""]]
    examples = [SimpleNamespace(second=claim, label=label) for claim, label in zip(claims, LABELS, strict=True)]
    task = SimpleNamespace(name="t", labels=("x", "y"), options=False)
    method = ReW(weights=kind, at_least=2, steps=3)
    method.prepare(SimpleNamespace(task=task, examples={"train": examples}), None, 0)
    made = lmi_weights(HOLDS, LABELS) if kind == "lmi" else learned_weights(HOLDS, LABELS, 3)
    np.testing.assert_allclose(method.weights, made)
    batch = SimpleNamespace(positions=torch.tensor([0, 4, 7]), labels=torch.tensor([0, 1, 1]))
    assert method.weight(batch) == pytest.approx(made[0] + made[4] + made[7])
    outputs = torch.tensor([[1.0, -0.5], [0.25, 0.5], [2.0, 0.0]])
    losses = torch.nn.functional.cross_entropy(outputs, batch.labels, reduction="none").numpy()
    expected = np.average(losses, weights=made[[0, 4, 7]])
    assert method.loss(outputs, batch).item() == pytest.approx(expected, rel=1e-5)
