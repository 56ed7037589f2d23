"""Pairs in PANDA's columns, and silver pairs of plain text."""

import json
import warnings

import pytest

from fairlab.data import perturbation_pairs
from fairlab.data.perturbation_pairs import (
    PerturbationPair,
    PerturbationPairs,
    axis_of,
    encode_pairs,
    find_pairs,
    part_of,
    read_pairs,
    silver_pairs,
)
from fairlab.files import sha256
from fairlab.rewriting.decoding import IGNORED
from fairlab.types import FairlabError
from tests.conftest import write_rows

ROW = {"original": " he left ", "selected_word": "he", "target_attribute": "woman", "perturbed": "she left.\n\n"}


def test_pairs_are_read_and_stripped(tmp_path):
    assert read_pairs(write_rows(tmp_path / "x.jsonl", [ROW])) == [
        PerturbationPair("he left", "he", "woman", "she left.")
    ]
    (tmp_path / "x.csv").write_text(",".join(ROW) + "\n" + "he left,he,woman,she left\n")
    assert read_pairs(str(tmp_path / "x.csv")) == [PerturbationPair("he left", "he", "woman", "she left")]


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"perturbed": None}, r"x\.jsonl, line 1 has no 'perturbed'; PANDA's columns are original"),
        ({"perturbed": " "}, "line 1 has an empty 'perturbed'; give the rewrite or delete the row"),
        ({"target_attribute": "male"}, r"line 1 has the unknown target 'male'; the known ones are: man, woman"),
        ({"original": ""}, "line 1: no text in the field 'original'"),
    ],
)
def test_bad_rows_are_named(tmp_path, changes, words):
    with pytest.raises(FairlabError, match=words):
        read_pairs(write_rows(tmp_path / "x.jsonl", [ROW | changes]))


def test_words_that_are_not_in_their_text_are_counted(tmp_path):
    rows = [ROW, ROW | {"selected_word": "HE"}, ROW | {"selected_word": "John"}]
    with pytest.warns(UserWarning, match="word of 1 of 3 pairs is not in the original text, such as 'John' of line 3"):
        assert len(read_pairs(write_rows(tmp_path / "x.jsonl", rows))) == 3


@pytest.mark.data
def test_the_published_examples_are_read(data_folder):
    pairs = read_pairs(str(data_folder / "panda" / "panda_card_examples.jsonl"))
    assert [(pair.word, pair.target) for pair in pairs] == [("girl", "man"), ("Michael", "woman"), ("he", "non-binary")]
    assert [axis_of(pair.target) for pair in pairs] == ["gender"] * 3


TEXTS = [
    "The woman said that she would bring her own boat.",
    "He gave the old man his bread before the rain came.",
    "The bridge was closed in the evening.",
    "She ran.",
]


def test_silver_pairs_of_texts_of_4_to_40_words(monkeypatch):
    texts = ["Her son left early.", "The old ran.", f"{'So ' * 37}an old man.", f"{'So ' * 38}an old man."]
    assert [len(text.split()) for text in texts] == [4, 3, 40, 41]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        pairs = silver_pairs(texts[1:], ["age"], seed=0)
    assert {pair.original for pair in pairs} == {texts[2]}
    assert {axis_of(pair.target) for pair in pairs} == {"age"}
    gender = silver_pairs([texts[0], *(f"Her son left {k} towns." for k in range(20))], ["gender"], seed=0)
    assert texts[0] in {pair.original for pair in gender}
    assert {(pair.word, pair.target, " ".join(pair.perturbed.split()[:3])) for pair in gender} >= {
        ("Her", "man", "His son left"),
        ("Her", "non-binary", "Their son left"),
        ("son", "woman", "Her daughter left"),
    }
    assert not {(pair.word, pair.target) for pair in gender} & {("Her", "woman"), ("son", "man")}
    monkeypatch.setattr(perturbation_pairs, "AT_ONCE", 1)
    many = [f"The man saw {k} boats." for k in range(5)]
    assert [len(silver_pairs(many, ["gender"], 0, limit)) for limit in (1, 2, None)] == [1, 2, 5]


def test_pairs_of_plain_text_are_told_by_its_files(tmp_path):
    (tmp_path / "a.txt").write_text("The man saw a boat. It was blue.")
    pairs, hashes = find_pairs(None, [str(tmp_path / "a.txt")], ["gender"], 0)
    assert [pair.original for pair in pairs] == ["The man saw a boat."]
    assert hashes == {"a.txt": sha256(tmp_path / "a.txt")}
    (tmp_path / "a.txt").write_text("It was blue and very old.")
    with pytest.raises(FairlabError, match="yield no pairs"):
        find_pairs(None, [str(tmp_path / "a.txt")], ["gender"], 0)


@pytest.mark.slow
def test_silver_pairs_turn_the_selected_person_and_depend_on_the_seed_alone():
    pairs = silver_pairs(TEXTS, ["gender", "age"], seed=0)
    assert pairs == silver_pairs(TEXTS, ["gender", "age"], seed=0)
    assert {pair.original for pair in pairs} == set(TEXTS[:2])  # one has no person, one is too short
    assert len({(pair.original, axis_of(pair.target)) for pair in pairs}) == len(pairs)
    for pair in pairs:
        assert pair.word in pair.original
        assert pair.perturbed != pair.original
    seen = {silver_pairs(TEXTS[:1], ["gender"], seed)[0] for seed in range(12)}
    assert {(pair.word, pair.target) for pair in seen} >= {("woman", "man"), ("she", "non-binary")}
    assert all("he" in pair.perturbed.split() for pair in seen if pair.target == "man")


