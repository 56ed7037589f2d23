import numpy as np
import pytest
import torch

from fairlab.benchmarks.leakage import Leakage, leakage_quantities, probed, probes
from fairlab.types import FairlabError
from tests.conftest import make_groups, row, write_rows


class Vectors:
    """A model whose embeddings hold the attribute on a line, on a ring, or not at all."""

    def __init__(self, kind, seed=0):
        self.kind, self.seed = kind, seed

    def embed(self, texts, progress=""):
        noise = np.random.default_rng(self.seed).normal(size=(len(texts), 6))
        attribute = np.arange(len(texts)) % 2
        if self.kind == "line":
            noise[:, 0] += 4 * attribute
        if self.kind == "ring":
            noise[:, :2] *= (np.array([0.5, 4.0])[attribute] / np.linalg.norm(noise[:, :2], axis=1))[:, None]
        return torch.from_numpy(noise.astype(np.float32))


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    """Outcomes by what is planted; that of nothing is compared with that of a line."""
    path = write_rows(tmp_path_factory.mktemp("groups") / "groups.jsonl", [row(group) for group in make_groups(120)])
    benchmark = Leakage([str(path)], folds=3)
    line = benchmark.measure(Vectors("line"))
    return {
        "line": line,
        "ring": benchmark.measure(Vectors("ring")),
        "none": benchmark.measure(Vectors("none"), line.items),
    }


def read(outcome):
    return {reading.quantity: reading for reading in outcome.readings}


@pytest.mark.slow
def test_what_is_planted_is_found_by_the_probes_that_can_find_it(found):
    line, ring, none = (read(found[kind]) for kind in ("line", "ring", "none"))
    assert all(line[f"accuracy_{name}"].value > 0.85 for name in ("linear", "kernel", "neural"))
    assert line["information_linear"].value > 0.7
    assert ring["accuracy_linear"].value < 0.7 < 0.93 < ring["accuracy_kernel"].value
    assert ring["information_linear"].value < 0.03
    assert ring["information_kernel"].value > 0.7
    assert all(none[f"accuracy_{name}"].low < 0.5 < none[f"accuracy_{name}"].high for name in ("linear", "kernel"))
    assert none["accuracy_linear"].ideal == 0.5


def test_versions_of_a_group_are_never_on_both_sides():
    # Every group has a direction of its own: a probe that saw one version of a group would know the other.
    groups = np.eye(30)[:, None, :].repeat(2, axis=1)
    groups[:, 1] *= -1
    values = probed(groups, 2, 0, ["linear"])
    assert values[:, :, 0, 1].mean() < 0.7
    groups[:, 1] += 3  # an attribute that is the same in all groups is found in others
    values = probed(groups, 2, 0, ["linear"])
    assert values.shape == (30, 2, 1, 2)
    assert (values[..., 1] == 1).all()
    assert values[..., 0].min() > 0.9


def test_values_by_hand():
    values = np.zeros((2, 2, 3, 2), dtype=np.float32)
    values[:, :, 0, 0] = [[0.5, 0.25], [1.0, 0.5]]
    values[:, :, 0, 1] = [[1, 0], [1, 0]]
    found = {one.name: one for one in leakage_quantities({"a": values})}
    assert found["accuracy_linear"].value == 0.5
    assert found["information_linear"].value == pytest.approx(1 + (-1 - 2 + 0 - 1) / 4)
    assert found["information_kernel"].value == pytest.approx(1 + np.log2(1e-12))  # a chance of 0 is that
    assert Leakage(["embedded"]).scores(values).tolist() == values[:, :, 0, 0].tolist()
    assert found["accuracy_linear"].ideal == 0.5


@pytest.mark.slow
def test_before_and_after_are_paired(found):
    change = {one.quantity: one for one in found["none"].comparisons}["accuracy_linear"]
    assert change.difference < -0.3
    assert change.p < 0.01


@pytest.mark.parametrize("count", [19, 20])
def test_a_probe_needs_twenty_groups(tmp_path, monkeypatch, count):
    path = write_rows(tmp_path / "groups.jsonl", [row(group) for group in make_groups(count)])
    monkeypatch.setattr("fairlab.benchmarks.leakage.probed", lambda embedded, *_: np.ones((*embedded.shape[:2], 3, 2)))
    outcome = Leakage([str(path)], limit=3).measure(Vectors("none"))
    assert bool(outcome.readings) == (count == 20)
    assert len(outcome.not_run) == (count == 19)
    assert (Leakage(["embedded"], limit=3).limit, Leakage(["embedded"], limit=21, folds=2).limit) == (20, 21)


def test_strengths_and_features_of_probes():
    made = probes(300, 8, 0)
    grids = {name: made[name].param_grid["logisticregression__C"] for name in ("linear", "kernel")}
    assert grids["linear"] == pytest.approx([1e-3, 1e-1, 10])
    assert grids["kernel"] == pytest.approx([1e-1, 10, 1e3])  # features of length 1 instead of a deviation of 1
    kernel = made["kernel"].estimator[0]
    assert (kernel.gamma, kernel.n_components) == (1 / 16, 150)  # exp(-d^2 / 2 D), on half of the texts
    assert probes(401, 8, 0)["kernel"].estimator[0].n_components == 200
    assert (made["neural"].hidden_layer_sizes, made["neural"].early_stopping) == ((64,), True)
    assert (made["neural"].alpha, made["neural"].learning_rate_init) == (1, 0.01)
    assert {(made[name].cv, made[name].estimator[-1].max_iter) for name in grids} == {(3, 1000)}


def test_texts_are_those_of_sets_that_are_no_models_own(tmp_path):
    benchmark = Leakage([write_rows(tmp_path / "mine.jsonl", [row(group) for group in make_groups(2)])])
    benchmark.own["held_out"] = make_groups(2)
    (part,) = benchmark.texts()
    assert (part.key, part.values, part.ids) == ("mine", ["probability of man", "probability of woman"], ["g0", "g1"])
    assert part.texts[0] == make_groups(1)[0].texts[1:]  # without the neutral version


def test_bad_input(tmp_path):
    with pytest.raises(FairlabError, match=r"leakage\.folds must be at least 2, not 1"):
        Leakage(["embedded"], folds=1)
    path = write_rows(tmp_path / "few.jsonl", [row(group) for group in make_groups(5)])
    (reason,) = Leakage([str(path)]).measure(Vectors("none")).not_run
    assert reason.reason == "5 groups, but probes need at least 20"
