"""The committed simulations of intervals and verdicts, against what they have to hold, and how one is made."""

import json

import pytest

from experiments.judge.coverage import FILE, means, seeds
from experiments.judge.tables import coverage

ROWS = json.loads(FILE.read_text())["rows"]


def shares(kind, measure, *items):
    return [one["share"] for one in ROWS if (one["kind"], one["measure"]) == (kind, measure) and one["n"] in items]


def test_the_intervals_that_are_printed_cover_what_they_say():
    assert json.loads(FILE.read_text())["repeats"] == 2000
    assert all(0.93 <= share <= 0.97 for share in shares("mean", "coverage, widened", 30, 120))
    assert all(0.93 <= share <= 0.97 for share in shares("mean distance from even", "coverage, corrected", 30, 120))
    over_seeds = [one for one in shares("mean over seeds", "coverage, seeds and items", 30, 120) if one is not None]
    assert len(over_seeds) == 18  # 3, 5 and 8 seeds
    assert all(0.93 <= share <= 0.97 for share in over_seeds)
    assert all(0.93 <= share <= 0.97 for share in shares("paired difference", "coverage", 8, 30, 120))


def test_false_verdicts_are_as_rare_as_they_say():
    assert all(share <= 0.06 for share in shares("mean distance from even", "off by its test", 8, 30, 120))
    assert shares("mean distance from even", "off by percentiles", 8, 30, 120) == [1.0, 1.0, 1.0]  # the rule before
    assert all(share <= 0.06 for share in shares("paired difference", "false positives", 8, 30, 120))
    at_margin = [one["share"] for one in ROWS if one["kind"] == "even within 0.5" and one["what"].endswith("0.5")]
    assert at_margin
    assert all(share <= 0.035 for share in at_margin)


def test_what_covers_too_rarely_has_no_interval():
    """Eight items, and two seeds, for which no interval covers as it should whatever the seeds' variance is."""
    two = [one["share"] for one in ROWS if one["what"].startswith("2 seeds") and one["measure"].endswith("and items")]
    assert two == [None] * 6
    for kind, measure in (("mean", "widened"), ("mean distance from even", "corrected")):
        assert shares(kind, f"coverage, {measure}", 8) == [None] * 3
    assert all(share < 0.93 for share in shares("mean", "coverage, percentiles", 8))


@pytest.mark.slow
def test_a_simulation_of_a_few_repeats_has_rows_of_every_kind():
    rows = [*means(20), *seeds(5)]
    assert {one["n"] for one in rows} == {8, 20, 30, 120}
    assert all(one["share"] is None or 0 <= one["share"] <= 1 for one in rows)
    assert coverage().count("\n") > 40
