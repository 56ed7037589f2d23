import numpy as np
import pytest

from fairlab.metrics.stereoset import icat, mean_percent, related, stereotyped


def test_examples_by_hand():
    scores = np.array([[0.3, 0.2, 0.1], [0.2, 0.3, 0.1], [0.2, 0.2, 0.2], [0.1, 0.3, 0.2], [0.3, 0.1, 0.2]])
    assert stereotyped(scores).tolist() == [1, 0, 0, 0, 1]  # a tie counts for the anti-stereotype
    assert related(scores).tolist() == [1, 1, 0, 0.5, 0.5]  # a tie is no win


def test_icat_at_its_landmarks():
    def of(lms, ss):
        return float(icat(np.array([lms]), np.array([ss])))

    # Nadeem et al. 2021, section 5.3: ideal 100, always or never stereotyped 0, random 50.
    assert (of(1, 0.5), of(1, 1), of(1, 0), of(0.5, 0.5)) == (100, 0, 0, 50)
    assert of(0.9, 0.6) == of(0.9, 0.4) == pytest.approx(72)


def test_icat_is_of_the_means():
    lms, ss = np.array([1.0, 1.0]), np.array([1.0, 0.0])
    assert float(icat(lms, ss)) == 100  # each term's own score is 0
    assert mean_percent(np.array([[1.0, 0.5], [0.0, 0.0]])).tolist() == [75, 0]
