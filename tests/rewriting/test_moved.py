"""What moved since earlier records: counts of differences, fairscores of two sets of copies, and the page's claims."""

import csv
import json
from collections import Counter

import pytest

from experiments.rewriting.moved import RECORD, compare_fairscores, differences
from experiments.rewriting.tables import MOVED_SHEET

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


def test_the_page_says_what_the_record_holds():
    record = json.loads(RECORD.read_text(encoding="utf-8"))
    assert {part: found["other"] for part, found in record["inputs"].items()} == {
        "fairscore": 214,
        "ccd": 1,
        "biasers": 0,
        "people": 76,
        "news": 39,
    }
    change = record["results"]["fairscore"]["fairscore"]["difference"]
    assert -1 < change["low"] < 0 < change["high"] < 1  # no change is shown, and a change of a point is ruled out
    people = {
        name: (found["former"]["value"], found["present"]["value"])
        for name, found in record["results"]["people"].items()
    }
    lower = people.pop("CrowS-Pairs, race, lower case, equal to reference, %")
    assert lower == pytest.approx((100 * 80 / 240, 100 * 123 / 240))
    assert max(abs(new - old) for old, new in people.values()) < 4


def test_the_page_says_what_was_read():
    with MOVED_SHEET.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    read = Counter((row["part"], row["reason"]) for row in rows)
    assert read["fairscore", "adult written"] == 11
    assert read["fairscore", "another mention of the person stays"] == 2
    assert Counter(row["part"] for row in rows) == {"people": 20, "news": 20, "fairscore": 20, "ccd": 1}
