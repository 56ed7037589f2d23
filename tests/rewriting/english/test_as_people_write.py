"""Sentences as mail, tables, papers, forums and headlines write them: every way of rewriting finds their words."""

import pytest

from fairlab.lexicons import load_lexicon
from fairlab.rewriting.english.casing import _thing_at, in_sentence_case, may_gain_capitals, read_cased
from fairlab.rewriting.english.rules import RuleRewriter
from fairlab.rewriting.english.word_swap import WordSwap

GENDER = load_lexicon("gender")
EVERYWHERE = [
    ("my mom/dad said", "my dad said"),
    ("the waitress/waiter left", "the waiter left"),
    ("king/queen", "king"),
    ("Dear Sir/Madam,", "Dear Sir,"),
    ("Dear Sir/Madam, I write to you.", "Dear Sir, I write to you."),
    ("Dear Madam / Sir,", "Dear Sir,"),
    ("Mr/Ms Smith came.", "Mr Smith came."),
    ("Mr./Mrs. Smith", "Mr. Smith"),
    ("Mr. or Mrs. Smith", "Mr. Smith"),
    ("A man or a woman may sign, and her name is kept.", "A man may sign, and his name is kept."),
    ("men and/or women", "men"),
    ("boy/girlfriend", "boyfriend"),
    ("he/she/they left", "he left"),
    ("she⁄he left", "he left"),
    ("Take 'her' bag.", "Take 'his' bag."),
    (r"\\textit{her} book", r"\\textit{his} book"),
    ("She left。Her bag is here。", "He left。His bag is here。"),
    ("3,She left her bag,4.5", "3,He left his bag,4.5"),
    ('12;"She left her bag";x', '12;"He left his bag";x'),
    ("•her bag", "•his bag"),
    ("She said that ¬she left.", "He said that ¬he left."),
    ("@maria she left http://x.org/her", "@maria he left http://x.org/her"),
    ("[b]She[/b] left [i]her[/i] bag", "[b]He[/b] left [i]his[/i] bag"),
    ("Woman Sues Hospital After Losing Her Husband", "Man Sues Hospital After Losing His Husband"),
    ("Local Girl Meets Her Hero", "Local Boy Meets His Hero"),
    ("Florida Man Arrested After Wife Calls Police", "Florida Man Arrested After Husband Calls Police"),
]


@pytest.mark.parametrize("mode", ["syntax", "lexical"])
def test_rules_turn_the_whole_person(mode):
    rules = RuleRewriter(GENDER, mode=mode)
    assert rules.rewrite_all([text for text, _ in EVERYWHERE], ["man"] * len(EVERYWHERE)) == [
        to for _, to in EVERYWHERE
    ]
    assert rules.unaligned == 0


def test_word_swap_turns_the_same_words():
    swap = WordSwap(GENDER)
    assert [swap(text, "man") for text, _ in EVERYWHERE] == [to for _, to in EVERYWHERE]


@pytest.mark.parametrize("mode", ["syntax", "lexical"])
def test_both_of_two_titles_become_one(mode):
    texts = ["Dear Sir/Madam, I write to you.", "Dear Sir or Madam,", "Mr./Mrs. Smith came."]
    made = RuleRewriter(GENDER, mode=mode).rewrite_all(texts, ["neutral"] * 3)
    assert made == ["Dear Friend, I write to you.", "Dear Friend,", "Mx. Smith came."]


@pytest.mark.parametrize("target", ["neutral", "child", "senior", "adult"])
@pytest.mark.parametrize("text", ["A 9-year-old boy ran.", "The 65-year-old man sat.", "Three months old"])
def test_old_in_an_age_is_no_adjective(text, target):
    age = load_lexicon("age")
    assert RuleRewriter(age, mode="lexical")(text, target) == text
    assert " ".join(WordSwap(age)(text, target).split()[:2]) == " ".join(text.split()[:2])


def test_alternatives_are_exchanged_one_by_one():
    assert RuleRewriter(GENDER).swap_all(["A man or a woman left."]) == ["A woman or a man left."]


def test_entity_mode_finds_a_person_beside_a_sign():
    assert RuleRewriter(GENDER).rewrite_entity("3;She left her bag", "She", "man") == "3;He left his bag"


def test_headlines_keep_the_capitals_of_names():
    read = read_cased("Senator Mary Smith Tells Florida She Will Leave Her Job").text
    assert read == "Senator Mary Smith tells Florida she will leave her job"
    for text in ("The Man Who Shot Liberty Valance", "She Left Her Job at once today"):
        assert read_cased(text).text == text


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("then thomas left", True),
        ("we left florence early", False),  # the city
        ("then florence miller left", True),
        ("we gave grace", False),  # a common word
    ],
)
def test_a_name_in_small_letters_that_is_also_a_place_or_a_word_needs_a_surname(text, expected):
    assert may_gain_capitals(text, ()) is expected


@pytest.mark.parametrize("text", ["we met the french nurse", "a christian woman and her son left"])
def test_a_text_in_small_letters_stays_in_small_letters(text):
    for axis, target in (("nationality", "german"), ("religion", "muslim")):
        assert RuleRewriter(load_lexicon(axis), mode="lexical")(text, target).islower()


@pytest.mark.parametrize(
    ("text", "right"),
    [
        ("A Muslim was here.", "A Jew was here."),
        ("This Christian prays daily.", "This Jew prays daily."),
        ("The Muslim, who wept, left.", "The Jew, who wept, left."),
        ("The Christian's house.", "The Jew's house."),
        ("A Christian woman prays.", "A Jewish woman prays."),
        ("The Christian faith is old.", "The Jewish faith is old."),
        ("Her Christian beliefs are firm.", "Her Jewish beliefs are firm."),
        ("He is Christian.", "He is Jewish."),
    ],
)
def test_an_adjective_that_is_a_noun_takes_the_form_of_a_noun(text, right):
    assert RuleRewriter(load_lexicon("religion"), mode="lexical")(text, "jewish") == right


def test_names_of_things_get_their_capitals_back():
    assert in_sentence_case("in baker street, he drank a bloody mary.") == "In Baker Street, he drank a Bloody Mary."


@pytest.mark.parametrize(
    ("text", "expected"), [("Then MARY left.", "Then MARCUS left."), ("The MAC left.", "The MAC left.")]
)
def test_a_name_in_capitals_is_no_acronym(text, expected):
    assert RuleRewriter(GENDER)(text, "man") == expected


def test_a_possessive_after_s_gets_its_own_s():
    rewriter = RuleRewriter(GENDER, mode="lexical")
    assert rewriter("I saw the actress' car.", "man") == "I saw the actor's car."
    assert rewriter("I saw the actress's car.", "man") == "I saw the actor's car."


@pytest.mark.parametrize(
    ("text", "gains"),
    [("will you", True), ("well. will you", True), ("well, will you", False), ("and will you", False)],
)
def test_a_listed_word_gains_a_capital_where_a_sentence_may_start(text, gains):
    assert may_gain_capitals(text, {"will"}) is gains


@pytest.mark.parametrize(
    ("text", "found"),
    [("by big ben, now", "Big Ben"), ("by big ben", "Big Ben"), ("by big bench now", ""), ("by the big, now", "")],
)
def test_a_thing_of_several_words_is_found_as_a_whole(text, found):
    assert _thing_at(text, 3, ["Big Ben"]) == found
