"""Draws of mentions to be labelled, and the labels that are kept."""

import csv
import lzma
import re
from collections import Counter

import numpy as np
import pytest

from experiments.rewriting.mentions import draw
from experiments.rewriting.mentions.labels import DOUBT, FILE, NOT, PERSON, Labelled
from experiments.rewriting.mentions.train import used_for_training

SIXTEEN = "One two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen."


@pytest.fixture(scope="module")
def rows():
    with lzma.open(FILE, "rt", encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def test_a_passage_is_the_fewest_sentences_that_are_long_enough():
    record = " ".join([SIXTEEN] * 7)  # 15 blanks within and 1 between: three sentences have 47, two have 31
    first, second = draw.in_passages([record, "Too short. Really."])
    assert first == second == (0, " ".join([SIXTEEN] * 3))


def test_a_long_sentence_is_no_passage_on_its_own():
    long = " ".join(["word"] * 60).capitalize() + "."
    assert draw.in_passages([long]) == []
    assert draw.in_passages([f"{long} It ended."]) == [(0, f"{long} It ended.")]
    assert draw.in_passages([f"{long} {long} {long}"]) == [(0, f"{long} {long}")]


def test_mentions_drawn_before_are_left_out(monkeypatch):
    texts = [(number, f"Row {number} has one young man here.") for number in range(9)]
    monkeypatch.setattr(draw, "SOURCES", ("a",))
    monkeypatch.setattr(draw, "sentences", lambda source: texts)
    everything = draw.draw(1, {"age": 9})
    assert {one.record for one in everything} == set(range(9))
    assert {one.sentence[one.start : one.end] for one in everything} == {"young"}
    known = frozenset((draw.digest(text), text.index("young")) for number, text in texts if number > 2)
    assert {one.record for one in draw.draw(1, {"age": 9}, known)} == {0, 1, 2}


def test_every_mention_was_read_twice_and_occurs_once(rows):
    assert len(rows) >= 6_000
    assert all({row["label"], row["second"]} <= {PERSON, NOT, DOUBT} for row in rows)
    assert Counter(row["reader"] for row in rows) == {"other model": 600, "later": 3_209, "same": 2_312}
    keys = Counter((row["axis"], row["source"], row["record"], row["sha256"], row["start"]) for row in rows)
    assert keys.most_common(1)[0][1] == 1
    for axis in ("race", "age", "gender", "religion", "nationality", "disability"):
        assert len({row["source"] for row in rows if row["axis"].split()[0] == axis}) >= 20


def test_the_card_counts_the_mentions(rows):
    card = FILE.with_name("README.md").read_text(encoding="utf-8")
    for seed in ("5700", "5701", "5702", "5800", "5801"):
        own = [row for row in rows if row["seed"] == seed]
        counts = len(own), len({(row["source"], row["sha256"]) for row in own}), len({row["source"] for row in own})
        found = re.search(rf"^\| {seed} \| [^|]+ \| ([\d,]+) \| ([\d,]+) \| (\d+) \|", card, re.MULTILINE)
        assert tuple(int(number.replace(",", "")) for number in found.groups()) == counts


def test_nothing_that_a_test_passage_contains_is_trained_on():
    def one(seed, sentence):
        return Labelled(seed, "age", "a", sentence, 0, 1, PERSON, PERSON, "same")

    mentions = [one(5700, "A man."), one(5700, "A boy."), one(5801, "It rained. A boy. It stopped."), one(5702, "No.")]
    np.testing.assert_array_equal(used_for_training(mentions), [True, False, False, False])
