"""Nouns for people, and adjectives used as nouns, judged by their form and their neighbours."""

import pytest

from fairlab.rewriting.english.people import is_noun_by_neighbours, is_past, is_people, is_person, is_thing

# Words of which a function is true, and words of which it is not, such as those that only look alike.
WORDS = [
    (is_person, "doctor doctors babies ladies boss baker painters", "beer deer river rivers house glass dress ties"),
    (is_past, "wept walked added", "walk bed need"),
    (is_people, "nurses people men parents", "nurse man houses dress waitress stewardess"),
    (is_thing, "butter dog everything", "nurse thin"),
]


@pytest.mark.parametrize(("function", "true", "false"), WORDS)
def test_words_by_their_form(function, true, false):
    assert [word for word in (*true.split(), *false.split()) if function(word)] == true.split()


def test_a_lexicon_adds_nouns_for_people():
    assert [is_person(word, frozenset({"zorb"})) for word in ("zorb", "zorbs", "zorbing")] == [True, True, False]
    assert not is_person("zorb")


@pytest.mark.parametrize(
    ("before", "gap", "after", "kind", "expected"),
    [
        ("the", " ", "said", "noun", True),
        ("THE", " ", "SAID", "noun", True),
        ("the", " ", "faith", "noun", False),
        ("the", " ", "", "", True),
        ("his", " ", "said", "", False),
        ("a", " ", "prays", "noun", True),
        ("that", " ", "prays", "noun", True),
        ("the", " ", "prays", "noun", False),
        ("a", " ", "doctors", "person", False),
        ("a", " ", "class", "noun", False),
        ("a", " ", "bus", "noun", False),
        ("a", " ", "basis", "noun", False),
        ("the", "-", "said", "", False),
        ("the", "/", "said", "", False),
        ("the", ", ", "said", "", False),
        ("the", ", ", "who", "", True),
        ("the", ", ", "whose", "", True),
        ("the", " ", "and", "", False),
        ("the", " ", "or", "", False),
    ],
)
def test_an_adjective_may_be_a_noun_for_one_person(before, gap, after, kind, expected):
    assert is_noun_by_neighbours(before, gap, after, kind) is expected
