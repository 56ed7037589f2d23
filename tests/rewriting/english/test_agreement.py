import re

import pytest

from fairlab.rewriting.english.agreement import (
    article,
    is_third_person,
    plural_verb,
    possessive,
    singular_verb,
    takes_have,
)
from fairlab.rewriting.english.lexical_agreement import agree

PAIRS = [
    ("is", "are"),
    ("was", "were"),
    ("has", "have"),
    ("does", "do"),
    ("walks", "walk"),
    ("goes", "go"),
    ("tries", "try"),
    ("watches", "watch"),
    ("Says", "Say"),
    ("IS", "ARE"),
]


@pytest.mark.parametrize(("singular", "plural"), PAIRS)
def test_verbs_there_and_back(singular, plural):
    assert plural_verb(singular) == plural
    assert singular_verb(plural) == singular


@pytest.mark.parametrize("verb", ["walked", "will", "gone", "sang", "had"])
def test_other_forms_stay(verb):
    assert plural_verb(verb) == verb


@pytest.mark.parametrize(
    ("verb", "perfect", "expected"), [("'s", False, "'re"), ("'s", True, "'ve"), ("’s", False, "’re")]
)
def test_contractions(verb, perfect, expected):
    assert plural_verb(verb, perfect=perfect) == expected
    assert singular_verb(expected) == verb


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        ("hour", "an"),
        ("university", "a"),
        ("actress", "an"),
        ("heir", "an"),
        ("woman", "a"),
        ("Asian", "an"),
        ("", "a"),
    ],
)
def test_article(word, expected):
    assert article(word) == expected


@pytest.mark.parametrize(
    ("noun", "ending", "expected"),
    [("actors", "'", "'"), ("ladies", "'s", "'"), ("Jane", "'", "'s"), ("James", "'s", "'s"), ("men", "'s", "'s")],
)
def test_possessive(noun, ending, expected):
    assert possessive(noun, ending) == expected


def test_third_person():
    assert [is_third_person(word) for word in ("walks", "is", "his", "as", "walk")] == [True, True, False, False, False]


@pytest.mark.parametrize(
    ("participle", "following", "expected"),
    [
        ("gone", "home", True),
        ("lost", "her", True),  # she's lost her keys
        ("lost", "in", False),
        ("given", "a", False),  # she's given a chance
        ("happy", "the", False),
        ("", "", False),
    ],
)
def test_has_or_is(participle, following, expected):
    assert takes_have(participle, following) is expected


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("he sings, and is glad", "he sing, and are glad"),
        ("he sings and is glad", "he sing and are glad"),
        ("he sings and-is glad", "he sing and-is glad"),
    ],
)
def test_a_coordinated_verb_agrees_too(before, after):
    pieces = re.split(r"(\W+)", before)
    agree(pieces, 0, third_person=True)
    assert "".join(pieces) == after
