import pytest

from fairlab.lexicons import load_lexicon
from fairlab.rewriting.english.ages import age_in_years, find_ages, follows_age, whose_age, written_like
from fairlab.rewriting.english.vocabulary import Vocabulary
from fairlab.text.pipeline import parse
from tests.rewriting.english.trees import token


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The man is 13 years old.", ["13"]),
        ("A 29-year-old and a forty-seven-year-old met.", ["29", "forty-seven"]),
        ("He died at the age of 81, aged 81.", ["81", "81"]),
        ("Maria Jones, 40, said so.", ["40"]),
        ("I would be eleven years old in March.", ["eleven"]),
        ("It cost $13 and took 13 years.", []),
        ("She was twenty eleven years old.", ["eleven"]),
        ("Aged 24 months, it costs 1,200 years of work.", []),
        ("A man in his late thirties and a woman in her 60s met in the sixties.", ["thirties", "60s"]),
    ],
)
def test_ages_are_found(text, expected):
    assert [text[start:end] for start, end in find_ages(text)] == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The 15-year-old boy rode a horse.", "boy"),
        ("She was 72 years old.", "She"),
        ("He became king at the age of 21.", "He"),
        ("The victim, aged 81, died in hospital.", "victim"),
        ("The boy who was 15 years old left.", "boy"),
        ("The 90-year-old abbey burned down.", None),
        ("The company is 30 years old.", None),
    ],
)
def test_an_age_is_somebody_s(text, expected):
    (doc,) = parse([text])
    ((start, _),) = find_ages(text)
    owner = whose_age(next(token for token in doc if token.idx == start))
    assert (owner.text if owner is not None else None) == expected


CHAIN = "she/PRP/nsubj/is is/VBZ/ROOT a/IN/prep/is b/IN/prep/a c/IN/prep/b d/IN/prep/c"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Jones/NNP/ROOT , *40/CD/appos/Jones", "Jones"),
        ("Jones/NNP/ROOT , *40/CD/npadvmod/Jones", "Jones"),
        ("a nurse/NN/ROOT , *40/CD/appos/nurse", "nurse"),
        ("a team/NN/ROOT , *40/CD/appos/team", None),
        ("a house/NN/ROOT , *40/CD/appos/house", None),
        ("a team/NN/ROOT , *40/CD/npadvmod/team", None),
        ("the *19/CD/nummod/year year/NN/npadvmod/old old/JJ/nsubj/left left/VBD/ROOT", "old"),
        ("she/PRP/nsubj/is is/VBZ/ROOT *40/CD/attr/is", "she"),
        ("it/PRP/nsubj/is is/VBZ/ROOT *40/CD/attr/is", None),
        ("Ann/NNP/nsubj/is is/VBZ/ROOT *40/CD/attr/is", "Ann"),
        ("the/DT/det/Times Times/NNP/nsubj/is is/VBZ/ROOT *40/CD/attr/is", None),
        ("she/PRP/nsubj/left left/VBD/ROOT and was/VBD/conj/left *40/CD/attr/was", "she"),
        ("a victim/NN/nsubj/died aged/VBN/acl/victim *81/CD/npadvmod/aged died/VBD/ROOT", "victim"),
        ("a house/NN/nsubj/fell aged/VBN/acl/house *81/CD/npadvmod/aged fell/VBD/ROOT", None),
        ("a boy/NN/ROOT who/WP/nsubj/was was/VBD/relcl/boy *9/CD/attr/was", "boy"),
        ("a *9/CD/nummod/year year/NN/npadvmod/old old/JJ/amod/boy boy/NN/ROOT", "boy"),
        ("a *9/CD/nummod/year year/NN/npadvmod/old old/JJ/amod/house house/NN/ROOT", None),
        ("*9/CD/nummod/years years/NNS/ROOT", None),
        ("*40/CD/attr/is is/VBZ/ROOT she/PRP/nsubj/is", "she"),
        ("who/WP/nsubj/is is/VBZ/ROOT *9/CD/attr/is", "who"),
        # at most seven words up
        (f"{CHAIN} e/IN/prep/d f/IN/prep/e *9/CD/pobj/f", "she"),
        (f"{CHAIN} e/IN/prep/d f/IN/prep/e g/IN/prep/f *9/CD/pobj/g", None),
    ],
)
def test_whose_age_it_is_in_a_parse(text, expected):
    owner = whose_age(token(text))
    assert (owner.text if owner is not None else None) == expected


def test_ages_are_written_as_they_were():
    assert [age_in_years(found) for found in ("13", "eleven", "Forty-seven", "twenty one")] == [13, 11, 47, 21]
    assert written_like("13", 70) == "70"
    assert written_like("eleven", 18) == "eighteen"
    assert written_like("Eleven", 72) == "Seventy-two"
    assert [age_in_years(found) for found in ("twenty", "nineteen", "ten", "teens", "twenties", "90s")] == [
        *(20, 19, 10, 15, 25, 95)
    ]
    assert [written_like("60s", age) for age in (17, 18, 34, 35, 95, 99, 119)] == [
        *("teens", "20s", "20s", "30s", "90s", "90s", "90s")
    ]
    assert [written_like("thirties", age) for age in (17, 18, 44, 45)] == ["teens", "twenties", "thirties", "forties"]


def test_a_noun_may_follow_an_age():
    assert [follows_age(text, text.index("boy")) for text in ("a 9-year-old boy", "year old boy", "old boy")] == [
        *(True, True, False)
    ]


def test_an_age_in_figures_has_every_attribute_with_ages():
    forms = Vocabulary(load_lexicon("age"), seed=0).age.forms
    assert forms == ("", "child", "young", "middle-aged", "senior", "")  # neither neutral nor *adult*


@pytest.mark.parametrize(("age", "words"), [(19, "nineteen"), (20, "twenty"), (21, "twenty-one"), (99, "ninety-nine")])
def test_ages_in_words_around_twenty(age, words):
    assert written_like("eleven", age) == words
