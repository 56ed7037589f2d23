"""Which sentence of a pair scores higher, by hand."""

import numpy as np

from fairlab.metrics.crows_pairs import is_scored, more_likely


def test_ties_are_scored_and_skipped_pairs_are_not():
    scores = np.array([[0.3, 0.2], [0.2, 0.3], [0.2, 0.2], [np.nan, 0.1], [0.1, np.nan]])
    assert more_likely(scores).tolist() == [True, False, False, False, False]
    assert is_scored(scores).tolist() == [True, True, True, False, False]
