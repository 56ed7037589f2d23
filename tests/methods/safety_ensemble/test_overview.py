"""What a report shows of an ensemble."""

from __future__ import annotations

import numpy as np

from fairlab.methods.safety_ensemble.overview import reliability


def test_reliability_is_the_share_of_unsafe_texts_by_tenths_of_the_scores():
    scores = np.repeat(np.arange(10) / 10, 4)
    truth = np.tile([0, 1, 1, 1], 10)
    chosen = np.ones(40, dtype=bool)
    found = reliability(truth, scores, chosen)
    assert found["predicted"] == [k / 10 for k in range(10)]
    assert found["observed"] == [0.75] * 10
    truth[:4] = -1
    assert reliability(truth, scores, chosen & (scores < 0.15)) == {"predicted": [0.1], "observed": [0.75]}
    assert reliability(np.zeros(40), scores, chosen) == {"predicted": [], "observed": []}