def test_changed_tokens_are_those_that_the_original_has_not(tiny):
    (one,) = encode_pairs(
        tiny, [PerturbationPair("she saw her boat", "she", "man", "he saw his own boat")], "facebook/perturber"
    )
    tokens = tiny.tokenizer.convert_ids_to_tokens(one.target)
    assert [token for token, mark in zip(tokens, one.changed, strict=True) if mark] == ["he", "his", "own"]
    assert tiny.tokenizer.decode(one.source).startswith("[CLS] she, man")
    assert json.loads(json.dumps(one.changed)) == [0, 1, 0, 1, 1, 0, 0]


def a_file(folder, texts):
    rows = [
        {**ROW, "original": f"he saw boat {k}", "target_attribute": target, "perturbed": f"{target} saw boat {k}"}
        for k in range(texts)
        for target in ("woman", "non-binary")
    ]
    return str(write_rows(folder / "panda.jsonl", rows))


VALUES = {"paths": None, "axes": [], "format": "paper", "validation": 0.2, "batch_size": 8, "limit": None, "seed": 0}


def split(path, encoder, **changes):
    return PerturbationPairs(path=path, encoder=encoder, epochs=1, **VALUES | {"test": 0.1} | changes)


def test_a_text_is_trained_on_or_validated_with_or_tested_on(tiny, tmp_path):
    path = a_file(tmp_path, 400)
    data = split(path, tiny)
    parts = {name: {pair.original for pair in pairs} for name, pairs in data.pairs.items()}
    left_out = {pair.original for pair in read_pairs(path)} - parts["train"] - parts["validation"]
    assert not parts["train"] & parts["validation"]
    assert [len(parts["train"]), len(parts["validation"]), len(left_out)] == pytest.approx([280, 80, 40], abs=24)
    assert {part_of(text, 0.2, 0.1) for text in left_out} == {"test"}
    assert {part_of(text, 0.0, 0.1) for text in left_out} == {"test"}  # as the benchmark asks
    assert data.facts()["test_pairs"] == 2 * len(left_out)
    assert data.facts()["path"] == path
    other = split(path, tiny, seed=1)
    assert {pair.original for pair in other.pairs["train"]} == parts["train"]


@pytest.mark.parametrize(
    ("settings", "named"),
    [
        ({"validation": 0.5, "test": 0.5}, r"must together be below 1, not 0\.5 and 0\.5"),
        ({"paths": ["a.txt"]}, r"either data\.path"),
        ({"augmentation": object()}, "augmentation=none"),
    ],
)
def test_settings_that_leave_nothing_to_train_on_are_refused(tiny, tmp_path, settings, named):
    with pytest.raises(FairlabError, match=named):
        split(a_file(tmp_path, 4), tiny, **settings)


def test_the_smallest_batch_and_limit_are_one(tiny, tmp_path):
    data = split(a_file(tmp_path, 40), tiny, batch_size=1, limit=1)
    assert len(data.pairs["train"]) == 1


def test_silver_pairs_are_made_for_all_splits(tiny, tmp_path, monkeypatch):
    """Seven pairs of a share of 0.7 to train on are ten."""
    asked, path = [], a_file(tmp_path, 40)
    monkeypatch.setattr(
        perturbation_pairs, "find_pairs", lambda *given: (asked.append(given), (read_pairs(path), {}))[1]
    )
    data = split(None, tiny, paths=["a.txt", "b.txt"], axes=["gender"], seed=5, limit=7)
    assert data.facts()["path"] == "a.txt, b.txt"
    assert asked == [(None, ["a.txt", "b.txt"], ["gender"], 5, 10)]


def test_batches_hold_the_tokens_of_the_pairs(tiny, tmp_path):
    data = PerturbationPairs(path=a_file(tmp_path, 40), encoder=tiny, epochs=1, **VALUES)
    assert data.facts()["test_pairs"] == 0
    batches, tokens = list(data.train_dataloader()), 0
    for batch in batches:
        padding = batch.targets == IGNORED
        assert batch.given.tolist() == (~padding).flatten().nonzero().flatten().tolist()
        assert not batch.changed[padding].any()
        assert batch.changed.any(dim=1).all()
        tokens += int(batch.attention_mask.sum() + (~padding).sum())
    assert data.sizes() == {"pairs": len(data.pairs["train"]), "tokens": tokens}
    assert data.lengths("train") == [max(len(one.source), len(one.target)) for one in data.encoded["train"]]
    assert data.facts()["pairs_at_max_length"] == 0
    tiny.max_length = max(data.lengths("train"))
    whole = [length for name in ("train", "validation") for length in data.lengths(name)]
    assert 0 < data.facts()["pairs_at_max_length"] == whole.count(tiny.max_length) < len(whole)
