"""Rewrites within a budget: every arm gets as many, in its own order, and a claim has one rewrite."""

import pytest

from experiments.razor import budgets
from experiments.razor.budgets import counts, filled, half_of, maker, order_of, probed, save, saved, write_arm
from fairlab.data.published.tasks import CLAIMS, Example
from fairlab.text.reading import text_lines

ROWS = [Example(f"Evidence {k}.", f"Claim {k} holds in Rome.", k % 2) for k in range(8)]


class Rewriter:
    """Rewriter with given texts; it sees no evidence."""

    def __init__(self, texts):
        self.texts = texts

    def rewrites(self, items, count):
        assert count == 1
        assert not any(one.context for one in items)
        return [[self.texts[one.text]] if one.text in self.texts else [] for one in items]


class Check:
    """Check that objects to rewrites with a word, and remembers what it read."""

    def __init__(self, word):
        self.word, self.read = word, []

    def faults(self, items, made):
        self.read += [(one.context, one.label) for one in items]
        return ["reads as REFUTES" if self.word in text else None for text in made]


def test_an_arm_is_filled_in_its_order_and_tries_no_claim_twice(monkeypatch):
    monkeypatch.setattr(budgets, "STEP", 2)
    asked, stored = [], []

    def made(places):
        asked.append(list(places))
        return [(f"new {k}", None if k % 3 else "numbers differ") for k in places]

    tried = {4: ("old", None)}
    assert filled([3, 4, 0, 5, 1, 2, 7], 3, tried, made, lambda: stored.append(len(tried))) == [4, 5, 1]
    assert asked == [[3], [0, 5], [1, 2]]
    assert stored == [2, 4, 6]
    assert filled([1, 5, 3, 6], 2, tried, made, list) == [1, 5]
    assert asked[3:] == []
    assert filled([0, 3], 2, tried, made, list) == []  # fewer than the budget


def test_rewrites_are_checked_for_words_facts_and_evidence():
    texts = {
        ROWS[0].second: "In Rome, claim 0 holds.",
        ROWS[1].second: "Claim 1 holds, in Rome!",
        ROWS[2].second: "claim 2 HOLDS in Rome",
        ROWS[3].second: "In Paris, claim 3 holds.",
        ROWS[5].second: "In Rome, claim 5 wrongly holds.",
    }
    checks = [Check("wrongly"), Check("wrongly")]
    found = maker(ROWS, Rewriter(texts), checks)(range(6))
    assert [fault for _, fault in found] == [
        None, "unchanged", "unchanged", "names differ", "no rewrite", "reads as REFUTES",
    ]  # fmt: skip
    assert [text for text, _ in found][3:5] == ["In Paris, claim 3 holds.", ""]
    for half in (0, 1):
        read = [k for k in (0, 5) if half_of(ROWS[k]) == half]
        assert checks[half].read == [(ROWS[k].first, CLAIMS[k % 2]) for k in read]


def test_both_halves_share_no_evidence_and_are_about_equal():
    some = [Example(f"Evidence {k // 2}.", "x", 0) for k in range(2000)]
    halves = [half_of(one) for one in some]
    assert halves[::2] == halves[1::2]
    assert sum(halves) == pytest.approx(1000, abs=90)


def test_orders_are_permutations_and_the_score_orders_its_own():
    rows = [
        *ROWS,
        Example("Evidence", "a claim that is much longer than all of the others are, by far, and unusual", 0),
    ]
    for arm in ("random", "paper"):
        assert sorted(order_of(arm, rows)) == list(range(9))
    assert order_of("paper", rows)[0] == 8
    assert order_of("random", rows) == order_of("random", rows)


def test_an_arm_is_written_with_its_rewrites_only(tmp_path):
    tried = {1: ("new one", None), 2: ("new two", None)}
    save(tried, tmp_path / "tried.jsonl.xz")
    assert saved(tmp_path / "tried.jsonl.xz") == tried
    assert saved(tmp_path / "none.jsonl.xz") == {}
    write_arm(ROWS[:7], ROWS[7:], [2], tried, tmp_path / "arm")
    lines = list(text_lines(tmp_path / "arm" / "train.jsonl"))
    assert '"text": "new two", "label": "REFUTES"' in lines[2]
    assert "Claim 1 holds" in lines[1]
    assert len(lines) == 8


def test_outcomes_are_counted_by_kind_and_label():
    tried = {
        0: ("a", None),
        1: ("b", "reads as SUPPORTS"),
        2: ("c", "9 words and 20"),
        3: ("", "no rewrite"),
        4: ("d", None),
    }
    assert counts(ROWS, tried, [0, 1, 2, 3, 4], [0, 4]) == {
        "tried": 5,
        "outcomes": {"accepted": 2, "another label": 1, "facts": 1, "no rewrite": 1},
        "labels": {"REFUTES": [3, 2], "SUPPORTS": [2, 0]},
    }


def test_a_probe_reads_the_claims_of_an_arm():
    rows = [Example(f"e {k}", f"{'never' if k % 2 else 'always'} number {k}", k % 2) for k in range(60)]
    held = [Example("e", "never again", 1), Example("e", "always there", 1)]
    assert probed(rows, held, {}, []) == {"out_of_fold": 100.0, "held_out": 50.0}
    hidden = {k: (f"claim number {k}", None) for k in range(60)}
    assert probed(rows, held, hidden, range(60))["out_of_fold"] < 75
