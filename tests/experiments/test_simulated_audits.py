"""The committed simulations of audits, against what they have to hold, and one that is made."""

import json

import numpy as np

from experiments.audit.simulate import FILE
from experiments.audit.whole import FILE as WHOLE
from experiments.audit.whole import audited, called_biased

FOUND = json.loads(FILE.read_text()) | json.loads(WHOLE.read_text())


def test_intervals_cover_the_planted_size():
    assert all(one["simulations"] == 1000 for one in FOUND.values())
    assert all(0.93 <= one["share"] <= 0.97 for name, one in FOUND.items() if name.startswith("coverage"))


def test_fair_classifiers_are_rarely_called_biased():
    fair = [one["share"] for name, one in FOUND.items() if name.startswith(("fair", "unstable"))]
    assert len(fair) == 4
    assert max(fair) <= 0.065


def test_a_simulated_audit_finds_what_is_planted():
    rng = np.random.default_rng(0)
    readings = audited(rng, 0.02, shift=0.1)
    (shift,) = (one for one in readings if one.quantity == "shift")
    assert abs(shift.value - 10) < 1
    assert called_biased(readings)
    assert not called_biased(audited(rng, 0.02))
