"""Scores by chance: the same for a text every time, spread evenly, and blind to labels."""

import numpy as np
import pytest
from scipy.stats import kstest

from fairlab.metrics.shortcuts_by_chance import ChanceSpace
from fairlab.types import FairlabError

TEXTS = [f"claim {k}" for k in range(500)]
LABELS = [k % 2 for k in range(500)]


def test_scores_are_uniform_and_no_label_has_higher_ones():
    gamma = ChanceSpace(TEXTS, LABELS).gamma()
    assert kstest(gamma, "uniform").pvalue > 0.01
    assert abs(np.corrcoef(gamma, LABELS)[0, 1]) < 0.1
    assert gamma.tolist() == ChanceSpace(TEXTS, LABELS[::-1]).gamma().tolist()


def test_a_replacement_is_a_space_built_anew():
    space = ChanceSpace(TEXTS, LABELS)
    scored = space.score(3, "another claim")
    space.replace(3, "another claim")
    anew = ChanceSpace([*TEXTS[:3], "another claim", *TEXTS[4:]], LABELS)
    assert space.gamma()[3] == scored
    assert space.gamma().tolist() == anew.gamma().tolist()
    assert space.objective == pytest.approx(anew.objective) == -anew.gamma().mean()


def test_the_lower_of_two_rewrites_is_below_the_document_in_two_of_three():
    space = ChanceSpace(TEXTS, LABELS)
    lower = [min(space.score(k, f"{text} {n}") for n in "ab") < space.gamma()[k] for k, text in enumerate(TEXTS)]
    assert np.mean(lower) == pytest.approx(2 / 3, abs=0.07)


def test_one_label_is_refused():
    with pytest.raises(FairlabError, match="two labels or more"):
        ChanceSpace(["a", "b"], ["x", "x"])
