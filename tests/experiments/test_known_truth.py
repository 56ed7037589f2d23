"""The study with a known shortcut: thinning, equal numbers of rewrites, and its order of trainings, by hand."""

import json

import numpy as np
import pytest

from experiments.razor import choices
from experiments.razor import known_truth as data
from experiments.razor import known_truth_runs as runs
from experiments.razor import known_truth_tables as tables
from fairlab.data.published.tasks import Example


@pytest.mark.parametrize(
    ("percent", "found"),
    [(95, (38, 2)), (50, (40, 40)), (5, (3, 57))],  # of 40 and 60: at most 42, 80 and 63 pairs in multiples of 20
)
def test_sizes_at_each_percentage(percent, found):
    assert data.sizes(40, 60, percent) == found


def pool():
    """400 pairs without the word, 100 with it and SUPPORTS, 90 with it and REFUTES."""
    rows = [Example(f"evidence {k}", f"claim {k}", k % 2) for k in range(400)]
    rows += [Example(f"other {k}", f"A child of {k}", 1) for k in range(100)]
    return rows + [Example(f"third {k}", f"No child of {k}", 0) for k in range(90)]


def test_thinned_pairs_have_the_shortcut_or_not_and_no_evidence_is_in_both_parts():
    known = data.thinned(pool(), "child")
    assert known.label == 1
    for rows, agreeing in ((known.biased, 19), (known.unbiased, 10)):
        held = [one for one in rows if "child" in one.second]
        assert (len(held), sum(one.label for one in held)) == (20, agreeing)
        assert len(rows) == 180  # one in nine contains the word
    trained = {one.first for one in known.biased + known.unbiased}
    assert not trained & {one.first for one in known.follow + known.against + known.validation}
    assert {one.label for one in known.follow} == {1}
    assert {one.label for one in known.against} == {0}


def offers(pairs):
    """Offer nothing for every third claim; otherwise a text with the word and, with an even number, one without it."""
    made = []
    for one in pairs:
        number = int(one.second.split()[-1])
        both = [f"Well, {one.second}", f"Well, {one.second.replace('child', 'kid')}"]
        made.append([] if number % 3 == 0 else both[: 2 - number % 2])
    return made


def test_arms_have_as_many_rewrites_as_the_oracle_and_the_oracle_rewrites_the_word():
    known = data.thinned(pool(), "child")
    made = {arm: data.rewrites_of(arm, known, 42, offers) for arm in data.ARMS}
    able = [one for one in known.biased if one.label and "A child" in one.second]
    able = [one for one in able if int(one.second.split()[-1]) % 2 == 0 and int(one.second.split()[-1]) % 3]
    assert 0 < len(able) < 18  # fewer than 10 % of the claims
    assert {len(made[arm]) for arm in ("random", "paper", "association", "oracle")} == {len(able)}
    assert made["biased"] == made["unbiased"] == {}
    assert all("kid" in text for text in made["oracle"].values())
    assert data.counts(known, made["oracle"]) == dict.fromkeys(
        ("rewrites", "with_word", "following", "lost"), len(able)
    )
    changed = data.training_pairs("oracle", known, made["oracle"])
    assert sum(a != b for a, b in zip(changed, known.biased, strict=True)) == len(able)


def test_rewrites_go_down_the_order_until_the_budget_is_spent():
    rows = [Example("", f"child {k}", 0) for k in range(6)]
    assert data.rewritten(rows, [5, 3, 1, 4, 2], 3, offers) == dict.fromkeys([5, 1, 4]) | {
        5: "Well, child 5",
        1: "Well, child 1",
        4: "Well, child 4",
    }
    assert data.rewritten(rows, [5, 3, 4, 2], 3, offers, "child") == {4: "Well, kid 4", 2: "Well, kid 2"}


