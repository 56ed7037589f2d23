"""Mentions of people, judged from neighbouring words and from parses that are written by hand."""

from types import SimpleNamespace

import pytest

from fairlab.lexicons import load_lexicon
from fairlab.rewriting.english.given_names import Neighbours
from fairlab.rewriting.english.mentions import (
    Possible,
    Unaligned,
    _begins_name,
    _follows_other_word,
    _is_in_title,
    _may_have_sense,
    _order,
)
from fairlab.rewriting.english.rules import RuleRewriter
from fairlab.rewriting.english.syntax import Syntax
from tests.rewriting.english.trees import token

FINDER = RuleRewriter(load_lexicon("gender"), mode="lexical").finder


def near(before="", after="", gap_before=" ", gap_after=" "):
    return Neighbours(before, gap_before, after, gap_after)


@pytest.mark.parametrize(
    ("text", "mentions", "named"),
    [
        ("Lord, help Lady Ann and the lady.", ["Lady 11", "Ann 16", "lady 28"], [16]),
        ("They man the boats; a man left.", ["They 0", "man 22"], []),
        ("Mr. King and king Paul met Ann King.", ["Mr 0", "king 13", "Paul 18", "Ann 27"], [27]),
        ("Miss Lee left", ["Miss 0"], [0]),
        ("Mary left", ["Mary 0"], []),
        ("Big Mary left", [], [4]),
        ("Hope left", [], [0]),
        ("He saw Mary-Jane Lee.", ["He 0", "Mary-Jane 7"], [7]),
        ("She`x` left", ["She 0"], []),
        ("`x`she left", ["she 3"], []),
    ],
)
def test_mentions_by_their_neighbours(text, mentions, named):
    assert [f"{one.found} {one.start}" for one in FINDER.find_by_neighbours(text)] == mentions
    assert list(FINDER.named_words(text)) == named


@pytest.mark.parametrize(
    ("word", "beside", "expected"),
    [
        ("His", near("comedy", "Girl"), True),
        ("his", near("comedy", "Girl"), False),
        ("HIS", near("comedy", "Girl"), False),
        ("His", near("comedy", "Girl", gap_before=". "), False),
        ("His", near("comedy", "Girl", gap_after=", "), False),
        ("His", near("comedy", "girl"), False),
        ("His", near("comedy", "GIRL"), False),
        ("His", near("and", "Girl"), False),
        ("His", near("The", "Girl"), False),
    ],
)
def test_a_pronoun_may_be_part_of_a_title(word, beside, expected):
    assert _is_in_title(word, beside) is expected


def test_a_word_that_is_also_a_first_name_begins_a_name():
    words = [("Christian", "Andersen"), ("Christian", "left"), ("Mary", "Andersen"), ("Xyz", "Andersen")]
    found = [_begins_name(SimpleNamespace(word=word, beside=near(after=after))) for word, after in words]
    assert found == [True, False, False, False]


@pytest.mark.parametrize(
    ("pos", "word", "surnames", "expected"),
    [
        ("pronoun", "US", (), False),
        ("pronoun", "us", (), True),
        ("noun", "Scott", ("Scott",), True),
        ("name", "Scott", (), True),
        ("name", "Scott", ("Scott",), False),
        ("name", "scott", (), False),
    ],
)
def test_a_surname_and_a_country_have_no_sense_of_a_person(pos, word, surnames, expected):
    assert _may_have_sense(word, SimpleNamespace(pos=pos), near("saw", "left"), surnames) is expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Unlike/IN *Helga/NNP", True),
        ("saw/VBD/ROOT being/VBG *Helga/NNP", True),
        ("saw/VBD/ROOT Being/VBG *Helga/NNP", False),
        ("saw/VBD/ROOT aunt/NN *Helga/NNP", False),
        ("saw/VBD/ROOT little/JJ *Helga/NNP", False),
        ("*Helga/NNP left/VBD/ROOT", False),
    ],
)
def test_a_word_before_a_name_may_be_no_part_of_it(text, expected):
    name = token(text)
    assert _follows_other_word(Syntax(name.doc), name.idx) is expected


