"""Words of an axis, their ages and their counterparts."""

from types import SimpleNamespace

import pytest

from fairlab.lexicons import load_lexicon
from fairlab.rewriting.english.vocabulary import Sense, Vocabulary

AGE, GENDER, RACE = (Vocabulary(load_lexicon(axis), 0) for axis in ("age", "gender", "race"))


@pytest.mark.parametrize(
    ("years", "attribute"),
    [(0, None), (1, "child"), (17, "child"), (18, "young"), (64, "middle-aged"), (65, "senior"), (119, "senior")],
)
def test_the_attribute_of_an_age(years, attribute):
    sense = AGE.age_sense(years)
    assert (sense and sense.attribute) == attribute


@pytest.mark.parametrize(
    ("years", "target", "words", "expected"),
    [
        (10, "young", [], 18),
        (70, "young", [], 44),
        (30, "young", [], 30),
        (70, "child", ["Toddler"], 3),
        (2, "child", ["kid"], 4),
        (70, "child", ["kid", "toddler"], 3),  # who cannot be both: the last word counts
        (70, "child", ["kid", "child"], 12),
        (2, "child", ["infant", "child"], 3),
        (70, "child", ["house"], 17),
    ],
)
def test_the_nearest_age_that_fits_the_words(years, target, words, expected):
    assert AGE.fitting_age(years, target, words) == expected


def test_of_two_words_that_share_one_age_the_age_fits_both():
    words = SimpleNamespace(figures={"x": (0, 100)}, ages={"young": (10, 20), "grown": (20, 30)})
    ages = [
        Vocabulary.fitting_age(SimpleNamespace(lexicon=words), years, "x", said)
        for years, said in ((50, ["young", "grown"]), (5, ["grown", "young"]))
    ]
    assert ages == [20, 20]


def test_a_name_stays_if_there_is_no_other():
    known = RACE.names["keith"]
    assert RACE._order("neutral", known) == []
    assert RACE.name("Keith", Sense(known.race, None), "neutral", ()) == "Keith"


def test_nouns_for_several_people():
    assert [AGE.people(target) for target in ("child", "senior")] == ["children", "seniors"]


def test_themselves_is_neutral():
    (sense,) = GENDER.senses["themselves"]
    assert (sense.attribute, sense.entry) == ("neutral", GENDER.pronouns["reflexive"])


@pytest.mark.parametrize(
    ("vocabulary", "name", "target", "count", "first"),
    [
        (GENDER, "desmond", "woman", 100, "Mary"),
        (RACE, "keith", "asian", 14, "Tuan"),
        (RACE, "latanya", "white", 100, "Mary"),
        (GENDER, "mary", "neutral", 30, "Alex"),
    ],
)
def test_names_are_drawn_from_the_most_frequent_ones(vocabulary, name, target, count, first):
    known = vocabulary.names[name]
    pool = vocabulary._pool(target, known)
    assert (len(pool), pool[0]) == (count, first)
    ordered = vocabulary._order(target, known)
    assert sorted(ordered) == sorted(pool)
    sense = Sense(vocabulary._attribute(known), None)
    assert vocabulary.name(known.name, sense, target, ()) == ordered[0]
    assert vocabulary.name(known.name, sense, target, [one.casefold() for one in ordered[:3]]) == ordered[3]
    assert vocabulary.name(known.name, sense, target, [one.casefold() for one in ordered]) == ordered[0]


def test_a_name_in_a_row_has_its_counterpart_unless_the_text_has_it():
    (sense,) = GENDER.senses["mary"]
    assert GENDER.name("Mary", sense, "man", ()) == "Marcus"
    assert GENDER.name("Mary", sense, "man", ("marcus",)) != "Marcus"
    assert GENDER.listed(sense) == "Mary"
    assert GENDER.listed(Sense("woman", None)) == ""
