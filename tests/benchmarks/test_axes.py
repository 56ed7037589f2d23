"""Training on one axis is not silently measured on another."""

from dataclasses import replace
from types import SimpleNamespace

import pytest

from fairlab.benchmarks.axes import MARK, follow_axes, held_out_of
from fairlab.benchmarks.bias_ir import BiasIR
from fairlab.benchmarks.cced import CCED
from fairlab.benchmarks.crows_pairs import CrowSPairs
from fairlab.benchmarks.holistic_bias import HolisticBias
from fairlab.benchmarks.likelihood_pairs import LikelihoodPairs
from fairlab.benchmarks.seat import SEAT
from fairlab.benchmarks.stsb import STSB
from fairlab.data.corpus import Corpus
from fairlab.data.counterfactual import CounterfactualData
from fairlab.types import Group
from tests.conftest import make_groups, row, write_rows


def data(tiny, path, **more):
    settings = {"validation": 4, "batch_size": 4, "limit": None, "epochs": 1, "seed": 0, "augmentation": None}
    return CounterfactualData(path=path, encoder=tiny, **settings | more)


@pytest.fixture
def disability(tiny, tmp_path):
    groups = [
        Group(
            f"g{k}", "disability", {"neutral": f"a person saw {k}", "blind": f"a blind one {k}", "deaf": f"a deaf {k}"}
        )
        for k in range(20)
    ]
    return data(tiny, write_rows(tmp_path / "mine.jsonl", [row(group) for group in groups]))


def test_groups_of_another_axis_are_measured_on_held_out_groups_of_their_own(tiny, disability):
    cced, gender = CCED(["embedded"]), BiasIR("document")
    notes = follow_axes([cced, gender, STSB()], disability)
    marked = {(note.benchmark, note.subset): note for note in notes if note.mark == MARK}
    assert set(marked) == {("cced", "embedded"), ("bias_ir", "")}
    assert "measures the axis gender, while the training data are of disability" in marked["bias_ir", ""].text
    (own,) = [note for note in notes if not note.mark]
    assert (own.benchmark, own.subset) == ("cced", "held_out_disability")
    assert "the 4 validation groups of the training data" in own.text
    readings = cced.measure(tiny).readings
    gaps = {reading.subset: reading for reading in readings if reading.quantity == "gap"}
    assert set(gaps) == {"embedded", "held_out_disability"}
    assert gaps["held_out_disability"].n == 4
    assert {"distance_blind", "distance_deaf"} <= {reading.quantity for reading in readings}


def test_the_test_split_of_the_data_comes_first(tiny, tmp_path):
    splits = ["train"] * 10 + ["validation"] * 3 + ["test"] * 5
    groups = [
        replace(group, axis="age", extra={"split": split}) for group, split in zip(make_groups(18), splits, strict=True)
    ]
    cced = CCED(["embedded"])
    follow_axes([cced], data(tiny, write_rows(tmp_path / "mine.jsonl", [row(group) for group in groups])))
    assert [group.id for group in cced.own["held_out_age"]] == ["g13", "g14", "g15", "g16", "g17"]


def test_groups_of_one_axis_among_several(tmp_path):
    axes = ["age", "age", "race", "race"]
    groups = [replace(group, axis=axis) for group, axis in zip(make_groups(4), axes, strict=True)]
    places = [(axis, {"split": split}) for split in ("train", "test") for axis in axes]
    splits = [replace(g, axis=axis, extra=extra) for g, (axis, extra) in zip(make_groups(8), places, strict=True)]
    files = {
        name: write_rows(tmp_path / f"{name}.jsonl", [row(group) for group in some])
        for name, some in (("plain", groups), ("splits", splits))
    }

    def found(axis, path, held_out):
        data = SimpleNamespace(held_out=held_out, path=files[path], groups={"validation": groups})
        chosen, said = held_out_of(data, axis)
        return [(group.axis, group.extra.get("split")) for group in chosen], said

    assert found("race", "splits", groups) == ([("race", None)] * 2, "2 held-out")
    assert found("race", "splits", []) == ([("race", "test")] * 2, "2 test")
    assert found("race", "plain", []) == ([("race", None)] * 2, "2 validation")
    assert found("size", "plain", groups) == ([("age", None)] * 2 + [("race", None)] * 2, "4 validation")


def test_groups_that_the_data_holds_out_are_measured_whatever_else_is(tiny, tmp_path):
    file = write_rows(tmp_path / "gender.jsonl", [row(group) for group in make_groups(20)])
    held_out = data(tiny, file, test=5)
    cced, pairs, again = CCED(["embedded"]), LikelihoodPairs(), CCED(["embedded"])
    notes = follow_axes([cced, SEAT(["6"]), pairs], held_out)
    assert [(note.benchmark, note.subset, note.mark) for note in notes] == [
        ("cced", "held_out_gender", ""),
        ("likelihood_pairs", "held_out_gender", ""),
    ]
    assert all("the 5 held-out groups of the training data" in note.text for note in notes)
    assert cced.own["held_out_gender"] == pairs.own["held_out_gender"] == held_out.held_out
    assert follow_axes([again], data(tiny, file)) == []  # which has groups of gender to measure on
    assert again.own == {}


def test_tests_of_ones_own_measure_their_axis(disability, tmp_path):
    sets = "{targets: {blind: [a], deaf: [b], x: [c]}, attributes: {p: [d], q: [e]}}"
    (tmp_path / "mine.yaml").write_text(f"axis: disability\ntests: {{t: {sets}}}\n")
    (tmp_path / "plain.yaml").write_text(f"tests: {{t: {sets}}}\n")
    seat = SEAT([str(tmp_path / "mine.yaml"), str(tmp_path / "plain.yaml"), "6"])
    pairs = {f"mine_t_{name}": {"disability"} for name in ("blind_vs_deaf", "blind_vs_x", "deaf_vs_x")}
    assert seat.measured_axes == pairs | {"6": {"gender"}}
    notes = follow_axes([seat], disability)
    assert [(note.subset, note.mark) for note in notes] == [("6", MARK)]


def test_where_nothing_can_be_built_it_is_said(disability):
    (gender, none) = follow_axes([SEAT(["6", "6b"])], disability)
    assert gender.mark == MARK
    assert "no benchmark of this run measures the axis disability of the training data" in none.text


def test_benchmarks_of_the_same_axis_get_no_note(tiny, tmp_path, disability):
    same = data(tiny, write_rows(tmp_path / "gender.jsonl", [row(group) for group in make_groups(20)]))
    assert follow_axes([CCED(["embedded"]), SEAT(["6", "7b"]), BiasIR("document"), STSB()], same) == []
    assert follow_axes([CrowSPairs(), HolisticBias("1.1", axes=["ability"])], disability) == []


def test_seat_says_what_its_tests_are_about():
    assert SEAT(["3", "6b", "10"]).measured_axes == {"": {"race", "gender", "age"}}
    assert SEAT(["6", "angry_black_woman_stereotype"]).measured_axes == {}


def test_plain_text_has_the_axis_of_its_augmentation(tiny, tmp_path):
    from fairlab.augmentation.cda_text import CDAText

    (tmp_path / "text.txt").write_text("\n\n".join(f"He saw the boat {k} and left it." for k in range(60)))
    settings = {"paths": [str(tmp_path / "text.txt")], "windows": [0], "validation": 0.2, "batch_size": 4}
    common = {"limit": None, "encoder": tiny, "epochs": 1, "seed": 0}
    assert Corpus(**settings, **common).axes() == frozenset()
    assert Corpus(**settings, **common, augmentation=CDAText(axis="gender")).axes() == {"gender"}
