"""Which sense a word has, judged from its neighbours in a parsed sentence."""

import pytest

from fairlab.rewriting.english.senses import _is_joined_to_participle, _is_kin
from fairlab.text.pipeline import parse


def token(text, word):
    return next(one for one in next(parse([text])) if one.text == word)


@pytest.mark.parametrize(
    ("text", "joined"),
    [("A Black-owned shop closed.", True), ("A Black man owned it.", False)],
)
def test_a_hyphen_joins_a_group_to_what_it_does(text, joined):
    assert _is_joined_to_participle(token(text, "Black")) is joined


@pytest.mark.parametrize(
    ("text", "kin"),
    [("The third child left.", True), ("Her child left.", True), ("They had a child.", True), ("A child left.", False)],
)
def test_a_child_of_somebody_is_kin_whatever_its_age(text, kin):
    assert _is_kin(token(text, "child")) is kin
