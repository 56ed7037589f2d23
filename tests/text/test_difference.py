from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairlab.text.difference import changes, pieces, stretches

WORDS = st.lists(st.sampled_from(["she", "he", "the", "cat", "."]), max_size=12)


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("He's in.", "She's in.", [["He's", "She's"]]),
        ("The rain.", "The rain.", []),
        ("a man", "a", [["man", ""]]),
        ("It rained.", "It  rained.", []),  # white space is not a word
        ("", "New.", [["", "New ."]]),
    ],
)
def test_words_that_changed(old, new, expected):
    assert changes(old, new) == expected


@given(st.text("aé1_’'.,- \n\t", max_size=40))
def test_pieces_make_up_the_text(text):
    assert "".join(pieces(text)) == text


@given(WORDS, WORDS)
def test_stretches_make_up_both_sides_and_alternate(old, new):
    found = stretches(old, new)
    assert [word for before, _ in found for word in before] == old
    assert [word for _, after in found for word in after] == new
    same = [before == after for before, after in found]
    assert all(one != other for one, other in pairwise(same))


def test_a_long_text_takes_a_moment():
    words = "he saw that the river had risen in the night and she had left".split() * 1500
    assert len(stretches(words, ["they" if word in ("he", "she") else word for word in words])) > 5000