@pytest.mark.parametrize(
    ("text", "adjective", "noun"),
    [
        ("a *black/NN/amod/man man/NN/ROOT", 0, 1),
        ("*black/JJ/nsubj/left left/VBD/ROOT", 0, 1),
        ("*blacks/NNS/nsubj/left left/VBD/ROOT", 1, 0),
        ("is/VBZ/ROOT *Muslim/NN/attr/is", 0, 1),
        ("is/VBZ/ROOT *Muslims/NNS/attr/is", 1, 0),
        ("is/VBZ/ROOT *Muslim/NN/dobj/is", 1, 0),
        ("is/VBZ/ROOT a/DT/det/Muslim *Muslim/NN/attr/is", 1, 0),
    ],
)
def test_the_sense_that_a_parse_shows_comes_first(text, adjective, noun):
    word = token(text)
    found = [_order(SimpleNamespace(pos=pos), word, Syntax(word.doc)) for pos in ("adjective", "noun", "name", "title")]
    assert found == [adjective, noun, 0, -1]


def test_what_a_text_may_hold():
    texts = ("Mary ran", "mary ran", "Xyz ran", "It rained", "so she ran", "aged 30")
    assert [FINDER.may_change(text) for text in texts] == [True, False, False, False, True, False]
    age = RuleRewriter(load_lexicon("age"), mode="lexical").finder
    assert [finder.may_hold_age(text) for finder in (FINDER, age) for text in texts[-2:]] == [False, False, False, True]
    assert FINDER.possible("It rained") == Possible(frozenset(), frozenset(), returns=False)
    assert FINDER.possible("A woman saw a person") == Possible(frozenset(("woman", "neutral")), frozenset(), False)
    assert FINDER.possible("He saw a parent") == Possible(frozenset(("man", "neutral")), frozenset(("man",)), True)


def test_an_error_shows_a_word_at_the_start_of_a_text():
    rules = RuleRewriter(load_lexicon("gender"))
    (listed,) = rules.finder.listed("¬he left.")
    parse = SimpleNamespace(part=lambda spans: list(spans), last_token=lambda start, end: None)
    with pytest.raises(Unaligned, match=r"'he' cannot be .* in '¬he left\.'"):
        rules.finder.find("¬he left.", parse)
    assert listed.start == 1


@pytest.mark.parametrize(
    ("text", "beside", "before_place", "expected"),
    [
        ("*Miss Lee/NNP", near(after="Lee"), False, True),
        ("*Miss America/NNP", near(after="America"), False, False),
        ("*Miss Colombia/NNP", near(after="Colombia"), True, False),
        ("*Mr Lee/NNP", near(after="Lee"), True, True),
        ("*Mr . Lee/NNP", near(after="Lee", gap_after=". "), False, True),
        ("*Mr , Lee/NNP", near(after="Lee", gap_after=", "), False, False),
        ("*Mr and Lee/NNP", near(after="and"), False, False),
        ("*Mr . Holland/NNP 's Opus", near(after="Holland", gap_after=". "), False, False),
        ("*Lady Mayor/NNP", near(after="Mayor"), False, False),
        ("*Lady Ann/NNP", near(after="Ann"), False, True),
        ("*Lady left", near(after="left"), False, False),
        ("*Madam left", near(after="left"), False, True),
        ("*madam left", near(after="left"), False, False),
    ],
)
def test_a_title_is_that_of_a_person(text, beside, before_place, expected):
    word, title = token(text), SimpleNamespace(pos="title")
    parse = SimpleNamespace(precedes_place=lambda word: before_place)
    assert FINDER._has_sense(word.text, title, beside, word, parse) is expected


@pytest.mark.parametrize(
    ("text", "known", "is_place", "expected"),
    [
        ("We saw *Mary/NNP Lee/NNP", False, False, ["Mary"]),
        ("We saw *Mary/NNP Lee/NNP", True, False, []),
        ("We saw *Mary/NNP Lee/NNP", False, True, []),
        ("We saw *Mary/NNP left", False, False, []),
        ("We saw *lady/NN Lee/NNP", False, False, []),
        ("We saw *Parent/NN Lee/NNP", False, False, []),
        ("We saw *Mary/NNP Lee/NNP Memorial/NNP Library/NNP", False, False, []),
    ],
)
def test_a_name_that_is_no_mention_may_still_be_a_person_s(text, known, is_place, expected):
    word = token(text)
    parse = SimpleNamespace(at=lambda start: word if start == word.idx else None, is_place=lambda _: is_place)
    mentions = [SimpleNamespace(start=word.idx)] if known else []
    assert [one.found for one in FINDER.doubtful(word.doc.text, parse, mentions)] == expected
