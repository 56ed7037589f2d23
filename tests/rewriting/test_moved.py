"""What moved since earlier records: counts of differences, fairscores of two sets of copies, and the page's claims."""

import pytest

from experiments.rewriting.moved import compare_fairscores, differences

FORMER = {"gender 0": ("a", "A"), "gender 1": ("b", "b"), "age 0": ("a", "old a"), "age 1": ("b", "b")}
PRESENT = {"gender 0": ("a", "A"), "gender 1": ("b", "B"), "age 0": ("a", "aged a"), "age 1": ("b", "b")}


def test_differences_are_counted_by_text():
    counts, names = differences(FORMER, PRESENT)
    assert counts == {"texts": 4, "turned": 3, "other": 2}
    assert names == ["gender 1", "age 0"]


def test_a_text_that_only_one_checkout_rewrites_differs():
    counts, names = differences({"news 0": ("a", "A")}, {"news 1": ("b", "B")})
    assert (counts, names) == ({"texts": 2, "turned": 2, "other": 2}, ["news 0", "news 1"])


def test_fairscores_of_two_sets_of_copies_are_paired_by_example():
    labels = {"a": 0, "b": 1, "A": 0, "B": 0, "old a": 1, "aged a": 0}
    found = compare_fairscores(FORMER, PRESENT, labels)
    assert (found["former"]["value"], found["former"]["n"]) == (50.0, 2)  # of A and old a, the second has another label
    assert (found["present"]["value"], found["present"]["n"]) == (pytest.approx(100 / 3, abs=1e-6), 3)  # B alone
    assert found["difference"]["value"] == pytest.approx(100 / 3 - 50, abs=1e-6)
