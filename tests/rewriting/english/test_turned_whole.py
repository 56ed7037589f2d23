"""Words that show whether a person can be turned as a whole, in parses that are written by hand."""

from types import SimpleNamespace

import pytest

from fairlab.rewriting.english.one_person import People
from tests.rewriting.english.trees import token


def mention(token, pos):
    sense = SimpleNamespace(pos=pos, attribute="man")
    return SimpleNamespace(token=token, start=token.idx, found=token.text, sense=sense)


def named(start, found, pos="pronoun", attribute="man"):
    sense = SimpleNamespace(pos=pos, attribute=attribute)
    return SimpleNamespace(start=start, end=start + len(found), found=found, sense=sense)


JO, AL = named(20, "Jo", "name"), named(30, "Al", "name")


@pytest.mark.parametrize(
    ("word", "chain", "doubtful", "expected"),
    [
        # a pronoun with an attribute shows that a doubtful word of its person is a name
        (named(5, "he"), {5, 20}, [JO, AL], {5, 20}),
        (named(5, "they", attribute="neutral"), {5, 20}, [JO], {5}),
        (named(5, "man", "noun"), {5, 20}, [JO], {5}),
        # a name that is repeated is the same person's
        (named(5, "Jo", "name"), {5}, [JO, AL], {5, 20}),
    ],
)
def test_words_of_doubtful_sense_are_a_person_s_if_something_shows_it(word, chain, doubtful, expected):
    people = SimpleNamespace(
        mentions=[word], doubtful=doubtful, coreference=SimpleNamespace(marked_with=lambda start: chain)
    )
    assert {one.start for one in People.mentions_at(people, 5)} == expected


def test_a_pronoun_of_another_person_shows_nothing_and_a_repeated_name_is_one_person_s():
    other, again = named(9, "he"), named(40, "Jo", "name")
    people = SimpleNamespace(
        mentions=[named(5, "Jo", "name"), other, again],
        doubtful=[AL],
        coreference=SimpleNamespace(marked_with=lambda start: {5, 30}),
    )
    assert {one.start for one in People.mentions_at(people, 5)} == {5, 40}


def test_a_single_mention_needs_no_coreference():
    alone = named(0, "he")
    assert People.mentions_at(SimpleNamespace(mentions=[alone], doubtful=[]), 0) == [alone]


@pytest.mark.parametrize(
    ("text", "pos", "expected"),
    [
        ("the *Scott/NNP Parkin/NNP case he/PRP", "pronoun", True),
        ("*Scott/NNP Parkin/NNP case he/PRP", "pronoun", True),
        ("the *Scott/NNP case he/PRP", "pronoun", False),
        ("the *Scott/NNP Street/NNP he/PRP", "pronoun", False),
        ("Mr/NNP *Scott/NNP Parkin/NNP he/PRP", "pronoun", False),
        ("the *Scott/NNP Parkin/NNP case he/PRP", "noun", False),
    ],
)
def test_a_pronoun_may_mean_a_full_name_that_stays(text, pos, expected):
    name = token(text)
    people = SimpleNamespace(_token=lambda start: name)
    own = [mention(one, pos) for one in name.doc if one.text == "he"]
    assert People._has_unknown_name_nearby(people, [(name.idx, name.text)], own) is expected


def showing(text, own, *, gendered=True, person="same", senses=(), other=None):
    """Return whether the word with a star may show the attribute of the person of the word ``own``."""
    word = token(text)
    mine = next(one for one in word.doc if one.text == own)
    lexicon = SimpleNamespace(polysemous={word.lower_: other} if other else {})
    vocabulary = SimpleNamespace(senses={word.lower_: [SimpleNamespace(pos=pos) for pos in senses]}, lexicon=lexicon)
    meant = {word.idx: person, mine.idx: "same"}
    people = SimpleNamespace(
        text=word.doc.text,
        gendered=gendered,
        finder=SimpleNamespace(vocabulary=vocabulary),
        _token=lambda start: word,
        coreference=SimpleNamespace(at=meant.get),
    )
    return bool(People._shows(people, word.idx, word.text, [mention(mine, "pronoun")]))


@pytest.mark.parametrize(
    ("text", "own", "settings", "expected"),
    [
        # a word that is also a noun shows gender in its own sentence, unless it is a surname
        ("she saw *King/NN", "she", {"senses": ["noun"]}, True),
        ("she saw *white/JJ", "she", {"senses": ["noun"], "gendered": False}, False),
        ("she saw Ann/NNP *King/NN", "she", {"senses": ["noun"], "other": "surname"}, False),
        ("she saw Mr *King/NN", "she", {"senses": ["noun"], "other": "surname"}, False),
        ("she saw old *King/NN", "she", {"senses": ["noun"], "other": "surname"}, True),
        ("she saw Ann/NNP *King/NN", "she", {"senses": ["noun"], "other": "rank"}, True),
        # a name is the person's if it equals their own or refers to them, and is no surname
        ("Eva saw *eva/NN", "Eva", {"senses": ["name"], "person": None}, True),
        ("she saw *Eva/NNP", "she", {"senses": ["name"]}, True),
        ("she saw *Eva/NNP", "she", {"senses": ["name"], "person": None}, False),
        ("she saw *Eva/NNP", "she", {"senses": ["name"], "person": "another"}, False),
        ("she saw Ann/NNP *Eva/NNP", "she", {"senses": ["name"]}, False),
        ("she saw Ann/NNP *Eva/NNP Lee/NNP", "she", {"senses": ["name"]}, True),
        ("she saw Ann/NNP *Eva/NNP left/VBD", "she", {"senses": ["name"]}, False),
    ],
)
def test_a_word_that_stays_may_show_the_attribute_of_a_person(text, own, settings, expected):
    assert showing(text, own, **settings) is expected
