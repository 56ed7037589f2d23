"""Tables of rewriting within a budget, from rows made by hand."""

import json

import numpy as np
import pytest

from experiments.razor import budget_runs, budget_tables, budgets
from experiments.razor.budget_runs import trainings
from experiments.razor.known_truth_runs import written

RIGHT = {("none", 0): (6, 4), ("random", 25): (5, 5), ("paper", 25): (7, 4)}  # of 10 pairs, with two seeds


@pytest.fixture
def rows(tmp_path, monkeypatch):
    found = [
        {"arm": arm, "percent": percent, "seed": 42 + k, "seconds": 60, "losses": [0.7, 0.2 + k / 10]}
        | {"symmetric": written(np.arange(10) < right), "symmetric_n": 10, "held": written([True] * 4), "held_n": 4}
        for (arm, percent), both in RIGHT.items()
        for k, right in enumerate(both)
    ]
    file = tmp_path / "budgets.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in found))
    monkeypatch.setattr(budget_runs, "FILE", file)
    return found


def test_trainings_that_have_a_row_are_not_repeated(rows):
    assert list(trainings([42, 44], 25, rows)) == [("random", 25, 44), ("paper", 25, 44), ("none", 0, 44)]
    assert list(trainings([43], 10, rows)) == [("random", 10, 43), ("paper", 10, 43)]
    assert list(trainings([42, 43], 25, rows)) == []


def test_accuracies_are_means_over_seeds(rows):
    lines = budget_tables.trained().splitlines()
    assert lines[2] == "| none | 0 | 42, 43 | 0.70 to 0.25 | 50.0 ± 14.1 | 100.0 ± 0.0 |"
    assert lines[4].startswith("| the paper's score | 25 | 42, 43 | 0.70 to 0.25 | 55.0 ± 21.2 |")
    assert budget_tables.missing().splitlines()[2] == "| 6 | 15 | 60 |"


def test_the_first_test_is_the_score_against_random_and_is_not_adjusted(rows):
    lines = budget_tables.differences().splitlines()[2:]
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    assert cells[0][:4] == ["FEVER-Symmetric v0.2", "the paper's score minus random", "10", "2"]
    assert cells[0][4].startswith("+5.00 [")  # 7 - 5 and 4 - 5 of 10: +20 and -10 points
    assert cells[0][5] == "[-185.59, +195.59]"  # 12.706 times 15
    assert [row[7] == "first test" for row in cells] == [True, *[False] * 5]


def test_rewrites_and_probes_are_shown_per_order(tmp_path, monkeypatch):
    monkeypatch.setattr(budgets, "COUNTS", tmp_path / "arms.json")
    assert "none" in budget_tables.rewrites()
    one = {
        "tried": 1000,
        "outcomes": {"accepted": 600, "facts": 400},
        "labels": {"SUPPORTS": [500, 400], "REFUTES": [500, 200]},
    }
    probe = {"25": {"out_of_fold": 61.25, "held_out": 60.0}}
    content = {"none": {"probe": {"0": {"out_of_fold": 63.0, "held_out": 62.0}}}, "random": one | {"probe": probe}}
    (tmp_path / "arms.json").write_text(json.dumps(content))
    assert budget_tables.rewrites().splitlines()[2] == (
        "| random | 1,000 | 600 | 0 | 0 | 400 | 0 | 80 of 500 | 40 of 500 |"
    )
    assert budget_tables.probes().splitlines()[3] == "| random | 25 | 61.2 | 60.0 |"
