"""Pairs left out until a bag of words of the claim finds no label."""

import json
from collections import Counter
from random import Random

import numpy as np
import pytest

from fairlab.augmentation.balanced import Balanced
from fairlab.metrics.surface_probe import out_of_fold, probe, transferred
from fairlab.types import FairlabError, Row
from tests.end_to_end.augmenting import augment_here

THINGS = "river stone bread ladder piano cloud lamp road field door".split()


def pairs(number=400, told=0.9, seed=0):
    """Claims that hold *not* with nine of ten refuted ones and one of ten others."""
    draw = Random(seed)
    for k in range(number):
        label = "REFUTES" if k % 2 else "SUPPORTS"
        negated = (draw.random() < told) == (label == "REFUTES")
        claim = f"the {draw.choice(THINGS)} is {'not ' if negated else ''}near the {draw.choice(THINGS)} {k}"
        yield Row(
            str(k),
            f"e <SEP> {claim}",
            {"label": label},
            f"line {k}",
            k + 1,
            parts=(("evidence", "e"), ("claim", claim)),
        )


def test_what_is_kept_has_as_many_of_every_label_and_gives_none_away():
    rows = list(pairs())
    texts, labels = [row.fields[-1] for row in rows], [row.extra["label"] for row in rows]
    assert probe(texts, labels).mean() == pytest.approx(0.9, abs=0.05)
    made = Balanced().decide(rows)
    kept = [row for row in rows if not made[row.number].reason]
    assert {made[row.number].reason for row in rows} == {"", Balanced.why}
    assert len(set(Counter(row.extra["label"] for row in kept).values())) == 1
    negated = Counter((" not " in row.fields[-1], row.extra["label"]) for row in kept)
    assert abs(negated[True, "REFUTES"] - negated[True, "SUPPORTS"]) <= 10
    assert probe([row.fields[-1] for row in kept], [row.extra["label"] for row in kept]).mean() < 0.65
    assert made[kept[0].number].rows[0] == {
        "id": kept[0].id,
        "evidence": "e",
        "claim": kept[0].fields[-1],
        "label": kept[0].extra["label"],
    }


def test_rarer_labels_are_repeated_where_none_is_left_out():
    rows = list(pairs())
    made = Balanced(by="repeating").decide(rows)
    written = [one for row in rows for one in made[row.number].rows]
    assert len(set(Counter(one["label"] for one in written).values())) == 1
    negated = Counter((" not " in one["claim"], one["label"]) for one in written)
    assert abs(negated[True, "REFUTES"] - negated[True, "SUPPORTS"]) <= 0.05 * len(written)
    assert len({one["id"] for one in written}) == len(written) > len(rows)
    for row in rows:
        first, *others = made[row.number].rows or [None]
        assert all(one == first | {"id": one["id"], "source_id": row.id} for one in others)
    left_out = Balanced().decide(rows)
    assert {row.number for row in rows if left_out[row.number].rows} < {
        row.number for row in rows if made[row.number].rows
    }


def test_labels_are_balanced_among_texts_of_equal_probability_by_hand():
    # Chance is 0.5: 0.7 is 0.4 of the way from chance to 1, in the first of two bins, and 0.8 is 0.6 of it.
    probabilities = np.array([[p, 1 - p] for p in (0.7, 0.7, 0.7, 0.8, 0.8, 0.8)])
    labels = ["a", "b", "b", "a", "a", "b"]
    repeated = Balanced(bins=2, by="repeating")._times(probabilities, labels)
    assert repeated == {0: 2, 1: 1, 2: 1, 3: 1, 4: 1, 5: 2}
    left = Balanced(bins=2)._times(probabilities, labels)
    assert left[0] == left[5] == 1
    assert left[1] + left[2] == left[3] + left[4] == 1


@pytest.mark.parametrize(
    ("probabilities", "kept"),
    [((0.52, 0.54), 2), ((0.54, 0.56), 0), ((0.97, 1.0), 2), ((0.54, 0.46), 0)],  # ten bins of 0.05
)
def test_two_rows_are_alike_in_one_of_ten_bins(probabilities, kept):
    found = Balanced()._times(np.array([[p, 1 - p] for p in probabilities]), ["a", "b"])
    assert found.total() == kept


def test_the_draw_is_the_seeds():
    given = np.array([[0.6, 0.4]] * 40), ["a"] * 30 + ["b"] * 10
    first, again, other = (Balanced(**more)._times(*given) for more in ({}, {"seed": 0}, {"seed": 1}))
    assert first == again != other


def test_probabilities_are_out_of_fold_and_transfer_is_learned():
    texts, labels = [f"one {k}" for k in range(40)], ["a", "b"] * 20
    assert out_of_fold(texts, labels).shape == (40, 2)
    assert out_of_fold(texts, labels).sum(axis=1) == pytest.approx(1.0)
    assert probe(texts, labels).mean() < 0.8
    assert list(transferred(["good", "bad"] * 10, ["a", "b"] * 10, ["bad", "good"], ["b", "b"])) == [1.0, 0.0]


@pytest.mark.parametrize(
    ("rows", "sentence"),
    [
        (list(pairs(8)), "trains a probe of the last field: it needs 50 documents of every label"),
        ([row for row in pairs(40) if row.extra["label"] == "REFUTES"], "needs two labels, but all rows have the same"),
    ],
)
def test_data_that_no_probe_can_be_trained_on(rows, sentence):
    with pytest.raises(FairlabError, match=sentence):
        Balanced().decide(rows)


@pytest.mark.slow
def test_a_run_writes_what_is_kept_and_an_x_ray_tries_its_probe_on_other_data(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name, seed in (("train", 0), ("other", 1)):
        lines = (json.dumps({"evidence": "e", "claim": row.fields[-1], **row.extra}) for row in pairs(800, seed=seed))
        (tmp_path / f"{name}.jsonl").write_text("\n".join(lines))
    fields = "field=[evidence,claim]"
    assert augment_here("+augmentation=balanced", "input=train.jsonl", fields, "output=kept") == 0
    manifest = json.loads((tmp_path / "kept" / "manifest.json").read_text())
    assert manifest["made_by"]["bins"] == 10
    from fairlab.benchmarks.shortcuts import Shortcuts

    gains = {}
    for name in ("train.jsonl", "kept"):
        found = Shortcuts(untouched="other.jsonl").measure_data(name, ["evidence", "claim"], None, tmp_path)
        gains[name] = {one.subset: one.value for one in found.readings if one.quantity == "gain"}
    assert gains["train.jsonl"]["untouched"] > 30
    assert gains["kept"]["untouched"] < 15
