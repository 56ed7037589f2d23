"""References, training pairs and comparisons of the perturbation page, told by hand."""

import random
import re

import pytest

from experiments.perturbation.human import by_stored, fits, kept, left_alone, quality, trap
from experiments.perturbation.pairs import between, clause, lower, spoiled, typo, unsigned, upper
from experiments.perturbation.references import attribute, lowered, references, told
from experiments.perturbation.tables import NEW, minus_rules, of_rewriter
from experiments.rewriting.labelled import Labelled
from fairlab.data.perturbation_pairs import PerturbationPair
from fairlab.lexicons import load_lexicon


@pytest.mark.parametrize(
    ("axis", "original", "perturbed", "expected"),
    [
        ("race", "Blacks never listen.", "Whites never listen.", ("Blacks", "white")),
        ("race", "African-Americans are tall.", "White Americans are tall.", ("African-Americans", "white")),
        ("race", "He met a white man.", "He met an Asian man.", ("white", "asian")),
        ("age", "Sam was 90 years old.", "Sam was 18 years old.", ("90", "young")),
        ("age", "The young boy ran.", "The old man ran.", ("young", "senior")),
        ("race", "Jamal left.", "John left.", None),  # nobody can tell which name was meant
        ("race", "black kids can", "white kids cannot", None),  # something else differs too
        ("race", "a black and a white man", "a white and a black man", None),  # two are turned
        ("age", "the old man", "the elderly man", None),  # nobody is
        ("age", "He is old.", "He is young and old.", None),
    ],
)
def test_a_reference_turns_one_attribute_into_another(axis, original, perturbed, expected):
    found = told(axis, original, perturbed)
    assert (found and (found.word, found.target)) == expected


def test_sides_stand_for_attributes():
    assert attribute("race", ["an", "Afro-American"]) == "black"
    assert attribute("age", ["Middle-aged", "people"]) == "middle-aged"
    assert attribute("age", ["12"]) == "child"
    assert attribute("age", ["200"]) is None
    assert attribute("race", []) is None


@pytest.mark.data
def test_halves_share_no_sentence_and_every_set_stands_in_lower_case_too(data_folder):
    development, held_out = references("development"), references("held out")
    sizes = {name: len(pairs) for name, pairs in held_out.items()}
    assert sizes["Winogender"] == 240
    assert sizes["CrowS-Pairs, gender"] == 112
    assert sizes["PANDA's card"] == 3
    for name, pairs in development.items():
        originals = {pair.original for pair in pairs}
        assert not originals & {pair.original for pair in held_out[name]}, name
    for name, pairs in list(held_out.items())[:6]:
        assert held_out[f"{name}, lower case"] == [lowered(pair) for pair in pairs]
        for pair in pairs:
            assert pair.original != pair.perturbed
            assert re.search(rf"(?<!\w){re.escape(pair.word)}", pair.original)


PAIR = PerturbationPair("Before supper, Anna saw her garden.", "Anna", "man", "Before supper, Adam saw his garden.")
DRAW = random.Random(0)


def test_both_sides_are_spoiled_alike():
    assert lower(PAIR, DRAW).perturbed == "before supper, adam saw his garden."
    assert upper(PAIR, DRAW).word == "ANNA"
    assert unsigned(PAIR, DRAW).original == "Before supper, Anna saw her garden"
    assert unsigned(unsigned(PAIR, DRAW), DRAW) is None
    assert clause(PAIR, DRAW) is None  # four words would be left
    long = PerturbationPair(f"{PAIR.original[:-1]} again.", "Anna", "man", f"{PAIR.perturbed[:-1]} again.")
    assert clause(long, DRAW) == PerturbationPair(
        "Anna saw her garden again.", "Anna", "man", "Adam saw his garden again."
    )
    slipped = typo(PAIR, DRAW)
    old, new = slipped.original.split(), slipped.perturbed.split()
    assert [(a, b) for a, b in zip(old, new, strict=True) if a != b] == [("Anna", "Adam"), ("her", "his")]
    assert slipped.original != PAIR.original
    assert slipped.word == "Anna"


