"""Titles and nouns beside each other, in both modes."""

import re
from types import SimpleNamespace
from typing import Literal

import pytest

from fairlab.lexicons import load_lexicon
from fairlab.rewriting.english.casing import read_cased
from fairlab.rewriting.english.coordinated import CoordinatedPieces, shared_by, shared_entries
from fairlab.rewriting.english.rules import RuleRewriter

CASES = [
    # text, to man, to woman, to neutral
    ("Lord and Lady Grantham left.", "Lord and Lord", "Lady and Lady", "Mx and Mx"),
    ("Lord/Lady Smith will see you.", "Lord Smith", "Lady Smith", "Mx Smith"),
    ("Dear Lord/Lady,", "Dear Lord,", "Dear Lady,", "Dear Noble,"),
    ("The lord and lady of the manor left.", "The lord and lord of", "The lady and lady of", "The noble and noble of"),
    ("Mr. and Mrs. Smith came.", "Mr. and Mr. Smith", "Mrs. and Mrs. Smith", "Mx. and Mx. Smith"),
    ("Mr & Mrs Smith came.", "Mr & Mr Smith", "Mrs & Mrs Smith", "Mx & Mx Smith"),
    ("Mr./Mrs. Smith came.", "Mr. Smith", "Mrs. Smith", "Mx. Smith"),
    ("Ms./Mrs. Smith came.", "Mr. Smith", "Ms./Mrs. Smith", "Mx. Smith"),
    ("Mr. and Mx. Smith came.", "Mr. and Mx. Smith", "Ms. and Mx. Smith", "Mx. and Mx. Smith"),
    ("Dear Ms/Mrs/Mr Lee,", "Dear Mr Lee,", "Dear Ms/Mrs Lee,", "Dear Mx Lee,"),
    ("Ladies and Gentlemen, welcome.", "Gentlemen and Gentlemen,", "Ladies and Ladies,", "People and People,"),
    ("Lady Grantham left.", "Lord Grantham", "Lady Grantham", "Mx Grantham"),
    ("A lady left.", "A gentleman", "A lady", "A person"),
]


@pytest.mark.parametrize("mode", ["syntax", "lexical"])
def test_words_beside_each_other_are_read_alike(mode: Literal["syntax", "lexical"]) -> None:
    rewriter = RuleRewriter(load_lexicon("gender"), mode=mode)
    for column, target in enumerate(("man", "woman", "neutral"), start=1):
        made = rewriter.rewrite_all([case[0] for case in CASES], [target] * len(CASES))
        assert [text.startswith(case[column]) for text, case in zip(made, CASES, strict=True)] == [True] * len(CASES), (
            made
        )


@pytest.mark.parametrize("mode", ["syntax", "lexical"])
def test_words_beside_each_other_are_exchanged(mode: Literal["syntax", "lexical"]) -> None:
    texts = ["Lord and Lady Grantham left.", "Mr. and Mrs. Smith came.", "my lord/lady"]
    made = RuleRewriter(load_lexicon("gender"), mode=mode).swap_all(texts)
    assert made == ["Lady and Lord Grantham left.", "Mrs. and Mr. Smith came.", "my lady/lord"]


def test_miss_in_small_letters_is_a_title_only_before_a_name() -> None:
    assert read_cased("it was hit and miss for miss marple .").text == "It was hit and miss for Miss Marple ."


def test_equal_words_that_stay_are_not_said_once() -> None:
    assert (
        RuleRewriter(load_lexicon("gender"), mode="lexical")("half or half, she said", "man") == "half or half, he said"
    )


def test_words_share_an_entry_as_nouns_of_different_attributes() -> None:
    def sense(attribute: str, entry: str, pos: str = "noun") -> SimpleNamespace:
        return SimpleNamespace(attribute=attribute, entry=entry, pos=pos)

    shared = [
        shared_by([sense("man", "a")], [sense("woman", "b"), sense("woman", "a")]),
        shared_by([sense("man", "a", "title")], [sense("woman", "a")]),
        shared_by([sense("man", "a", "pronoun")], [sense("woman", "a")]),
        shared_by([sense("man", "a")], [sense("man", "a"), sense("woman", "b")]),
        shared_by([sense("man", "")], [sense("woman", "")]),
    ]
    assert shared == [["a"], ["a"], [], [], []]


def test_entries_are_shared_by_words_beside_each_other_alone() -> None:
    finder = RuleRewriter(load_lexicon("gender"), mode="lexical").finder
    found = [shared_entries(text, finder.listed(text)) for text in ("A lord and lady left.", "A lord met a lady.")]
    assert [sorted(one) for one in found] == [[2, 11], []]
    assert found[0][2] == found[0][11] != []


@pytest.mark.parametrize(
    ("text", "places", "last", "coordinated"),
    [
        ("a lord/lady left", (2, 4), (4, 4), True),
        ("a lord and lady left", (2, 6), (6, 6), True),
        ("a lord saw lady left", (2, 6), (2, 6), False),
    ],
)
def test_the_second_of_two_words_is_found_from_either(text, places, last, coordinated) -> None:
    known = RuleRewriter(load_lexicon("gender"), mode="lexical").vocabulary.senses
    for place, end, attribute in zip(places, last, ("man", "woman"), strict=True):
        words = CoordinatedPieces(known, re.split(r"(\W+)", text))
        assert words.last(place, attribute) == end
        assert (words.sense(place, attribute, titled=False) is not None) is coordinated
