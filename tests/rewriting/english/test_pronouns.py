import re

import pytest

from fairlab.rewriting.english.pronouns import _is_opened, case_by_neighbours, case_by_syntax, cases_of, certain_case
from fairlab.text.pipeline import parse
from tests.rewriting.english.trees import token

CASES = [
    ("I saw her.", "her", "object"),
    ("I saw her yesterday.", "her", "object"),
    ("I gave her the book.", "her", "object"),
    ("We told her that it rained.", "her", "object"),
    ("They walked with her to school.", "her", "object"),
    ("I saw her dog.", "her", "possessive"),
    ("Her old car broke down.", "her", "possessive"),
    ("I asked her sister.", "her", "possessive"),
    ("She broke her left arm.", "her", "possessive"),
    ("His car is red.", "his", "possessive"),
    ("His and her towels are wet.", "his", "possessive"),
    ("The car is his.", "his", "independent"),
    ("A friend of his, Bob, came.", "his", "independent"),
    ("His is the red one.", "his", "independent"),
    ("It was his own fault.", "his", "possessive"),
]


def following(text, pronoun):
    match = re.search(rf"(?i)\b{pronoun}\b(\W*)(\w*)\W*(\w*)", text)
    return match[1], match[2].lower(), match[3].lower()


@pytest.mark.parametrize(("text", "pronoun", "case"), CASES)
def test_neighbours(text, pronoun, case):
    assert case_by_neighbours(pronoun, *following(text, pronoun)) == case


@pytest.mark.parametrize(
    ("text", "pronoun", "case"), [*CASES, ("I saw her leave.", "her", "object"), ("Let her go.", "her", "object")]
)
def test_syntax(text, pronoun, case):
    doc = next(parse([text]))
    token = next(token for token in doc if token.lower_ == pronoun)
    assert case_by_syntax(token) == case


@pytest.mark.parametrize(
    ("text", "case"),
    [
        ("it is/VBZ/ROOT *his/PRP$ and/CC her/PRP$ bag", "possessive"),
        ("it is/VBZ/ROOT *his/PRP$ and/CC Bob/NNP", "independent"),
        ("it is/VBZ/ROOT *his/PRP$ in/IN her/PRP$ bag", "independent"),
        ("she did *her/PRP best/JJS", "possessive"),
        ("she did *her/PRP very/RB best/JJS", "possessive"),
        ("she saw *her/PRP very/RB best/JJS", "object"),
        ("she did *her/PRP in/RP", "object"),
        ("take ' *her/PRP ' bag/NN", "possessive"),
        ("take ' *her/PRP ' in/IN", "object"),
        ("take ' *her/PRP '", "object"),
        ("take ( *her/PRP )/-RRB- bag/NN", "possessive"),
        ("take ( *her/PRP )/-RRB- and/CC", "object"),
        ("take *her/PRP )/-RRB- bag/NN", "object"),
        ("take *her/PRP$ ./.", "object"),
        ("take *his/PRP$ ,/,", "independent"),
        ("take *her/PRP$", "object"),
        ("take *her/PRP$ the/DT bag/NN", "object"),
        ("take *her/PRP$ this/NN bag/NN", "object"),
        ("take *her/PRP$ bring/VB bag/NN", "object"),
        ("take *her/PRP$ was/VBD", "object"),
        ("take *her/PRP/poss/bag old/JJ bag/NN", "possessive"),
        ("take *her/PRP/poss/take old/JJ bag/NN", "object"),
        ("take *her/PRP/poss/her old/JJ bag/NN", "object"),
        ("take *her/PRP/dobj/bag old/JJ bag/NN", "object"),
        ("take *his/PRP bag/NN", "possessive"),
        ("take *his/PRP fast/RB", "independent"),
        ("take *her/PRP$ fast/RB", "possessive"),
        ("take *her/PRP$ $/SYM", "object"),
    ],
)
def test_cases_in_parses_by_hand(text, case):
    assert case_by_syntax(token(text)) == case


def test_a_bracket_opens_before_alternatives_alone():
    docs = parse(["Ann left (with her) and took (his/her) bag.", "His/her bag is here.", "(his/her) bag"])
    assert [_is_opened(token) for doc in docs for token in doc if token.text == "her"] == [False, True, False, True]


@pytest.mark.parametrize(
    ("pronoun", "gap", "following", "case"),
    [
        ("her", "", "", "object"),
        ("her", ", ", "dogs", "object"),
        ("his", ". ", "dogs", "independent"),
        ("his", " (", "dogs", ""),
        ("his", "-", "dogs", ""),
        ("her", " ", "the", "object"),
        ("her", " ", "nurse", "possessive"),
        ("her", " ", "dogs", ""),
        ("his", " ", "dogs", "possessive"),
        ("his", " ", "past", ""),
        ("his", " ", "1990s", ""),
        ("his", " ", "the", ""),
    ],
)
def test_the_case_is_certain_at_the_end_of_a_clause_and_before_some_words(pronoun, gap, following, case):
    assert certain_case(pronoun, gap, following, "") == case
    assert certain_case("his", " ", "past", "life") == ""


@pytest.mark.parametrize(
    ("pronoun", "gap", "following", "then", "case"),
    [
        ("his", " ", "and", "her", "possessive"),
        ("his", " ", "or", "your", "possessive"),
        ("his", " ", "and", "bob", "independent"),
        ("her", " ", "and", "his", "object"),
        ("her", ' "', "friend", "", "possessive"),
        ("her", ' "', "", "", "object"),
        ("his", ", ", "dogs", "", "independent"),
        ("her", " ", "past", "life", "possessive"),
        ("her", " ", "past", "", "object"),
        ("her", " ", "past", "the", "object"),
        ("her", " ", "quickly", "", "object"),
        ("her", " ", "quickly", "and", "object"),
        ("her", " ", "newly", "made", "possessive"),
        ("her", " ", "family", "and", "possessive"),
    ],
)
def test_two_words_after_a_pronoun_decide_its_case(pronoun, gap, following, then, case):
    assert case_by_neighbours(pronoun, gap, following, then) == case


def test_a_form_may_have_several_cases():
    assert [cases_of(word) for word in ("Her", "his", "themselves", "dog")] == [
        {"possessive", "object"},
        {"possessive", "independent"},
        {"reflexive"},
        set(),
    ]