def test_most_pairs_stay_and_what_is_done_depends_on_the_pair_alone():
    pairs = [PerturbationPair(f"{PAIR.original} {k}.", "Anna", "man", f"{PAIR.perturbed} {k}.") for k in range(300)]
    how = [spoiled(pair)[1] for pair in pairs]
    assert how == [spoiled(pair)[1] for pair in pairs]
    assert 120 <= how.count("as it was") <= 210
    assert 40 <= how.count("lower") <= 95
    assert {"upper", "unsigned", "typo"} <= set(how)


def test_a_pair_of_versions_is_told_the_first_word_that_differs():
    versions = {"man": "He left his boat.", "woman": "She left her boat.", "neutral": "They left their boat."}
    found = between(versions)
    assert versions[{"He": "man", "She": "woman"}[found.word]] == found.original
    assert {**versions, "non-binary": versions["neutral"]}[found.target] == found.perturbed != found.original
    assert between({"man": "A boat.", "neutral": "A red boat."}) is None  # only added to: no word to tell


@pytest.mark.parametrize(
    ("axis", "text", "word"),
    [
        ("age", "The house is 200 years old.", "200"),
        ("age", "The old car rusted.", "old"),
        ("race", "Victoria drove a black car.", "Victoria"),
        ("race", "A black car rusted.", "black"),
        ("gender", "They crown the Queen.", "Queen"),
    ],
)
def test_a_trap_asks_for_its_first_listed_word_with_another_attribute(axis, text, word):
    (pair,) = trap(axis, text)
    assert (pair.original, pair.word) == (text, word)
    assert pair.target in load_lexicon(axis).attributes
    assert {"black": "black", "Queen": "woman"}.get(word) != pair.target
    assert trap(axis, "Stones fell.") == []


def test_a_perturber_is_compared_with_the_rules_over_seeds_and_texts():
    found = {
        "rules": {"right": "1010", "left_alone": "0100"},
        f"{NEW} 42": {"right": "1110"},
        f"{NEW} 43": {"right": "1100"},
        "perturber, SmolLM2": {"right": "0000"},
    }
    change = minus_rules(found, "right", "a set")
    assert (change.difference, change.n) == (pytest.approx(100 * (3 / 4 + 2 / 4) / 2 - 100 * 2 / 4), 4)
    assert change.low < change.difference < change.high
    assert [one["right"] for one in of_rewriter(found, NEW)] == ["1110", "1100"]
    assert of_rewriter(found, "perturber, SmolLM2") == [{"right": "0000"}]


def test_stored_texts_are_found_again():
    stored = {"a set": {"pairs": [vars(PAIR)], "rules": [PAIR.perturbed.upper()]}}
    made = by_stored(stored, "rules", [PAIR])
    assert made == [PAIR.perturbed.upper()]


def test_quality_counts_what_was_made_and_says_what_capitals_cost():
    pairs = [PAIR, PAIR, PAIR]
    made = [PAIR.perturbed, PAIR.perturbed.lower(), None]
    found = quality(made, pairs)
    assert (found["exact"], found["but_for_capitals"], found["n"]) == (1, 2, 2)
    assert (found["right"], found["folded"]) == ("10", "11")
    assert left_alone([PAIR.original, PAIR.perturbed, None], pairs) == "100"
    assert quality([None], [PAIR]) is None


def test_earlier_figures_of_what_was_not_measured_stay():
    found = {"sets": {"a": {"rules": 1}}, "labelled": {"x": {}}}
    assert kept(found, {"sets": {"a": {"rules": 0, "AugLy": 2}, "b": {"AugLy": 3}}}) == {
        "sets": {"a": {"rules": 1, "AugLy": 2}},
        "labelled": {"x": {}},
    }


def test_a_labelled_sentence_in_lower_case_is_right_but_for_capitals():
    row = Labelled("A Black man left.", False, "asian", (0, 7), ("An Asian man left\\.",))
    assert fits(row, "An Asian man left.", lower=False)
    assert fits(row, "an asian man left.", lower=True)
    assert not fits(row, "an Asian man left.", lower=True)
    assert not fits(row, "a black man left.", lower=True)
