"""Controls: as many words change, and no person."""

import pytest

from fairlab.audit.control import changed_words, control_of
from fairlab.audit.pairs import make_pairs
from fairlab.lexicons import load_lexicon
from fairlab.lexicons.names import find_name
from fairlab.rewriting.perturbable_words import PerturbableWords

TEXTS = [
    ["Mary is a big fan, and she began to help."],
    ["The waiter often said that he was very quick."],
    ["Her brother got a small film role."],
]


def test_a_name_becomes_one_of_the_same_gender_and_race():
    (made,), count = control_of(["Mary left."], ["John left."], "key")
    name = find_name(made.split()[0])
    assert (name.gender, name.race, count) == (find_name("Mary").gender, find_name("Mary").race, 1)
    assert name.name != "Mary"


def test_words_become_synonyms():
    (made,), count = control_of(["He has a big house."], ["She has a big house."], "key")
    assert (made, count) == ("He has a large house.", 1)


def test_a_text_without_either_gets_an_opener():
    (made,), _ = control_of(["He sat."], ["She sat."], "key")
    assert made.endswith(", he sat.")


def test_a_field_that_does_not_change_stays():
    made, _ = control_of(["He sat.", "A big house."], ["She sat.", "A big house."], "key")
    assert made[1] == "A big house."


@pytest.mark.parametrize("axis", ["gender", "age"])
def test_controls_keep_the_attributes_of_a_text(axis):
    words = PerturbableWords([load_lexicon(axis)], "lexical")
    for pair in make_pairs(TEXTS, axis, mode="lexical").pairs:
        before, after, control = (words.attributes(side[0]) for side in (pair.before, pair.after, pair.control))
        assert control == before != after
        assert pair.control != pair.before


def test_changed_words_are_counted():
    assert changed_words("She saw her cat.", "He saw his cat.") == 2
    assert changed_words("same", "same") == 0
