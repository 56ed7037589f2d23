import numpy as np
import pytest
import torch

from fairlab.benchmarks.probe import Probe, fit_and_predict, pair_features


class Words:
    """An encoder whose first dimension tells good from bad, and whose others are noise."""

    def __init__(self, noise=1.0):
        self.noise = noise

    def embed(self, texts, progress=""):
        generator = torch.Generator().manual_seed(len(texts))
        embeddings = self.noise * torch.randn(len(texts), 6, generator=generator)
        embeddings[:, 0] = torch.tensor([1.0 if "good" in text else -1.0 for text in texts])
        return embeddings


@pytest.fixture
def sentiment(tmp_path, monkeypatch):
    """Eighty examples to train on; five to score, one of them labelled against its word."""
    monkeypatch.setenv("FAIRLAB_DATA", str(tmp_path))
    (tmp_path / "sst2").mkdir()
    train = [(f"a good film {k}", 1) if k % 2 else (f"a bad film {k}", 0) for k in range(160)]
    dev = [("good one", 1), ("good two", 1), ("bad one", 0), ("good three", 1), ("bad two", 1)]
    for name, rows in (("train", train), ("dev", dev)):
        (tmp_path / "sst2" / f"{name}.tsv").write_text("".join(f"{text}\t{label}\n" for text, label in rows))


def test_accuracy_and_majority_by_hand(sentiment):
    outcome = Probe("sst2").measure(Words())
    readings = {reading.key: reading for reading in outcome.readings}
    assert readings["sst2_probe/dev/accuracy"].value == 80.0
    assert readings["sst2_probe/dev/majority"].value == 80.0
    assert readings["sst2_probe/dev/accuracy"].n == 5
    assert outcome.items["correct"].tolist() == [1, 1, 1, 1, 0]


def test_the_comparison_is_paired(sentiment):
    before = Probe("sst2").measure(Words()).items
    (accuracy, majority) = Probe("sst2").measure(Words(), before).comparisons
    assert (accuracy.quantity, accuracy.difference, accuracy.p) == ("accuracy", 0, 1)
    assert majority.difference == 0
    flipped = before | {"correct": 1 - before["correct"]}
    assert Probe("sst2").measure(Words(), flipped).comparisons[0].difference == 60


def test_a_limit_draws_training_examples_reproducibly(sentiment):
    seen = []

    class Seeing(Words):
        def embed(self, texts, progress=""):
            seen.append(list(texts))
            return super().embed(texts)

    for _ in range(2):
        Probe("sst2", limit=100, seed=3).measure(Seeing())
    assert len(seen[0]) == 100
    assert seen[0] == seen[2]
    Probe("sst2", limit=3, seed=3).measure(Seeing())
    assert [len(texts) for texts in seen[4:]] == [100, 3]  # of training examples there are 100 at least


def test_features_of_pairs_by_hand():
    first, second = np.array([[1.0, -2.0]]), np.array([[3.0, 2.0]])
    assert pair_features(first, second).tolist() == [[2, 4, 3, -4]]


def test_the_probe_recovers_a_linear_rule_and_nothing_from_noise():
    rng = np.random.default_rng(0)
    features, unseen = rng.normal(size=(600, 10)), rng.normal(size=(400, 10))
    weights = rng.normal(size=10)
    assert (fit_and_predict(features, (features @ weights > 0) * 1, unseen) == (unseen @ weights > 0)).mean() > 0.95
    noise = fit_and_predict(features, rng.integers(0, 2, 600), unseen)
    assert 0.4 < (noise == rng.integers(0, 2, 400)).mean() < 0.6


def test_names_of_readings():
    assert Probe.describe("sst2_probe").name == "sst2_probe"
    assert [Probe.describe(name) for name in ("sst2", "x_probe", "_probe")] == [None] * 3


def test_six_strengths_are_tried_in_three_folds(monkeypatch):
    class Search:
        def __init__(self, pipeline, grid, cv):
            self.found = pipeline.steps[0][0], [*grid["logisticregression__C"]], cv

        def fit(self, features, labels):
            return self

        def predict(self, unseen):
            return self.found

    monkeypatch.setattr("sklearn.model_selection.GridSearchCV", Search)
    first, strengths, folds = fit_and_predict(np.ones((2, 1)), np.arange(2), np.ones((1, 1)))
    assert strengths == pytest.approx([1e-4, 1e-3, 1e-2, 0.1, 1, 10])
    assert (first, folds) == ("standardscaler", 3)


@pytest.mark.slow
@pytest.mark.long
@pytest.mark.data
def test_minilm_learns_sentiment():
    from fairlab.backbones.loading import load_backbone
    from tests.conftest import MINILM

    encoder = load_backbone(**MINILM, pooling="mean", max_length=64, normalize=True)
    readings = {reading.quantity: reading for reading in Probe("sst2", limit=500).measure(encoder).readings}
    assert readings["accuracy"].n == 500
    assert readings["accuracy"].low > readings["majority"].high