def row(word, arm, seed, right):
    """Return a row with 76 test pairs against the shortcut, ``right`` of them correct, and 4 that follow it."""
    against = [k < right for k in range(76)]
    of_tests = {"follow": runs.written([True] * 4), "follow_n": 4, "against": runs.written(against), "against_n": 76}
    return {"word": word, "arm": arm, "seed": seed} | of_tests


def test_accuracy_of_a_row():
    assert runs.right_at(row("a", "biased", 42, 19), 5).mean() == pytest.approx(100 * 23 / 80)
    assert runs.right_at(row("a", "biased", 42, 3), 50).tolist() == []  # 4 and 4 pairs make no multiple of 20


def test_trainings_resume_and_replace_a_word_whose_shortcut_has_no_effect(tmp_path):
    file = tmp_path / "rows.jsonl"
    asked = []
    right = {("a", "unbiased"): 22, ("b", "unbiased"): 23}  # 3.75 and 5 points more than 19 of 80

    def train(limit):
        for word, arm, seed in runs.trainings(["a", "b"], 1, [42, 43], file):
            if len(asked) == limit:
                return
            asked.append((word, arm, seed))
            with file.open("a") as opened:
                opened.write(json.dumps(row(word, arm, seed, right.get((word, arm), 19))) + "\n")

    train(4)
    train(99)
    first = [("a", "biased", 42), ("a", "unbiased", 42)]
    assert asked == first + [("b", arm, seed) for seed in (42, 43) for arm in data.ARMS]
    train(99)
    assert len(asked) == 14


def test_area_and_association_of_tokens():
    assert choices.area(np.array([3.0, 2.0, 2.0, 0.0]), np.array([True, True, False, False])) == 7 / 8
    places = {"here": [0, 1], "there": [0, 2]}  # "here" is in both texts of label 1, "there" in one of each label
    assert choices.associations(places, np.array([1, 1, 0, 0])).tolist() == [1, 0]


def test_fiellers_interval():
    # Means 5 and 10, variances 1, no covariance: (50 +- sqrt(50^2 - (100 - z^2) (25 - z^2))) / (100 - z^2).
    top, bottom = np.array([4.0, 4.0, 6.0, 6.0]), np.array([9.0, 11.0, 9.0, 11.0])
    assert tables.fieller(top, bottom, (5.0, 10.0)) == pytest.approx((0.2956, 0.7443), abs=1e-4)
    assert tables.fieller(top, bottom, (5.0, 1.9)) is None  # the denominator may be 0


def test_proportion_of_the_gap(tmp_path, monkeypatch):
    file = tmp_path / "rows.jsonl"
    accuracies = {"biased": 16, "unbiased": 56, "oracle": 26, "random": 16}
    file.write_text("".join(json.dumps(row("a", arm, 42, right)) + "\n" for arm, right in accuracies.items()))
    monkeypatch.setattr(runs.finished, "__defaults__", (file,))
    assert tables.proportion("a", "oracle") == "25"  # 10 of 40
    assert tables.proportion("a", "paper") == ""


def test_the_planned_test_is_over_pairs_of_word_and_seed(monkeypatch):
    right = {("paper", 42): 9, ("paper", 43): 13, ("random", 42): 7, ("random", 43): 10} | {
        ("oracle", 42): 11,
        ("oracle", 43): 13,
    }  # of 19 that contradict
    rows = [
        {"word": "group", "arm": arm, "seed": seed, "follow": runs.written([True] * 10), "follow_n": 10}
        | {"against": runs.written([k < count for k in range(19)]), "against_n": 19}
        for (arm, seed), count in right.items()
    ]
    monkeypatch.setattr(runs, "finished", lambda: rows)
    lines = tables.difference().splitlines()
    assert lines[2] == (  # a count is a twentieth of the test, and the half-width is 12.706 times 2.5
        "| the paper's score | +10.0; +15.0 | 2 | +12.5 [-19.3, +44.3] | 0.126 | planned test | too few runs |"
    )
    assert lines[3] == "| oracle | +20.0; +15.0 | 2 | +17.5 [-14.3, +49.3] | 0.090 | 0.090 | too few runs |"
