"""Fields joined and taken apart."""

from hypothesis import given
from hypothesis import strategies as st

from fairlab.text.fields import SEPARATOR, join_fields, split_fields

FIELDS = st.lists(st.text(st.characters(blacklist_characters="<", blacklist_categories=["Cs"])), min_size=1, max_size=5)


@given(FIELDS)
def test_there_and_back(fields):
    assert split_fields(join_fields(fields), fields) == fields


def test_a_rewriter_that_trims_the_separator_or_loses_it():
    assert split_fields("She left.<SEP>She is gone.", ["He left. ", " He is gone."]) == ["She left.", "She is gone."]
    assert split_fields("He left.<SEP>She is gone.", ["He left. ", " He is gone."]) == ["He left. ", "She is gone."]
    assert split_fields("She left. She is gone.", ["a", "b"]) is None
    assert split_fields(f"a {SEPARATOR} b {SEPARATOR} c", ["a", "b"]) is None
