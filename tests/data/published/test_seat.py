import json

import pytest

from fairlab.data.published.download import FILES, locate
from fairlab.data.published.seat import read_association_test, word_within
from fairlab.types import FairlabError

SETS = {
    "targ1": {"category": "Male", "examples": ["he", "him", "he"]},
    "targ2": {"category": "Female", "examples": ["she"]},
    "attr1": {"category": "Career", "examples": ["office"]},
    "attr2": {"category": "Family", "examples": ["home"]},
}


def test_texts_in_file_order_each_once(tmp_path):
    file = tmp_path / "test.jsonl"
    file.write_text(json.dumps(SETS, indent=2))
    test = read_association_test(file)
    assert test.sets == (test.targ1, test.targ2, test.attr1, test.attr2)
    assert test.sets == (("he", "him"), ("she",), ("office",), ("home",))


@pytest.mark.parametrize(
    ("text", "word", "within"),
    [
        ("A boy.", "boys", True),
        ("Ga is a town.", "gas", False),
        ("The children.", "child", True),
        ("Boyd.", "boy", False),
    ],
)
def test_a_word_is_found_in_the_singular_and_plural(text, word, within):
    assert word_within(text, [word, "x"]) == (word if within else text)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "test.jsonl is not JSON"),
        ("[]", "test.jsonl is not an association test"),
        (json.dumps({key: SETS[key] for key in ("targ1", "targ2", "attr1")}), "test.jsonl: attr2 needs texts"),
        (json.dumps(SETS | {"targ2": {"examples": []}}), "test.jsonl: targ2 needs texts"),
        (json.dumps(SETS | {"attr1": {"examples": [1]}}), "test.jsonl: attr1 needs texts"),
        (json.dumps(SETS | {"targ1": ["he"]}), "test.jsonl: targ1 needs texts"),
    ],
)
def test_broken_files_are_named(tmp_path, text, message):
    file = tmp_path / "test.jsonl"
    file.write_text(text)
    with pytest.raises(FairlabError, match=message):
        read_association_test(file)


@pytest.mark.data
@pytest.mark.parametrize(
    ("name", "sizes"),
    [
        ("6", (64, 64, 101, 112)),
        ("6b", (80, 80, 101, 112)),
        ("7", (72, 72, 80, 80)),
        ("7b", (72, 72, 64, 64)),
        ("8", (56, 56, 80, 80)),
        ("8b", (56, 56, 64, 64)),
    ],
)
def test_sizes_of_the_gender_tests(name, sizes):
    test = read_association_test(locate(f"seat/sent-weat{name}.jsonl"))
    assert tuple(len(texts) for texts in test.sets) == sizes


@pytest.mark.data
def test_every_published_test_can_be_read():
    names = [name for name in FILES if name.startswith("seat/")]
    assert len(names) == 50
    for name in names:
        test = read_association_test(locate(name))
        assert len(test.targ1) == len(test.targ2)
