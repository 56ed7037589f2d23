"""What stands beside a sentence, in other paragraphs, cells or tags, does not change how it is rewritten."""

import pytest

from fairlab.lexicons import load_lexicon
from fairlab.rewriting.english.rules import RuleRewriter

LOWER = "stephen rea plays the boss , and he is late ."
NAMED = "Renato Dulbecco won the prize for his work."
AROUND = {
    "a paragraph before": "It rained.\n\n{}",
    "a paragraph after": "{}\n\nIt rained.",
    "mail": "Subject: news\n\n{}\n\n-- \nSent today",
    "a row of numbers": "17\t{}\t4.5",
    "tags at the end": "{} #herstory #news",
    "a list": "- {}\n- It rained.",
}


@pytest.fixture(scope="module", params=["syntax", "lexical"])
def rules(request):
    return RuleRewriter(load_lexicon("gender"), mode=request.param)


@pytest.mark.parametrize("way", AROUND)
@pytest.mark.parametrize("text", [LOWER, NAMED])
def test_what_stands_around_a_sentence_changes_nothing(rules, text, way):
    turned = rules(text, "woman")
    assert turned != text
    assert rules(AROUND[way].format(text), "woman") == AROUND[way].format(turned)


def test_each_paragraph_keeps_its_case(rules):
    assert rules("HE LEFT EARLY.\n\nHe said so.", "woman") == "SHE LEFT EARLY.\n\nShe said so."


def test_a_tab_within_a_sentence_is_a_blank(rules):
    assert rules("They read\ther\tletter aloud.", "man") == "They read\this\tletter aloud."


@pytest.mark.parametrize(
    ("text", "target", "right"),
    [
        ("Take (his/her) bag home.", "man", "Take (his) bag home."),
        ("Take (his/her) bag home.", "woman", "Take (her) bag home."),
        ("I told my boss (her) about it.", "man", "I told my boss (him) about it."),
        ("The woman's/man's shoes are wet.", "man", "The man's shoes are wet."),
        ("It is a man's or woman's job.", "woman", "It is a woman's job."),
        ("“She”left.", "man", "“He”left."),
        ("He was born here[citation\nneeded] and left.", "woman", "She was born here[citation\nneeded] and left."),
    ],
)
def test_words_in_brackets_and_alternatives(rules, text, target, right):
    assert rules(text, target) == right


def test_a_dropped_word_leaves_the_next_one_whole():
    rules = RuleRewriter(load_lexicon("gender"))
    text = "Female\nsitting in a chair."
    assert rules(text, "neutral").split() == ["Sitting", "in", "a", "chair."]
    assert rules("<i>Female</i> <i>sitting</i> there.", "neutral") == "<i></i> <i>Sitting</i> there."


def test_dashes_after_another_sign_do_not_hide_a_word(rules):
    assert rules("So he said;--he left at noon.", "woman") == "So she said;--she left at noon."


@pytest.mark.parametrize(
    "text",
    [
        "She met Dr. Norma Baker and Mrs. Stone.",
        "Then Helen L. Ellsworth left with Helen II of France and her sister.",
        "Yes, said Madam James, and she left.",
        "Lucy Cage wrote it, and Mary let her read.",
        "We saw it on Piazza San Marco and in Barnes and Noble with her.",
        "The case of Deputy Anne Norton was hers.",
    ],
)
@pytest.mark.parametrize("case", [str.upper, str.lower])
def test_names_in_a_text_of_one_case_are_found(rules, text, case):
    assert rules(case(text), "man").casefold() == rules(text, "man").casefold() != text.casefold()


@pytest.mark.parametrize("mode", ["syntax", "lexical"])
@pytest.mark.parametrize(
    ("text", "right"),
    [
        ("It rained for days. Old men came.", "It rained for days. Adult men came."),
        ("He left for years; old men came.", "He left for years; adult men came."),
        ("It took all day.\n\nOld men came.", "It took all day.\n\nAdult men came."),
        ("The bridge is thirty years old.", "The bridge is thirty years old."),
    ],
)
def test_a_unit_of_time_in_another_sentence_makes_no_age(mode, text, right):
    assert RuleRewriter(load_lexicon("age"), mode=mode)(text, "adult") == right


def test_a_noun_after_a_unit_of_time_is_turned():
    assert RuleRewriter(load_lexicon("gender"))("It rained all day. Man plays violin.", "woman").endswith(
        "Woman plays violin."
    )
