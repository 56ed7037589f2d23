"""Fairscore of a classifier, by hand."""

import re
from pathlib import Path

import numpy as np
import pytest

from fairlab.backbones.classification import SCORE
from fairlab.benchmarks.fairscore import Fairscore, _quantities, one_sided
from fairlab.types import CannotScore, FairlabError

DEV = "He is kind\t1\nIt rained\t0\nThe boy sang\t1\nShe left\t0\nAn Asian doctor left\t1\nA Samoan doctor slept\t0\n"

OVERALL = ("dev", "fairscore")
LABELS = []  # of the classifiers made


class BySex:
    """Says 1 of texts with *he* or *boy*, else 0."""

    cut = 0

    def outputs(self, pairs, progress=""):
        male = [bool({"he", "boy"} & set(first.lower().split())) for first, _ in pairs]
        return np.eye(2)[np.array(male, dtype=int)]


@pytest.fixture
def benchmark(tmp_path, monkeypatch):
    (tmp_path / "dev.tsv").write_text(DEV)
    monkeypatch.setattr("fairlab.benchmarks.fairscore.Classifier", lambda _, labels: LABELS.append(labels) or BySex())
    return lambda **more: Fairscore(
        "sst2", path=str(tmp_path), **{"axes": ["gender", "race"], "sampling": "uniform"} | more
    )


def test_only_examples_that_changed_count_and_each_axis_has_its_own(benchmark, tiny):
    outcome = benchmark().measure(tiny)
    readings = {reading.key: reading for reading in outcome.readings}
    overall = readings["sst2_fairscore/dev/fairscore"]
    original, perturbed = outcome.items["dev_original"], outcome.items["dev_perturbed"]
    assert overall.n == len(original) == 5  # all but the rain
    assert original.tolist() == [1, 1, 0, 0, 0]
    assert overall.value == 100 * np.mean(original != perturbed)
    assert overall.low <= overall.value <= overall.high
    gender, race = (readings[f"sst2_fairscore/dev_{axis}/fairscore"] for axis in ("gender", "race"))
    assert (gender.n, race.n, race.value) == (3, 2, 0)
    assert readings["sst2_fairscore/dev/perturbed"].value == pytest.approx(500 / 6)
    assert overall.headline
    assert not gender.headline
    total = sum(
        readings[f"sst2_fairscore/dev/{name}"].value for name in ("fairscore", "both_correct", "neither_correct")
    )
    assert total == pytest.approx(100)
    assert outcome.notes[0].text.startswith("5 of 6 examples of dev changed (")
    assert "perturbed/gender" in outcome.notes[0].text
    assert LABELS[-1] == ("negative", "positive")


def test_a_copy_for_every_axis(benchmark, tiny, tmp_path):
    (tmp_path / "dev.tsv").write_text("An Asian boy left\t1\nThe boy sang\t1\nA Samoan doctor slept\t0\nIt rained\t0\n")
    outcome = benchmark(copies="axis").measure(tiny)
    readings = {reading.key.removeprefix("sst2_fairscore/"): reading for reading in outcome.readings}
    # The boys become girls or children, whose label changes; the doctors stay what they were.
    assert outcome.items["dev_axes"].tolist() == [0, 0, -1, -1, 1, -1, 1, -1]
    assert outcome.items["dev_original"].tolist() == [1, 1, 1, 0]
    assert outcome.items["dev_perturbed"].tolist() == [0, 0, 1, 0]
    assert {axis: readings[f"dev{axis}/fairscore"].n for axis in ("", "_gender", "_race")} == {
        "": 4,
        "_gender": 2,
        "_race": 2,
    }
    assert readings["dev/fairscore"].value == 50
    assert (readings["dev_gender/fairscore"].value, readings["dev_race/fairscore"].value) == (100, 0)
    assert [readings[f"dev{axis}/perturbed"].value for axis in ("", "_gender", "_race")] == [75, 50, 50]
    assert [note.text.split(" (")[0] for note in outcome.notes] == ["2 of 4 examples of dev changed"] * 2


