"""Readings of a dataset that is rewritten in rounds: by hand."""

import re
from types import SimpleNamespace

import numpy as np
import pytest

from fairlab.metrics import surface_probe
from fairlab.metrics.significance import wilson_interval
from fairlab.run.augmenting.rounds import _negation_readings, _notes, _probe_readings


def items(*pairs):
    return [SimpleNamespace(text=text, label=label) for text, label in pairs]


def test_the_gain_of_a_probe_is_what_it_adds_to_the_commonest_label(monkeypatch):
    right = np.array([1.0] * 100 + [0.0] * 25)
    monkeypatch.setattr(surface_probe, "probe", lambda texts, labels, seed: right)
    some = items(*[(f"a stone {k}", "yes") for k in range(75)], *[(f"no stone {k}", "no") for k in range(50)])
    (reading,) = _probe_readings(some, "before", 0)
    assert (reading.value, reading.n, reading.phase) == (pytest.approx(20.0), 125, "before")  # 80 % less 60 %
    assert 10 < reading.low < 20 < reading.high < 30  # the standard error is 100 sqrt(0.8 * 0.2 / 125) = 3.6
    assert _probe_readings(some[:-1], "before", 0) == []  # too few of one label


def test_negations_are_counted_and_set_against_labels():
    some = items(("it is not red", "no"), ("it never rained", "no"), *[("it rained", "yes")] * 6)
    association, share = _negation_readings(some, "after", 0)
    assert (association.value, association.n) == (pytest.approx(1.0), 8)
    assert (share.value, share.n, share.phase) == (pytest.approx(25.0), 8, "after")
    assert (share.low, share.high) == pytest.approx([100 * bound for bound in wilson_interval(2, 8)])


def test_notes_count_what_was_selected_and_what_was_rewritten():
    rounds = [
        {"tried": ["a", "b", "c"], "objective_before": 0.5, "objective": 0.25},
        {"tried": ["d", "e"], "objective_before": 0.25, "objective": 0.125},
    ]
    first, objective = _notes(rounds, {"worse": 2}, 3, 10)
    assert re.findall(r"\d+", first) == ["3", "10", "5", "2"]
    assert "0.500000" in objective
    assert "0.125000" in objective
