"""The score by tokens and labels, against counts by hand and spaces built anew."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairlab.augmentation.z_filtered import z_statistic
from fairlab.metrics.shortcuts_by_word import AssociationSpace, StrongestSpace
from fairlab.types import FairlabError

TEXTS = ["a not b", "not b b", "a b", "c"]
LABELS = ["no", "no", "yes", "yes"]


def test_scores_by_hand():
    # Of four documents: "not" stands in two, both "no"; "b" in three, two of them "no"; "a" in one of each; "c" in one.
    negation, b_no, b_yes = 2 / 4 * math.log(2), 2 / 4 * math.log(4 / 3), 1 / 4 * math.log(2 / 3)
    expected = [negation + b_no, negation + b_no, b_yes, 1 / 4 * math.log(2)]
    space = AssociationSpace(TEXTS, LABELS)
    assert space.gamma().tolist() == pytest.approx(expected)
    assert space.objective == pytest.approx(-np.mean(expected))


def test_the_strongest_token_by_hand():
    # Half of the documents are "no". "not" stands in two, z = (1 - 1/2) / sqrt(1/4 / 2); "b" in three, one of them
    # "yes", z = -1/6 / sqrt(1/4 / 3), and "a" in one of each, z = 0; "c" in one, z = 1/2 / sqrt(1/4).
    space = StrongestSpace([*TEXTS, ""], [*LABELS, "no"])
    share = 3 / 5
    negation, both = (1 - share) / math.sqrt(share * (1 - share) / 2), z_statistic(1, 2, 1 - share)
    assert space.gamma().tolist() == pytest.approx([negation, negation, both, z_statistic(1, 1, 1 - share), 0])
    assert StrongestSpace(TEXTS, LABELS).gamma().tolist() == pytest.approx([2**0.5, 2**0.5, 0, 1])


@pytest.mark.parametrize("kind", [AssociationSpace, StrongestSpace])
def test_a_documents_own_text_scores_as_it_does(kind):
    space = kind(TEXTS, LABELS)
    assert [space.score(k, text) for k, text in enumerate(TEXTS)] == pytest.approx(space.gamma().tolist())


words = st.lists(st.sampled_from("abcde"), max_size=5).map(" ".join)


@settings(max_examples=50)
@given(st.lists(words, min_size=3, max_size=8), st.data())
def test_a_replacement_is_a_space_built_anew(texts, data):
    labels = [k % 3 if k < 3 else data.draw(st.integers(0, 2)) for k in range(len(texts))]
    space = AssociationSpace(texts, labels)
    for _ in range(3):
        place, new = data.draw(st.integers(0, len(texts) - 1)), data.draw(words | st.just("f g"))
        scored = space.score(place, new)
        space.replace(place, new)
        texts = [*texts[:place], new, *texts[place + 1 :]]
        assert space.gamma()[place] == pytest.approx(scored)
        assert space.held.shape == (len(space.vocabulary), 3)
        assert space.gamma().tolist() == pytest.approx(AssociationSpace(texts, labels).gamma().tolist())


def test_it_ranks_a_planted_word_that_its_frequency_hides():
    rng = np.random.default_rng(0)
    rows = [["x" if (k % 2) == (rng.random() < 0.9) else "y", *rng.choice(list("abcdef"), 4)] for k in range(400)]
    texts, labels = [" ".join(rng.permutation(row)) for row in rows], [k % 2 for k in range(400)]
    planted = np.array([("x" in row) == (label == 1) for row, label in zip(rows, labels, strict=True)])
    gamma = AssociationSpace(texts, labels).gamma()
    assert gamma[planted].min() > gamma[~planted].max()


def test_one_label_is_refused():
    with pytest.raises(FairlabError, match="two labels or more"):
        AssociationSpace(["a", "b"], ["x", "x"])