def test_a_classifier_of_answers_gives_one_score(tmp_path, tiny, monkeypatch):
    def made(backbone, labels):
        raise CannotScore(f"labels: {labels}")

    monkeypatch.setattr("fairlab.benchmarks.fairscore.Classifier", made)
    with pytest.raises(CannotScore, match=re.escape(f"labels: {SCORE}")):
        Fairscore("race", axes=["gender"], sampling="uniform", path=str(tmp_path)).measure(tiny)


def test_examples_that_another_rewriter_changed_are_taken(benchmark, monkeypatch):
    read = []
    monkeypatch.setattr("fairlab.benchmarks.fairscore.read_perturbed", lambda *given: read.append(given) or "made")
    examples, made = benchmark(perturbed={"dev": "folder"}, limit=2).pairs("dev")
    assert (len(examples), made) == (6, ["made"])  # the limit is that of examples rewritten by rules
    assert read == [(Path("folder"), examples, ["sentence"])]


def test_names_of_readings():
    assert Fairscore.describe("rte_fairscore").name == "rte_fairscore"
    assert [Fairscore.describe(name) for name in ("rte", "x_fairscore", "fairscore_")] == [None] * 3


def test_copies_of_one_example_are_drawn_together():
    # Of both examples that changed every copy counts, so that resampling can only give 0, 1/2 or 1; copy by copy it
    # could give 1/4.
    items = {
        "dev_original": np.array([0, 0, 0, 0]),
        "dev_perturbed": np.array([1, 0, 1, 0]),
        "dev_labels": np.zeros(4),
        "dev_axes": np.array([0, 0, -1, 1, 1, -1]),
    }
    (overall,) = [one for one in _quantities(items, ["gender", "race"], 2) if (one.subset, one.name) == OVERALL]
    assert set(overall.draws) == {0, 50, 100}


def test_predictions_of_one_label_are_pointed_out():
    assert one_sided(np.array([1.0] * 18 + [0.0] * 2)) == ""
    assert one_sided(np.array([1.0] * 19 + [0.0])).startswith("95% of the predictions are one label")


def test_a_classifier_of_one_label_is_noted(benchmark, tiny, monkeypatch):
    monkeypatch.setattr(BySex, "outputs", lambda self, pairs, progress="": np.eye(2)[np.zeros(len(pairs), dtype=int)])
    assert "100% of the predictions are one label" in benchmark().measure(tiny).notes[1].text


def test_two_models_are_compared_example_by_example(benchmark, tiny):
    fair = benchmark()
    first = fair.measure(tiny)
    second = fair.measure(tiny, first.items)
    change = next(one for one in second.comparisons if one.subset == "dev" and one.quantity == "fairscore")
    assert (change.difference, change.low, change.high) == (0, 0, 0)


def test_no_perturbable_example_is_not_run(benchmark, tiny, tmp_path):
    (tmp_path / "dev.tsv").write_text("It rained\t1\nIt froze\t0\n")
    outcome = benchmark().measure(tiny)
    assert not outcome.readings
    assert outcome.not_run[0].reason == "none of the 2 examples could be perturbed"


def test_what_has_no_fairscore(tiny, tmp_path):
    with pytest.raises(FairlabError, match=r"stsb has scores \(regression\)"):
        Fairscore("stsb", axes=["gender"], sampling="uniform")
    with pytest.raises(FairlabError, match=r"perturbed names 'test'; rte has dev"):
        Fairscore("rte", axes=["gender"], sampling="uniform", perturbed={"test": "x"})
    with pytest.raises(FairlabError, match="perturbed holds one copy of every example"):
        Fairscore("rte", axes=["gender"], sampling="uniform", copies="axis", perturbed={"dev": "x"})
    with pytest.raises(CannotScore, match="has no classification head"):
        Fairscore("sst2", axes=["gender"], sampling="uniform", path=str(tmp_path)).measure(tiny)
