"""Headlines and texts in one case become sentence case."""

import pytest

from fairlab.lexicons import load_lexicon
from fairlab.rewriting.english.casing import _longer_names, in_sentence_case, may_gain_capitals, read_cased
from fairlab.rewriting.english.rules import RuleRewriter


@pytest.mark.parametrize(
    ("headline", "read"),
    [
        ("Woman Sues Big Hospital Today", "Woman sues big hospital today"),
        ("His Sons See Cars Here Too", "His sons see cars here too"),
        ("Woman Sues big Hospital Later Today", "Woman sues big hospital later today"),
        ("Two Women Leave Three Old Dogs", "Two women leave three old dogs"),
        # names, titles before names, acronyms
        ("Court Tells NASA That I Will Leave", "Court tells NASA that I will leave"),
        ("People Praise Judge Okafor After Trial", "People praise Judge Okafor after trial"),
        ("People Praise Judge After Long Trial", "People praise judge after long trial"),
        ("Kids Visit Uncle Tom After Lunch Today", "Kids visit Uncle Tom after lunch today"),
        ("Kids Visit Uncle After Lunch Today", "Kids visit uncle after lunch today"),
        ("Court Jails Mary Young After Long Trial", "Court jails Mary Young after long trial"),
        ("Court Jails Mary; Young After Long Trial", "Court jails Mary; young after long trial"),
        ("Woman Sees A Big Hospital Today", "Woman sees a big hospital today"),
    ],
)
def test_headlines(headline, read):
    assert read_cased(headline).text == read


@pytest.mark.parametrize(
    "text",
    [
        "Woman Sues Hospital Today",  # too short
        "Woman Sues Big Hospital Today.",
        'Woman Sues "Big" Hospital Later Today',
        "Woman Sues Hospital with Husband Today",
        "His Son Sees a Car Today Too",  # only two longer words
        "The Woman Sues Hospital Early Today",
        "Woman Sues 5 Big Hospitals",
        "MARY LEFT",
    ],
)
def test_what_is_no_headline_keeps_its_case(text):
    assert read_cased(text).text == text


@pytest.mark.parametrize(
    "text",
    [
        "Mary left home",
        '"Mary left." Then she ran',
        "We saw Mary … Then she ran",
        "Mary said (she ran)! She did",
        "Mary Smith left. She ran",
        "Then I left Mary",
        "Don't leave Mary there",
        # surnames, initials, numerals
        "Then Mary J. Okafor left",
        "Then Mary A. Okafor left",
        "Then Mary B left",
        "Then Mary a left",
        "Then John Okafor III left early",
        "Then John Okafor Jr left",
        "Then Mary Stone left",
        "Then Mary cat left",
        "Then Mary, stone left",
        "We met okafor Mary left",
        # titles
        "Then Mr. Okafor left",
        "Then Mr Okafor left",
        "We met Mr. J. Okafor there",
        "Then Miss Okafor left",
        "We had to miss dinner with Mary",
        # names that are also words or places
        "We met grace and will early",
        "We met Grace Okafor early",
        "We met Grace M. Okafor early",
        "We met grace m early",
        "We met Paris Okafor early",
        "We saw José Luis Okafor there",
        "We saw Mary-Jane Okafor there",
        "We met grace zub early",
        "The okafor left Mary there",
        "We saw Mary. Zorb stone left",
    ],
)
def test_a_text_in_small_letters_gets_the_capitals_of_its_names(text):
    assert read_cased(text.lower()).text == text


def test_a_text_that_could_not_be_converted_back_keeps_its_case():
    assert in_sentence_case("MARY LEFT DIE GRO\u1e9eE STADT") == "MARY LEFT DIE GRO\u1e9eE STADT"


def test_every_paragraph_gets_its_own_case_back():
    rules = RuleRewriter(load_lexicon("gender"), mode="lexical")
    before = "It rained.\n\n" * 6
    assert rules(f"{before}we met mary", "man") == f"{before}we met marcus"


def test_one_letter_before_a_word_begins_no_sentence():
    assert [may_gain_capitals(text, {"will"}) for text in ("a will", "x-will")] == [False, True]


def test_the_longest_names_of_things_come_first():
    names = _longer_names()["john"]
    assert {"John Hancock", "John Hancock Center"} <= {*names}
    assert names == sorted(names, key=len, reverse=True)
