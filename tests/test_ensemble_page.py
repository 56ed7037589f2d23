"""The study of subgroups' thresholds and the picture on the ensemble page."""

from __future__ import annotations

import json

import numpy as np
import pytest

from experiments.ensemble import injection, picture
from experiments.ensemble.postprocessing import NOBODY, folds, measured, of_subgroups, one_threshold, pooled
from experiments.ensemble.teach import measured_copies
from fairlab.data.safety_readers import read_safety
from fairlab.data.safety_texts import SafetyText
from fairlab.files import sha256


def test_the_picture_is_that_of_the_records():
    assert picture.picture() == picture.FILE.read_text(encoding="utf-8")


def test_what_a_language_model_made_is_counted(tmp_path):
    """Three versions: one as by word lists, one of other words, and one that it flagged."""
    seed = {"id": "1", "prompt": "My Muslim friend sings."}
    made = {"source_id": "1", "source_text": seed["prompt"]}
    rows = [
        seed,
        {"id": "1-Judaism", "prompt": "My Jewish friend sings.", "corrected": False, **made},
        {"id": "1-Hinduism", "prompt": "My friend sings in a temple.", "corrected": True, **made},
    ]
    flagged = {"id": "1-Atheism", "source_text": seed["prompt"], "text": "My atheist friend sings.", "why": "odd"}
    data, counts = tmp_path / "data-00000.jsonl", {"versions": 2, "to/Religion:Judaism": 1, "versions flagged": 1}
    data.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    (tmp_path / "review.jsonl").write_text(json.dumps(flagged) + "\n", encoding="utf-8")
    shard = {"file": data.name, "rows": 3, "sha256": sha256(data)}
    manifest = {"read": 1, "counts": counts, "shards": [{"data": shard}]}
    (tmp_path / "manifest.json").write_text(json.dumps(manifest), encoding="utf-8")
    record = {"provenance": {"revision": "a", "wall_seconds": 2.0, "rewriter": {"model": "m"}}}
    (tmp_path / "record.json").write_text(json.dumps(record), encoding="utf-8")
    found = injection.summary(tmp_path)
    assert found["versions"] == {"made": 3, "flagged": 1, "as by word lists": 2}
    assert found["counts"] == {"versions": 2, "versions flagged": 1}
    injection.write_sheet(tmp_path, tmp_path / "sheet.csv")
    assert (tmp_path / "sheet.csv").read_text(encoding="utf-8").count("My Muslim friend") == 3


def test_a_threshold_is_chosen_on_the_validation_fold_and_applied_to_the_test_fold():
    division = np.array([0, 0, 1, 1, 1, 1, 2, 2])
    truth = np.array([0, 1, 0, 1, 0, 1, 0, 1])
    validation = np.array([9, 9, 0.1, 0.6, 0.2, 0.7, 9, 9])
    test = np.array([0.5, 0.65, 9, 9, 9, 9, 9, 9])
    first = next(folds(division, validation, test))
    assert first.test.tolist() == (division == 0).tolist()
    assert first.validation.tolist() == (division == 1).tolist()
    assert one_threshold(first, truth)[first.test].tolist() == [0, 1]  # from 0.6 on


def test_what_labels_give_is_counted_by_hand():
    texts = [
        SafetyText("a", "1", "Religion:Islam", {"hate": 1}),
        SafetyText("b", "1", "Religion:Judaism", {"hate": 1}, seed=False),
        SafetyText("c", "2", "Religion:Islam", {"hate": 0}),
        SafetyText("d", "2", "Religion:Judaism", {"hate": 0}, seed=False),
        SafetyText("e", "3", "", {"hate": 0}),
    ]
    found = measured(np.array([1, 0, 0, 0, 1]), np.array([1, 1, 0, 0, 0]), texts)
    assert found == {"recall": 1.0, "false_positive_rate": 0.5, "flip_rate": 50.0, "equalised_odds_gap": 1.0}


def test_a_subgroup_with_one_label_goes_with_the_texts_about_nobody():
    told = pooled(["a", "a", "b", "b", NOBODY], np.array([0, 1, 1, 0, 0]), np.array([True, True, True, False, True]))
    assert told.tolist() == ["a", "a", NOBODY, NOBODY, NOBODY]


def test_fairlearn_gives_each_subgroup_its_own_threshold():
    pytest.importorskip("fairlearn", reason="the extra audit is not installed")
    groups, truth = ["a"] * 40 + ["b"] * 40, np.array([0, 1] * 40)
    scores = truth * 0.2 + np.repeat([0.1, 0.6], 40)
    division = np.tile(np.repeat([0, 1, 2, 3], 10), 2)
    first = next(folds(division, scores, scores))
    for constraint in ("false_positive_rate_parity", "equalized_odds"):
        labels = of_subgroups(constraint, groups, 0)(first, truth)
        assert labels[first.test].tolist() == truth[first.test].tolist()
    assert one_threshold(first, truth)[first.test].tolist() != truth[first.test].tolist()


@pytest.mark.data
@pytest.mark.slow
def test_nothing_is_taught_by_a_copy_of_a_measured_text(data_folder):
    def plain(texts):
        return {" ".join(text.casefold().split()) for text in texts}

    for name in ("hate_speech_offensive", "olid_training"):
        texts, copies = read_safety(name), measured_copies(name)
        taught = plain(text.text for text, copy in zip(texts, copies, strict=True) if not copy)
        for of in ("counterfactual_safety", "hatecheck", "bias_madlibs", "olid"):
            assert not taught & plain(text.text for text in read_safety(of)), of
        assert copies.sum() < 0.05 * len(texts)
