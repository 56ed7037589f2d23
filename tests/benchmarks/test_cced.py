import numpy as np
import pytest
import torch

from fairlab.benchmarks.cced import CCED, cced_quantities, direction_kept, kept
from fairlab.benchmarks.group_sets import held_out_groups, set_name
from fairlab.benchmarks.readings import outcome
from fairlab.data.counterfactual import hold_out
from fairlab.data.groups import read_groups
from fairlab.types import DataUnavailable, FairlabError
from tests.conftest import make_groups, row, write_rows

# Two groups in one dimension: neutral at 0; distances (1, 3) and (2, 2).
EMBEDDINGS = np.array([[[0.0], [1.0], [-3.0]], [[0.0], [2.0], [2.0]]], dtype=np.float32)


def by_quantity(readings):
    return {reading.quantity: reading for reading in readings}


def cced_readings(subset, attributes, embeddings, before=None):
    found = cced_quantities(subset, attributes, embeddings)
    return outcome(
        CCED.description, [*found, *(kept(subset, embeddings, before) if before is not None else [])]
    ).readings


def test_readings_by_hand():
    readings = by_quantity(cced_readings("x", ("man", "woman"), EMBEDDINGS))
    assert readings["gap"].value == 1.0  # mean of 2 and 0
    assert readings["distance"].value == 2.0
    assert readings["distance_man"].value == 1.5
    assert readings["distance_woman"].value == 2.5
    assert readings["gap_over_distance"].value == 0.5
    assert all(reading.n == 2 and reading.low <= reading.value <= reading.high for reading in readings.values())
    assert readings["gap"].key == "cced/x/gap"


def test_a_collapse_alone_halves_gap_and_distance_and_leaves_their_ratio():
    groups = np.concatenate([EMBEDDINGS] * 5)
    readings = by_quantity(cced_readings("x", ("man", "woman"), groups / 2, groups))
    assert readings["gap_kept"].value == pytest.approx(0.5)
    assert readings["distance_kept"].value == pytest.approx(0.5)
    assert readings["gap_over_distance"].value == pytest.approx(0.5)


def test_models_of_different_width_stand_side_by_side_without_a_cosine():
    groups = np.concatenate([EMBEDDINGS + 1] * 5)
    wider = np.concatenate([groups, np.zeros_like(groups)], axis=2)
    readings = by_quantity(cced_readings("x", ("man", "woman"), wider, groups))
    assert readings["gap_kept"].value == pytest.approx(1)
    assert readings["distance_kept"].value == pytest.approx(1)
    assert "neutral_cosine" not in readings
    assert "neutral_cosine" in by_quantity(cced_readings("x", ("man", "woman"), groups, groups))


def test_comparisons_are_paired(tiny, tmp_path):
    mine = write_rows(tmp_path / "mine.jsonl", [row(group) for group in make_groups(6)])
    before = CCED([mine]).measure(tiny).items
    same = CCED([mine]).measure(tiny, before)
    assert {c.quantity for c in same.comparisons} == {
        "gap",
        "gap_over_distance",
        "distance",
        "distance_man",
        "distance_woman",
    }
    assert all(c.difference == pytest.approx(0, abs=1e-6) and c.p > 0.05 for c in same.comparisons)
    halved = CCED([mine]).measure(tiny, {"mine": before["mine"] * 2})
    assert by_quantity(halved.comparisons)["distance"].p == pytest.approx(2 / 2001)


def test_with_three_attributes_the_gap_is_over_all_pairs_and_says_so():
    lengths = [[1.0, 2.0, 4.0], [4.0, 4.0, 7.0]]  # distances to neutral: pairs differ by 1, 3, 2 and 0, 3, 3
    embeddings = np.array([[[0.0, 0.0], *([0.0, length] for length in group)] for group in lengths], dtype=np.float32)
    readings = by_quantity(cced_readings("x", ("a", "b", "c"), embeddings, embeddings * 2))
    assert readings["gap_all_pairs"].value == pytest.approx(2.0)
    assert readings["gap_all_pairs_over_distance"].value == pytest.approx(2.0 / ((7 / 3 + 5) / 2))
    assert readings["gap_all_pairs_kept"].value == pytest.approx(0.5)
    assert readings["gap_all_pairs"].headline
    assert {"gap", "gap_kept"}.isdisjoint(readings)
    assert [readings[f"distance_{name}"].value for name in "abc"] == [2.5, 3.0, 5.5]


def test_a_single_group_has_no_interval_and_so_no_reading(tiny, tmp_path):
    mine = write_rows(tmp_path / "mine.jsonl", [row(group) for group in make_groups(1)])
    outcome_of_one = CCED([mine]).measure(tiny)
    assert not outcome_of_one.readings
    assert "undefined over 1 items" in outcome_of_one.not_run[0].reason


def test_drift_of_the_neutral_embedding():
    before = np.array([[[1.0, 0.0], [1.0, 1.0], [2.0, 0.0]]] * 2, dtype=np.float32)
    after = before.copy()
    after[1, 0] = [0.0, 1.0]
    assert by_quantity(cced_readings("x", ("a", "b"), after, before))["neutral_cosine"].value == pytest.approx(0.5)


