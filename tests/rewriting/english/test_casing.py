"""Headlines and texts in one case become sentence case."""

import pytest

from fairlab.rewriting.english.casing import read_cased


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
    ],
)
def test_a_text_in_small_letters_gets_the_capitals_of_its_names(text):
    assert read_cased(text.lower()).text == text
