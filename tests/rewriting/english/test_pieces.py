import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairlab.rewriting.english.pieces import is_in_compound, piece, split_words, with_gaps


@given(st.text(alphabet="ab_ .,'1-é\n\x01", max_size=12))
def test_words_and_gaps_are_those_of_the_pattern(text):
    pieces = re.split(r"(\W+)", text)
    assert split_words(text) == pieces[::2]
    assert with_gaps(text, split_words(text)) == pieces


@pytest.mark.parametrize(
    ("text", "word", "expected"),
    [
        ("D'Angelo left", "Angelo", True),
        ("'Angelo left", "Angelo", False),
        ("I don't", "don", True),
        ("I don’T", "don", True),
        ("she's here", "she", False),
        ("a man-made lake", "man", True),
        ("a man-made lake", "made", True),
        ("his ex-wife", "wife", False),
        ("his Ex-wife", "wife", False),
        ("a black-owned shop", "black", False),
        ("a black-Owned shop", "black", False),
        ("a -made lake", "made", False),
        ("a man- lake", "man", False),
        ("a man-", "man", False),
    ],
)
def test_a_word_in_a_compound(text, word, expected):
    pieces = re.split(r"(\W+)", text)
    assert is_in_compound(pieces, pieces.index(word)) is expected


def test_pieces_beyond_the_ends_are_empty():
    assert [piece(["a", "b"], place) for place in (-1, 0, 1, 2)] == ["", "a", "b", ""]
