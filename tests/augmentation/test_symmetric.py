"""Supported pairs of which every claim and every evidence is made to stand once with each label."""

from collections import Counter

import numpy as np
import pytest

from fairlab.augmentation import symmetric
from fairlab.augmentation.symmetric import NOT_SUPPORTED, NOTHING_SHARED, UNLIKELY, Symmetric
from fairlab.backbones.scoring import LogLikelihoods
from fairlab.types import FairlabError, Row


def row(number, evidence, claim, label="SUPPORTS"):
    parts = (("evidence", evidence), ("claim", claim))
    return Row(str(number), f"{evidence} <SEP> {claim}", {"label": label}, f"line {number}", number, parts=parts)


ROWS = [
    row(1, "The bridge at Ilmer was opened in 1931.", "The bridge was opened in 1931."),
    row(2, "The tower stood until 1946.", "The tower fell after 1946."),
    row(3, "It rained.", "The rain went on."),
    row(4, "Born in 1902, he sang.", "He was born in 1902.", "REFUTES"),
    row(5, "It has 1,931 rooms.", "The house has 1931 rooms."),
]


def test_each_claim_and_each_evidence_stands_once_with_each_label():
    made = Symmetric().decide(ROWS)
    assert [made[number].reason for number in (1, 2, 3, 4, 5)] == [
        "",
        "",
        NOTHING_SHARED,
        NOT_SUPPORTED,
        NOTHING_SHARED,
    ]
    for number in (1, 2):
        for field in ("evidence", "claim"):
            told = Counter((one[field], one["label"]) for one in made[number].rows)
            assert set(told.values()) == {1}
            assert len(told) == 4
    assert [(one["claim"], one["label"]) for one in made[2].rows] == [
        ("The tower fell after 1946.", "SUPPORTS"),
        ("The tower fell after 1931.", "SUPPORTS"),
        ("The tower fell after 1931.", "REFUTES"),
        ("The tower fell after 1946.", "REFUTES"),
    ]
    assert made[2].rows[3]["evidence"] == "The tower stood until 1931."
    assert made[2].counts == {"quadruples": 1, "by a number": 1}
    assert [one["id"] for one in made[2].rows] == ["2-0", "2-1", "2-2", "2-3"]


def test_other_pairs_are_kept_where_that_is_asked_for():
    left_out, kept = Symmetric().decide(ROWS), Symmetric(others="kept").decide(ROWS)
    assert [kept[number] == left_out[number] for number in (1, 2, 3, 4, 5)] == [True, True, False, False, False]
    as_they_were = [{"id": str(one.number), **dict(one.parts), "label": one.extra["label"]} for one in ROWS[2:]]
    assert [list(kept[number].rows) for number in (3, 4, 5)] == [[one] for one in as_they_were]


def test_a_name_that_would_stay_in_part_is_not_exchanged():
    rows = [
        row(1, "Mary Brown sang. Brown was tall.", "Mary Brown sang."),
        row(2, "John Smith danced.", "John Smith danced well."),
        row(3, "Anna Lee slept.", "Anna Lee slept."),
    ]
    made = Symmetric().decide(rows)
    assert made[1].reason == NOTHING_SHARED
    assert {one["claim"] for one in made[3].rows} <= {"Anna Lee slept.", "John Smith slept.", "Mary Brown slept."}


def test_the_draw_is_the_seeds():
    rows = [row(k, f"It was {1900 + k}.", f"It happened in {1900 + k}.") for k in range(1, 40)]
    first, again, other = (Symmetric(seed=seed).decide(rows) for seed in (0, 0, 1))
    assert first == again == Symmetric().decide(rows)
    assert first != other


class LikesOne:
    """A language model to which a text of one token is likely by a number of it."""

    def __init__(self, likely):
        self.likely = likely

    def log_likelihoods(self, texts, *, progress=""):
        sums = np.array([next((value for word, value in self.likely.items() if word in text), -2.0) for text in texts])
        return LogLikelihoods(sums, np.ones(len(texts), dtype=np.int64))


def test_a_language_model_takes_the_exchange_that_raises_either_texts_likelihood_least(monkeypatch):
    monkeypatch.setattr(symmetric, "CausalLM", LikesOne)
    rows = [row(k, f"It was in {1900 + k}.", f"It was in {1900 + k}.") for k in range(1, 9)]
    checked = Symmetric(language_model={"1905": -1.0}, candidates=200).decide(rows)
    assert {checked[number].rows[1]["claim"] for number in (1, 2, 3, 4, 6, 7, 8)} == {"It was in 1905."}
    assert checked[5].reason == UNLIKELY  # whatever takes the place of what is likeliest is less likely
    allowed = Symmetric(language_model={"1905": -1.0}, candidates=200, rise=1.0).decide(rows)
    assert len(allowed[5].rows) == 4
    only_better = Symmetric(language_model={"1905": -1.0}, candidates=200, rise=-0.5).decide(rows)
    assert {number for number, one in only_better.items() if one.rows} == {1, 2, 3, 4, 6, 7, 8}
    none_shared = [row(1, "It was in 1901.", "It rained."), row(2, "It was in 1902.", "It was in 1902.")]
    found = Symmetric(language_model={}, candidates=1).decide(none_shared)
    assert [found[number].reason for number in (1, 2)] == [NOTHING_SHARED, NOTHING_SHARED]


@pytest.mark.parametrize(("likely", "made"), [(-2.09, True), (-2.11, False)])
def test_three_exchanges_are_drawn_and_a_tenth_of_a_nat_is_allowed(monkeypatch, likely, made):
    """Every text of 1901 has -2 nats a token, and every other one a little less."""
    read = []

    class Reads(LikesOne):
        def log_likelihoods(self, texts, *, progress=""):
            read.extend(texts)
            return super().log_likelihoods(texts, progress=progress)

    monkeypatch.setattr(symmetric, "CausalLM", Reads)
    rows = [row(1, "Seen in 1901.", "It was 1901."), *(row(k, f"Seen in {k}.", "No.") for k in range(1902, 1940))]
    rows += [row(k + 100, f"Seen in {k}.", f"It was {k}.") for k in range(1902, 1940)]
    found = Symmetric(language_model={"1901": -2.0, "": likely}).decide(rows)
    assert bool(found[1].rows) is made
    # Four texts of each exchange, of which three are drawn for each of 39 rows; some are drawn twice.
    assert 39 * 2 * 4 < len(read) <= 39 * 3 * 4


def test_the_worse_text_of_an_exchange_counts(monkeypatch):
    monkeypatch.setattr(symmetric, "CausalLM", LikesOne)
    rows = [row(1, "Seen in 1901.", "It was 1901."), row(2, "Seen in 1902.", "It was 1902.")]
    likely = {"Seen in 1902": -5.0}
    made = Symmetric(language_model=likely, rise=0.0).decide(rows)
    assert made[1].reason == UNLIKELY
    assert len(made[2].rows) == 4


@pytest.mark.parametrize(
    ("rows", "sentence"),
    [
        ([ROWS[3]], "no row is labelled SUPPORTS or entailment"),
        ([Row("1", "One text.", {"label": "SUPPORTS"}, "line 1", 1)], "line 1 has 1 texts, but augmentation=symmetric"),
    ],
)
def test_rows_that_it_cannot_take(rows, sentence):
    with pytest.raises(FairlabError, match=sentence):
        Symmetric().decide(rows)