def test_a_set_that_cannot_be_had_is_listed_and_never_replaced(tiny, monkeypatch, tmp_path):
    monkeypatch.delenv("FAIRLAB_DATA", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    mine = write_rows(tmp_path / "My-set.jsonl", [row(group) for group in make_groups(4)])
    outcome = CCED([mine, "winogender", str(tmp_path / "none.jsonl")]).measure(tiny)
    assert {reading.subset for reading in outcome.readings} == {"my_set"}
    assert [entry.subset for entry in outcome.not_run] == ["winogender", "none"]
    assert "FAIRLAB_DATA is not set" in outcome.not_run[0].reason
    assert set(outcome.items) == {"my_set"}


def test_the_embedded_set_is_the_gold_test_split():
    groups = held_out_groups("embedded")
    assert len(groups) == 300
    assert all(group.extra["split"] == "test" and group.extra["gold"] for group in groups)


def test_measuring_by_the_definition_one_text_at_a_time(tiny, tmp_path):
    groups = make_groups(5)
    mine = write_rows(tmp_path / "mine.jsonl", [row(group) for group in groups])
    gaps = []
    for group in groups:
        neutral, man, woman = (tiny.embed([text])[0].double() for text in group.texts)
        gaps.append(abs(torch.dist(man, neutral) - torch.dist(woman, neutral)).item())
    reading = by_quantity(CCED([mine]).measure(tiny).readings)["gap"]
    assert reading.value == pytest.approx(sum(gaps) / 5, rel=1e-4)


@pytest.mark.slow
@pytest.mark.long
@pytest.mark.data
def test_winogender_on_minilm():
    from fairlab.backbones.loading import load_backbone
    from tests.conftest import MINILM

    encoder = load_backbone(**MINILM, pooling="mean", max_length=128, normalize=True)
    readings = by_quantity(CCED(["winogender"]).measure(encoder).readings)
    assert readings["gap"].n == 240
    # An independent float64 computation with sentence-transformers on the same sentences.
    from sentence_transformers import SentenceTransformer

    from fairlab.backbones.loading import find_weights

    groups = held_out_groups("winogender")
    texts = [group.versions[name] for group in groups for name in ("neutral", "man", "woman")]
    vectors = SentenceTransformer(str(find_weights(**MINILM)), device="cpu").encode(texts).astype(np.float64)
    vectors = vectors.reshape(240, 3, -1)
    distance = np.sqrt(((vectors[:, 1:] - vectors[:, :1]) ** 2).sum(-1))
    assert readings["gap"].value == pytest.approx(np.abs(distance[:, 0] - distance[:, 1]).mean(), abs=1e-5)


def test_sets_that_cannot_be_told_apart_or_have_no_test_split(tmp_path):
    with pytest.raises(FairlabError, match="have the same name in results"):
        CCED(["winogender", "mine/winogender.jsonl"])
    path = write_rows(tmp_path / "mine.jsonl", [row(group) | {"split": "train"} for group in make_groups(2)])
    with pytest.raises(FairlabError, match="no group in the split 'test' to measure on"):
        held_out_groups(path)


def test_groups_held_out_of_a_file_are_those_that_training_leaves_out(tmp_path):
    path = write_rows(tmp_path / "mine.jsonl", [row(group) for group in make_groups(20)])
    _, out = hold_out(read_groups(path), 6, 0, path)
    assert [group.id for group in held_out_groups(path, 6)] == [group.id for group in out]
    assert len(out) == 6
    assert [len(groups) for _, _, groups in CCED([path], test=6).available()] == [6]
    assert len(held_out_groups("embedded", 6)) == 300  # its splits say what is held out


def test_texts_are_those_of_sets_that_are_no_models_own(tmp_path):
    benchmark = CCED([write_rows(tmp_path / "mine.jsonl", [row(group) for group in make_groups(3)])])
    benchmark.own["held_out"] = make_groups(2)
    (part,) = benchmark.texts()
    assert (part.key, part.values, part.ids) == ("mine", ["distance of man", "distance of woman"], ["g0", "g1", "g2"])
    assert part.texts[0] == make_groups(1)[0].texts


def test_names_of_sets():
    assert set_name("a/b/My Set-2.jsonl") == "my_set_2"
    with pytest.raises(DataUnavailable):
        held_out_groups("nothing.jsonl")


def test_how_the_direction_between_attributes_turned():
    before = np.zeros((4, 3, 2))
    before[:, 1:] = [[2.0, 1.0], [0.0, 1.0]]  # men, and women at 1 on the second axis by both models
    after = np.zeros((4, 3, 2))
    after[:, 1:] = [[0.5, 1.5], [0.0, 1.0]]
    cosine, kept = direction_kept("mine", after, before)
    assert (cosine.name, kept.name) == ("direction_cosine", "direction_length_kept")
    assert cosine.value == pytest.approx(np.sqrt(0.5))
    assert kept.value == pytest.approx(np.sqrt(0.5) / 2)
    assert kept.draws == pytest.approx(np.full(2000, kept.value))  # all groups are alike
    assert direction_kept("mine", np.zeros((4, 4, 2)), np.zeros((4, 4, 2))) == []
