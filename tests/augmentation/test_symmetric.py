"""Supported pairs of which every claim and every evidence is made to stand once with each label."""

from collections import Counter

import pytest

from fairlab.augmentation.symmetric import NOT_SUPPORTED, NOTHING_SHARED, Symmetric
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
    assert [one["id"] for one in made[2].rows] == ["2-0", "2-1", "2-2", "2-3"]


def test_other_pairs_are_kept_where_that_is_asked_for():
    left_out, kept = Symmetric().decide(ROWS), Symmetric(others="kept").decide(ROWS)
    assert [kept[number] == left_out[number] for number in (1, 2, 3, 4, 5)] == [True, True, False, False, False]
    as_they_were = [{"id": str(one.number), **dict(one.parts), "label": one.extra["label"]} for one in ROWS[2:]]
    assert [list(kept[number].rows) for number in (3, 4, 5)] == [[one] for one in as_they_were]
    with pytest.raises(FairlabError, match="must be left_out or kept, not some"):
        Symmetric(others="some")


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
    assert first == again
    assert first != other


@pytest.mark.parametrize(
    ("rows", "sentence"),
    [
        ([ROWS[3]], "no row is labelled SUPPORTS or entailment"),
        ([Row("1", "One text.", {"label": "SUPPORTS"}, "line 1", 1)], "line 1 has 1 texts, and augmentation=symmetric"),
        ([row(1, "a", "b", "")], "line 1 has no 'label'"),
    ],
)
def test_rows_that_it_cannot_take(rows, sentence):
    with pytest.raises(FairlabError, match=sentence):
        Symmetric().decide(rows)
