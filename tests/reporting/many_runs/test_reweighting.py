"""The page of a sweep over strengths of reweighting."""

from __future__ import annotations

from fairlab.record import Reading, Record
from fairlab.reporting.many_runs.reweighting import (
    compare_strengths,
    rendered_strengths,
    strength_verdict,
)


def run(tmp_path, lambda_safe, precision, variance, benchmark="safety_validation"):
    strength = {"lambda_safe": lambda_safe, "beta_safe": 10}
    config = {"method": {"harms": ["hate"], "reweighting": {"hate": strength}}}
    values = {"average_precision_change": precision, "acv_change": variance}
    readings = [
        Reading(benchmark, "hate", name, value, "%", None, 9, value - 1, value + 1, phase="after")
        for name, value in values.items()
    ]
    return Record(tmp_path, config, "", readings=readings)


def test_the_choice_is_made_on_validation_alone(tmp_path):
    records = [run(tmp_path, 0.01, -1, -10), run(tmp_path, 0.5, -2, -30), run(tmp_path, 1, -9, -60)]
    records.append(run(tmp_path, 2, 9, -99, "safety"))  # the best of all, on the test texts
    found = compare_strengths(records)
    assert found["hate"]["chosen"] == "lambda_safe 0.5, beta_safe 10"
    assert len(found["hate"]["candidates"]) == len(found["hate"]["front"]) == 3
    assert strength_verdict(found["hate"]) == "lambda_safe 0.5, beta_safe 10"
    page = rendered_strengths(records, found)
    assert "Chosen: lambda_safe 0.5, beta_safe 10" in page
    assert "Pareto front" in page


def test_a_choice_that_costs_too_much_says_so(tmp_path):
    found = compare_strengths([run(tmp_path, 0.01, -4, -10), run(tmp_path, 1, -9, -60)])
    assert strength_verdict(found["hate"]) == "lambda_safe 0.01, beta_safe 10; all cost more than 3 % of AU-PRC"
