import pytest

from fairlab.lexicons import Lexicon, load_lexicon
from fairlab.metrics.polarity import Polarity
from fairlab.types import Group

GENDER = Polarity(load_lexicon("gender"))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("They told the nurse.", "neutral"),
        ("He told his nurse.", "man"),
        ("She told HER nurse.", "woman"),
        ("He told his mother.", "man"),  # two against one
        ("His mother.", "ambiguous"),  # one each
        ("The actress bowed.", "woman"),
        ("The actor bowed.", "neutral"),  # the form is also the neutral one
        ("Robert's brother-in-law", "man"),
        ("fatherland", "neutral"),
        ("", "neutral"),
    ],
)
def test_polarity(text, expected):
    assert GENDER(text) == expected


def test_a_tie_equals_nothing():
    group = Group("1", "gender", {"neutral": "they", "man": "he and she", "woman": "she"})
    assert GENDER.correct(group) == {"neutral": True, "man": False, "woman": True}
    right = {"right/neutral": 1, "right/man": 0, "right/woman": 1}
    assert GENDER.tally(group.versions) == {"judged": 1, "right/union": 0, **right}


def test_more_than_two_attributes():
    lexicon = Lexicon("age", ("child", "young", "senior"), (("person", "kid", "youth", "pensioner"),))
    polarity = Polarity(lexicon)
    assert polarity("a kid, a kid and a pensioner") == "child"
    assert polarity("a youth and a pensioner") == "ambiguous"
