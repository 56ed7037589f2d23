"""What the ensemble's scores are taught by, and what a language model made of seeds."""

from __future__ import annotations

import json
import random

import pytest

from experiments.ensemble import injection, teach
from experiments.ensemble.sentences import PARTS, SHARES, is_held_out, sentences
from fairlab.data.safety_readers import read_safety
from fairlab.files import sha256


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


@pytest.mark.data
@pytest.mark.slow
def test_nothing_is_taught_by_a_copy_of_a_measured_text(data_folder):
    def plain(texts):
        return {" ".join(text.casefold().split()) for text in texts}

    taught, held_out = teach.taught_texts(random.Random(0))
    for of in ("counterfactual_safety", "hatecheck", "bias_madlibs", "olid"):
        measured = plain(text.text for text in read_safety(of))
        for texts in (*taught.values(), *held_out.values()):
            assert not measured & plain(text.text for text in texts), of
    assert {name: len(texts) for name, texts in taught.items()} == {
        "sentences": 5_986,
        "hate_speech_offensive": 1_998,
        "olid_training": 1_500,
    }


def test_a_sentence_is_hateful_where_something_hostile_is_said_of_a_group_and_not_denied():
    found = sentences(3_000, 1)
    kinds = {kind: {text.labels["hate"] for text in found if text.kind == kind} for kind in SHARES}
    assert {kind for kind, labels in kinds.items() if labels == {1}} == {"hostile", "denied_good"}
    assert all(labels == {0} for kind, labels in kinds.items() if kind not in ("hostile", "denied_good"))
    assert not any("{" in text.text for text in found)
    assert found == sentences(3_000, 1)


def test_held_out_sentences_have_parts_of_their_own():
    for kind in ("groups", "hostile", "denying", "denied_good", "kind"):
        held = {part for part in PARTS[kind] if is_held_out(part)}
        assert 0 < len(held) < len(PARTS[kind]) / 2, kind
    texts = " ".join(text.text.casefold() for text in sentences(2_000, 2))
    for group in filter(is_held_out, PARTS["groups"]):
        if not any(other.endswith(f" {group}") for other in PARTS["groups"]):  # such as "women" in "trans women"
            assert f" {group.casefold()} are" not in texts, group
