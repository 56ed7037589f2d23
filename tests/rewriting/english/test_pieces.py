import re

from hypothesis import given
from hypothesis import strategies as st

from fairlab.rewriting.english.pieces import split_words, with_gaps


@given(st.text(alphabet="ab_ .,'1-é\n\x01", max_size=12))
def test_words_and_gaps_are_those_of_the_pattern(text):
    pieces = re.split(r"(\W+)", text)
    assert split_words(text) == pieces[::2]
    assert with_gaps(text, split_words(text)) == pieces
