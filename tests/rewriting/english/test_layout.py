"""Layout, markup, quoting, Unicode form and what stands around a text change no word that is turned."""

import json

import pytest

from experiments.rewriting import metamorphic
from fairlab.lexicons import load_lexicon
from fairlab.rewriting.biasers import BiaserRewriter
from fairlab.rewriting.english.casing import read_cased
from fairlab.rewriting.english.rules import RuleRewriter
from fairlab.rewriting.english.subgroup_swap import SubgroupSwap
from fairlab.rewriting.perturbable_words import PerturbableWords

SENTENCES = [
    "She told her brother that the waitress had lost her old photographs.",
    "Mary said that she was late, and her husband drove himself home.",
    "The chairman's wife asked whether he'd kept his promise to her.",
    'My aunt said: "I met him yesterday, and his daughter plays for her school."',
    "Ms. Jones is a widow who raised three sons by herself.",
    "He doesn't know that José and Zoë are her cousins.",
]
CASED = ("case: capitals", "case: small letters")
GENDER = load_lexicon("gender")


@pytest.fixture(scope="module")
def rewriters():
    return metamorphic.rewriters()


@pytest.mark.parametrize("way", [way for way in metamorphic.WAYS if way not in CASED])
def test_the_same_words_are_turned_however_a_text_is_written(way, rewriters):
    for name in ("syntax, gender to woman", "lexical, gender to neutral", "word_swap, gender to woman"):
        plainly = rewriters[name](SENTENCES)
        assert plainly != SENTENCES
        assert not metamorphic.differing(SENTENCES, rewriters[name], way, plainly)


@pytest.mark.parametrize("blank", ["  ", "\n", "\t", "\u00a0", "&nbsp;", " \u200b", "\r\n"])
def test_a_blank_of_any_kind_stays_where_it_is(blank, rewriters):
    for name in ("syntax, gender to woman", "lexical, gender to woman", "cda, gender exchanged"):
        plainly = rewriters[name](SENTENCES)
        made = rewriters[name]([text.replace(" ", blank) for text in SENTENCES])
        assert made == [text.replace(" ", blank) for text in plainly]


@pytest.mark.parametrize("write", [str.upper, str.lower])
def test_the_case_of_a_whole_text_changes_no_word(write):
    rules = RuleRewriter(GENDER)
    for text in SENTENCES[:3]:
        assert rules(write(text), "woman") == write(rules(text, "woman"))


@pytest.mark.slow
@pytest.mark.long
@pytest.mark.data
@pytest.mark.parametrize("name", ["syntax, gender to woman", "lexical, gender to neutral", "cda, gender exchanged"])
def test_real_text_is_turned_alike_however_it_is_written(name, rewriters):
    record = json.loads(metamorphic.RECORD.read_text(encoding="utf-8"))
    for kind, texts in metamorphic.texts(500, 100).items():
        plainly = rewriters[name](texts)
        for way in metamorphic.WAYS:
            wrong = metamorphic.differing(texts, rewriters[name], way, plainly)
            published = (1 - record[kind]["alike"][way][name]) * len(texts)
            assert len(wrong) <= published + 0.01 * len(texts), (way, wrong[:2])


def test_perturbable_words_have_their_places_in_the_original():
    text = "We kept <b>her</b>\nold photographs of&nbsp;her&nbsp;brother."
    found = PerturbableWords([GENDER]).selections([text])[0]
    assert {text[one.start : one.start + len(one.word)] for one in found} == {"her", "brother"}


def test_a_selected_word_is_found_behind_markup():
    text = "<p>He met&nbsp;Mary.</p>\n\n<p>She left.</p>"
    made = RuleRewriter(GENDER).rewrite_entity(text, text.index("Mary"), "man")
    assert "<p>He met&nbsp;" in made
    assert made.endswith("</p>\n\n<p>He left.</p>")


def test_copies_of_biasers_keep_markup():
    copies = BiaserRewriter(lexicon=load_lexicon("ethnicity")).copies(["A <b>German</b>\ndoctor."], mentions="first")
    assert "A <b>Nigerian</b>\ndoctor." in [copy.text for copy in copies[0]]


def test_a_subgroup_is_turned_behind_markup():
    lexicon = load_lexicon("gender")
    assert SubgroupSwap(lexicon).turned("<i>He</i>\nleft", "man", "woman").text == "<i>She</i>\nleft"


@pytest.mark.parametrize(
    ("text", "target", "made"),
    [
        ("s/he signs here", "woman", "she signs here"),
        ("(S)he signs", "man", "He signs"),
        ("Ask him/her or him/herself.", "man", "Ask him or himself."),
        ("If your husband/wife is ill", "man", "If your husband is ill"),
        ("Every boy or girl", "woman", "Every girl"),
        ("his or her turn", "neutral", "their turn"),
        ("The (wo)man left.", "man", "The man left."),
        ("A fe/male nurse and a (fe)male clerk left.", "man", "A male nurse and a male clerk left."),
        ("himself / herself", "woman", "herself"),
        ("she/they", "man", "he/they"),
        ("Dear Mr(s). Smith", "man", "Dear Mr. Smith"),
        ("Dear M(r)s. Smith", "neutral", "Dear Mx. Smith"),
    ],
)
def test_both_pronouns_become_the_one_asked_for(text, target, made):
    assert RuleRewriter(GENDER)(text, target) == made
    assert RuleRewriter(GENDER, mode="lexical")(text, target) == made


def test_a_short_label_in_capitals_is_read_as_it_stands():
    assert read_cased("US").text == "US"
    assert read_cased("MARY SAID THAT I WAS LATE.").text == "Mary said that I was late."


def test_a_verb_that_has_changed_begins_no_longer_term():
    assert RuleRewriter(GENDER, mode="lexical")("They step back.", "woman") == "She steps back."


@pytest.mark.parametrize("text", ["I don't know why they left.", "i don't know why they left."])
def test_a_contraction_is_no_name_in_small_letters(text):
    assert RuleRewriter(GENDER, mode="lexical")(text, "woman") == text.replace("they", "she")
