from typing import Literal

import pytest

from fairlab.lexicons import load_lexicon
from fairlab.rewriting.english.rules import RuleRewriter

WRITTEN = {
    "José Luis said that he was late.": "Mayra said that she was late.",
    "José Luis García lost his keys.": "Mayra García lost her keys.",
    "Jürgen lost his keys.": "Doris lost her keys.",
    "The Thomas Bridge fell.": "The Thomas Bridge fell.",
    "It rained.\n\njosé lost his keys on the way.": "It rained.\n\nmayra lost her keys on the way.",
}


BOTH_MODES = {
    "Ana María López lost her keys.": "Sione López lost his keys.",
    "Mary Ann lost her keys.": "Marcus lost his keys.",
    "Fatima and Priya saw Ayşe.": "Ibrahim and Rahul saw Keith.",
    "we saw deborah yesterday.": "we saw kirk yesterday.",
}


@pytest.mark.parametrize("mode", ["syntax", "lexical"])
@pytest.mark.parametrize("text", BOTH_MODES)
def test_both_modes_replace_a_name_as_a_whole(text: str, mode: Literal["syntax", "lexical"]) -> None:
    assert RuleRewriter(load_lexicon("gender"), mode=mode)(text, "man") == BOTH_MODES[text]


@pytest.mark.parametrize("text", WRITTEN)
def test_a_name_is_replaced_as_a_whole(text: str) -> None:
    assert RuleRewriter(load_lexicon("gender"), mode="lexical")(text, "woman") == WRITTEN[text]


def test_a_name_joined_by_a_hyphen_shows_a_person_so_that_neutral_words_stay() -> None:
    assert RuleRewriter(load_lexicon("gender"), mode="lexical")("They met Chapman-Will there.", "woman") == (
        "They met Chapman-Will there."
    )


def test_names_of_several_words_are_kept_on_request() -> None:
    kept = RuleRewriter(load_lexicon("gender"), mode="lexical", names="keep")
    assert kept("He met Jean-Luc.", "woman") == "She met Jean-Luc."
    assert RuleRewriter(load_lexicon("gender"), mode="lexical")("They met jean-luc.", "woman") == "They met jean-luc."


def test_a_possessive_before_a_capital_is_part_of_a_name() -> None:
    rewriter = RuleRewriter(load_lexicon("gender"))
    assert rewriter("Girls' Generation sang.", "man") == "Girls' Generation sang."
    assert rewriter("Girls' voices sang.", "man") == "Boys' voices sang."
