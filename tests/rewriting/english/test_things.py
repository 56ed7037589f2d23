"""Names of places and colours of things among words for people, in parsed sentences."""

import pytest

from fairlab.rewriting.english.things import _has_place_at_end, is_colour_of_thing
from fairlab.text.pipeline import parse


def token(text, word):
    return next(one for one in next(parse([text])) if one.text == word)


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("John F. Kennedy Memorial Library opened.", True),
        ("John Hall is in Oxford.", True),
        ("John Hall is tired.", False),
        ("John Hall left.", False),
    ],
)
def test_a_name_with_a_place_at_its_end_is_that_of_the_place(text, place):
    assert _has_place_at_end(token(text, "John")) is place


@pytest.mark.parametrize(
    ("text", "after", "of_thing"),
    [("It is as white as snow.", "as", True), ("A white marble hall.", "marble", True), ("It is white.", ".", False)],
)
def test_a_colour_in_a_comparison_or_of_a_material_is_of_a_thing(text, after, of_thing):
    assert is_colour_of_thing(token(text, "white"), None, after) is of_thing
