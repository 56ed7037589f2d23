import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairlab.text.words import LONG, RECENT_LONG, TermFinder, cached_for_recent_texts, match_case

FINDER = TermFinder(["father", "father-in-law", "he", "ma'am", "Mr.", "brother"])


def found(text):
    return [(text[span.start : span.end], span.term) for span in FINDER.find(text)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The father left.", [("father", "father")]),
        ("FATHER", [("FATHER", "father")]),
        ("her father-in-law's hat", [("father-in-law", "father-in-law")]),
        ("father in law", [("father in law", "father-in-law")]),
        ("fatherland and them", []),
        ("he'll go and he’s gone", [("he", "he"), ("he", "he")]),
        ("Yes, ma’am; Mr. Osei", [("ma’am", "ma'am"), ("Mr", "mr.")]),
        ("the last word is father", [("father", "father")]),
        ("father-in", [("father", "father")]),
        ("", []),
    ],
)
def test_longest_match_at_word_boundaries(text, expected):
    assert found(text) == expected


@given(st.lists(st.sampled_from(["father", "father-in-law", "he", "then", "brothers", ",", "X"]), max_size=12))
def test_spans_never_overlap_and_lie_on_word_boundaries(words):
    text = " ".join(words)
    position = 0
    for span in FINDER.find(text):
        assert position <= span.start < span.end
        assert re.fullmatch(r"\W?", text[span.end : span.end + 1])
        position = span.end


@pytest.mark.parametrize(
    ("original", "replacement", "expected"),
    [("he", "she", "she"), ("He", "she", "She"), ("HE", "she", "SHE"), ("I", "we", "We"), ("Mr", "Ms", "Ms")],
)
def test_match_case(original, replacement, expected):
    assert match_case(original, replacement) == expected


def test_few_long_texts_are_cached():
    asked = []
    read = cached_for_recent_texts(lambda text, **settings: asked.append(text) or (len(text), settings))
    short, long = ([f"{k:04}" + "x" * more for k in range(RECENT_LONG + 1)] for more in (0, LONG))
    for _ in range(2):
        assert [read(text, whole=True) for text in short + long] == [
            (len(text), {"whole": True}) for text in short + long
        ]
    assert asked == short + long + long  # all long ones again, because the first was gone
    assert read(long[-1]) == (LONG + 4, {})  # other settings are another question
