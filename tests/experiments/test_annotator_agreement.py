"""Agreement among rewrites by hand, and its bounds."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from experiments.shared.annotator_agreement import (
    annotator_agreement,
    full_agreement,
    levenshtein_share,
    token_agreement,
)

REWRITES = st.lists(st.sampled_from(["he left", "she left", "they have left", ""]), min_size=1, max_size=6)


def test_by_hand():
    tasks = [["he saw his dog here", "he saw his dog here", "she saw his dog here"], ["only one"]]
    found = annotator_agreement(tasks)
    assert found["full"] == pytest.approx(200 / 3)
    assert found["token"] == pytest.approx(100 * (2 / 3 + 4) / 5)
    # Of six ordered pairs two are equal; in four, four of five words and three of four bigrams are.
    assert found["rouge1"] == pytest.approx(100 * (2 + 4 * 4 / 5) / 6)
    assert found["rouge2"] == pytest.approx(100 * (2 + 4 * 3 / 4) / 6)
    assert found["rougeL"] == found["rougeLsum"] == pytest.approx(found["rouge1"])
    assert found["levenshtein"] == pytest.approx(4 * (1 / 5) / 6)
    assert 0 < found["bleu"] < 100


def test_everybody_agrees():
    found = annotator_agreement([["a man left the house"] * 3])
    assert found.pop("levenshtein") == 0
    assert found == pytest.approx(dict.fromkeys(found, 100))


def test_a_single_rewrite_says_nothing():
    with pytest.raises(ValueError, match="no task has two rewrites"):
        annotator_agreement([["one"], []])


def test_a_shorter_rewrite_holds_nothing_at_the_end():
    assert token_agreement(["he left", "he"]) == (1 + 1 / 2) / 2
    assert token_agreement(["", ""]) == 1


@given(REWRITES)
def test_bounds(rewrites):
    assert 0 < full_agreement(rewrites) <= token_agreement(rewrites) <= 1 or len(set(rewrites)) > 1
    assert 0 <= levenshtein_share(rewrites[0], rewrites[-1]) <= 1
