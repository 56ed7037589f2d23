import re

import pytest

from fairlab.rewriting.english.agreement import (
    article,
    is_bare_noun,
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
    assert plural_verb(verb)[1:] == "re"
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
        ("80-year-old", "an"),
        ("18", "an"),
        ("11", "an"),
        ("19", "a"),
    ],
)
def test_article(word, expected):
    assert article(word) == expected


@pytest.mark.parametrize(
    ("noun", "ending", "expected"),
    [
        ("actors", "'", "'"),
        ("ladies", "'s", "'"),
        ("Jane", "'", "'s"),
        ("James", "'s", "'s"),
        ("men", "'s", "'s"),
        ("James", "'", "'"),
        ("boss", "'s", "'s"),
        ("old ladies", "'s", "'"),
    ],
)
def test_possessive(noun, ending, expected):
    assert possessive(noun, ending) == expected


def test_third_person():
    words = ("walks", "is", "his", "as", "walk", "zorbs")
    assert [is_third_person(word) for word in words] == [True, True, False, False, False, False]


def test_bare_nouns_are_singular_and_neither_adverbs_nor_past_forms():
    words = "stone work back cut horses painting quickly".split()
    assert [word for word in words if is_bare_noun(word)] == ["stone", "work"]


@pytest.mark.parametrize(
    ("participle", "following", "expected"),
    [
        ("gone", "home", True),
        ("lost", "her", True),  # she's lost her keys
        ("lost", "in", False),
        ("given", "a", False),  # she's given a chance
        ("happy", "the", False),
        ("", "", False),
        ("zorbed", "her", False),  # no verb that is known
    ],
)
def test_has_or_is(participle, following, expected):
    assert takes_have(participle, following) is expected


LA = "la " * 11


@pytest.mark.parametrize(
    ("before", "after"),
    [
        # the verb after the pronoun, at most two adverbs away
        ("he IS late", "he ARE late"),
        ("he never really walks", "he never really walk"),
        ("he never ever also walks", "he never ever also walks"),
        ("he walked", "he walked"),
        ("he can walks", "he can walks"),
        ("he, walks", "he, walks"),
        ("he", "he"),
        # *'s* is *is* or *has*
        ("he's late", "he're late"),
        ("he’s late", "he’re late"),
        ("he's gone", "he've gone"),
        ("he's already gone", "he've already gone"),
        ("he's lost her", "he've lost her"),
        ("he's just lost her", "he've just lost her"),
        ("he's just lost", "he're just lost"),
        ("he'd gone", "he'd gone"),
        ("he's late and is glad", "he're late and are glad"),
        ("he's gone and walks home", "he've gone and walks home"),
        # the verb before the pronoun in a question
        ("is he late", "are he late"),
        ("and what is he", "and what are he"),
        ("dogs is he", "dogs is he"),
        ("is, he late", "is, he late"),
        ("dogs, is he late", "dogs, are he late"),
        ("John doesn't he", "John don't he"),
        ("doesn’t he", "doesn’t he".replace("doesn", "don")),
        ("where's he going", "where're he going"),
        ("where’s he going", "where’re he going"),
        # verbs joined to the first one
        ("he sings, and is glad", "he sing, and are glad"),
        ("he sings and is glad", "he sing and are glad"),
        ("he sings but is", "he sing but are"),
        ("he sings and", "he sing and"),
        ("he sings and never", "he sing and never"),
        ("he sings and-is glad", "he sing and-is glad"),
        ("he sings; or is glad", "he sing; or is glad"),
        ("he sings and dances", "he sing and dance"),
        ("he sings and often dances", "he sing and often dance"),
        ("he sings songs and dances", "he sing songs and dances"),
        ("he sings songs and eats the cake", "he sing songs and eat the cake"),
        ("he sings songs and often eats a cake", "he sing songs and often eat a cake"),
        (f"he sings {LA}and is glad", f"he sing {LA}and are glad"),
        (f"he sings {LA}la and is glad", f"he sing {LA}la and is glad"),
    ],
)
def test_verbs_agree_with_they(before, after):
    pieces = re.split(r"(\W+)", before)
    agree(pieces, pieces.index("he"), third_person=True)
    assert "".join(pieces) == after


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("they're late", "they's late"),
        ("they’ve gone", "they’s gone"),
        ("they'd gone", "they'd gone"),
        ("they quickly walk", "they quickly walks"),
        ("they apply", "they applies"),
        ("they walked", "they walked"),
        ("they sing", "they sings"),
        ("they singing", "they singing"),
        ("they need", "they needs"),
        ("they fell", "they fell"),
        ("are they late", "is they late"),
        ("don't they know", "doesn't they know"),
        ("why don’t they know", "why doesn’t they know"),
        ("do they walk", "does they walk"),
        ("and did they walk", "and did they walk"),
        ("can they walk", "can they walk"),
        ("couldn't they walk", "couldn't they walk"),
        ("as I do, they walk", "as I do, they walks"),
        ("as we do they walk", "as we do they walks"),
        ("they sing and dance", "they sings and dance"),
    ],
)
def test_verbs_agree_with_he(before, after):
    pieces = re.split(r"(\W+)", before)
    agree(pieces, pieces.index("they"), third_person=False)
    assert "".join(pieces) == after
