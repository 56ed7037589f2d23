"""Words that may be perturbed, by hand, and equation 2."""

import random
from collections import Counter

import pytest
from scipy.stats import chi2

from fairlab.lexicons import load_lexicon
from fairlab.rewriting.english.coreference import Coreference
from fairlab.rewriting.english.mentions import MentionFinder
from fairlab.rewriting.perturbable_words import PerturbableWords, in_random_order, perturbability
from fairlab.types import FairlabError

LEXICONS = [load_lexicon(axis) for axis in ("gender", "race", "age")]
WORDS = {mode: PerturbableWords(LEXICONS, mode) for mode in ("syntax", "lexical")}
BOTH = pytest.mark.parametrize("mode", WORDS)


def found(mode, text):
    (selections,) = WORDS[mode].selections([text])
    return [(one.word, one.start, one.axis, one.source, one.target) for one in selections]


@BOTH
def test_k_holds_each_distinct_word_with_every_other_attribute_of_its_axis(mode):
    assert found(mode, "She lost her keys, and she wept.") == [
        ("She", 0, "gender", "woman", "neutral"),
        ("She", 0, "gender", "woman", "man"),
        ("her", 9, "gender", "woman", "neutral"),
        ("her", 9, "gender", "woman", "man"),
    ]
    assert [entry[0::4] for entry in found(mode, "An Asian doctor left.")] == [
        ("Asian", target) for target in ("black", "hispanic", "native-american", "pacific-islander", "white")
    ]


@BOTH
def test_a_word_of_two_axes_counts_on_both(mode):
    boy = found(mode, "A boy sang.")
    assert {(axis, source) for _, _, axis, source, _ in boy} == {("gender", "man"), ("age", "child")}


def test_an_age_is_a_word_of_the_axis_and_a_missing_form_is_no_target():
    assert found("syntax", "The nurse is 30 years old.") == [
        ("30", 13, "age", "young", target) for target in ("child", "middle-aged", "senior")
    ]  # an adult of no stated age has no figure
    assert found("syntax", "The bridge is 30 years old.") == []


@BOTH
def test_fields_that_kept_a_person_of_the_axis(mode):
    before = ["A man sang.", "A man slept.", "An Asian nurse left.", "It rained."]
    after = ["A woman sang.", *before[1:]]
    assert WORDS[mode].stayed(before, after, "gender") == ["A man slept."]


@BOTH
def test_pairs_of_both_and_set_phrases_are_no_words(mode):
    one_group = "A Hispanic or Latino doctor left."
    for text in ("Men and women marched.", "Ask him or her.", "An old friend called.", "Hong Kong grew.", one_group):
        assert found(mode, text) == [], text


@BOTH
@pytest.mark.parametrize(
    "text",
    [
        "It rained all day.",
        "They bought it because of its colour.",  # several, or things
        "A black car passed the white house.",
        "The surgeon wore pink.",  # proxies are no demographic words
        "Read `he` or <she> first.",
    ],
)
def test_what_is_no_perturbable_word(mode, text):
    assert found(mode, text) == []


@BOTH
def test_a_first_name_marks_gender_and_a_race_that_is_not_the_commonest(mode):
    assert {entry[2] for entry in found(mode, "John left.")} == {"gender"}
    assert {entry[2] for entry in found(mode, "Jamal left.")} == {"gender", "race"}


@BOTH
def test_neutral_nouns_count_only_where_no_word_is_gendered(mode):
    assert {(source, target) for _, _, _, source, target in found(mode, "My sibling left.")} == {
        ("neutral", "man"),
        ("neutral", "woman"),
    }
    assert {word for word, *_ in found(mode, "My sibling saw her.")} == {"her"}


def test_bad_values_are_one_sentence():
    with pytest.raises(FairlabError, match=r"augmentation\.mode must be syntax or lexical, not fast"):
        PerturbableWords(LEXICONS, "fast")
    with pytest.raises(FairlabError, match="each once"):
        PerturbableWords(LEXICONS[:1] * 2)


def test_perturbability_by_hand():
    texts = ["She met Hillary Clinton.", "It rained.", "", "The Asian girl and her sister sang."]
    words = perturbability(WORDS["lexical"], texts, m0=1.0, m1=1.0, entities=False)
    # She and Hillary of four words; Asian, girl (gender and age), her, sister of seven.
    assert words == [2 / 4, 0.0, 0.0, 5 / 7]
    with_entities = perturbability(WORDS["lexical"], texts[:2], m0=3.0, m1=0.5, entities=True)
    assert with_entities == [(3.0 * 1 + 0.5 * 2) / 4, 0.0]


@BOTH
def test_what_joins_the_fields_of_a_row_is_nobody(mode):
    joined, plain = (found(mode, f"the king of number 1 {sign} a good king") for sign in ("<SEP>", "/"))
    assert [one[:2] for one in joined] == [one[:2] for one in plain] != []


def test_rejection_draws_every_element_of_k_equally_often():
    # Listed but not in K: *Will*, a verb here, and *white*, which describes a house.
    (text,) = WORDS["syntax"].open(["Will the old man paint his white house for Mary?"])
    (expected,) = WORDS["syntax"].selections([text.view.original])
    assert {one.word for one in expected} == {"old man", "man", "his", "Mary"}
    draws = 6000
    found = Counter(text.selection(*text.draw(random.Random(seed))) for seed in range(draws))
    assert found.keys() == set(expected)
    statistic = sum((count - draws / len(expected)) ** 2 for count in found.values()) / (draws / len(expected))
    assert chi2.sf(statistic, len(expected) - 1) > 0.001


def test_a_draw_searches_and_links_once_on_each_axis_that_it_needs(monkeypatch):
    calls = Counter()
    find, link = MentionFinder.find, Coreference._read
    monkeypatch.setattr(MentionFinder, "find", lambda *given: calls.update(["find"]) or find(*given))
    monkeypatch.setattr(Coreference, "_read", lambda self: calls.update(["link"]) or link(self))
    (text,) = WORDS["syntax"].open(["He told his aunt that she was kind."])
    assert text.draw(random.Random(0)) is not None
    assert calls == {"find": 1, "link": 1}
    (alone,) = WORDS["syntax"].open(["The nurse is 30 years old."])
    assert alone.draw(random.Random(0)) is not None
    assert calls["link"] == 1  # a single mention needs no links


def test_a_random_order_has_every_item_once():
    orders = {tuple(in_random_order([1, 2, 3], random.Random(seed))) for seed in range(60)}
    assert len(orders) == 6
    assert {tuple(sorted(order)) for order in orders} == {(1, 2, 3)}


@BOTH
def test_words_in_quotations_and_beside_their_neutral_form(mode):
    assert {entry[0] for entry in found(mode, '"She left," they said.')} == {"She"}
    for text in ("Actors and actresses left.", "Actresses and actors left.", "The actors/actresses left."):
        assert found(mode, text) == []
    assert {entry[0] for entry in found(mode, "Actresses saw actors.")} == {"Actresses"}
