import pytest

from fairlab.lexicons import load_lexicon
from fairlab.rewriting.english.rules import RuleRewriter

WRITTEN = {
    "José Luis said that he was late.": "Mayra said that she was late.",
    "José Luis García lost his keys.": "Mayra García lost her keys.",
    "Jürgen lost his keys.": "Doris lost her keys.",
    "It rained.\n\njosé lost his keys on the way.": "It rained.\n\nmayra lost her keys on the way.",
}


@pytest.mark.parametrize("text", WRITTEN)
def test_a_name_is_replaced_as_a_whole(text: str) -> None:
    assert RuleRewriter(load_lexicon("gender"), mode="lexical")(text, "woman") == WRITTEN[text]
