"""Which of the mentions of a text are rewritten, and to what."""

from types import SimpleNamespace

import pytest

from fairlab.rewriting.english.everybody import EITHER, Exchanged, WholeText
from fairlab.rewriting.english.mentions import Mention, Possible
from fairlab.rewriting.english.vocabulary import Sense


def mention(text, word, attribute, pos="pronoun", *, returns=True):
    """Return a mention of the first occurrence of a word; words of one part of speech share an entry."""
    start = text.index(word)
    return Mention(start, start + len(word), word, Sense(attribute, ENTRIES[pos]), None, returns)


ENTRIES = {pos: SimpleNamespace(pos=pos) for pos in ("pronoun", "noun")}
SWAP = Exchanged({"man": "woman", "woman": "man"})


@pytest.mark.parametrize(
    ("target", "attributes", "certain", "returns", "expected"),
    [
        ("man", {"woman"}, (), False, True),
        ("man", {"man"}, (), False, False),
        ("man", {"neutral"}, (), False, False),
        ("man", {"neutral"}, (), True, True),
        ("man", {"neutral", "man"}, {"man"}, True, False),
        ("neutral", {"neutral"}, (), True, False),
        ("neutral", {"man"}, (), False, True),
    ],
)
def test_a_text_may_have_a_mention_to_rewrite(target, attributes, certain, returns, expected):
    possible = Possible(frozenset(attributes), frozenset(certain), returns)
    assert WholeText(target).may_turn(possible) is expected


def test_a_swap_needs_a_word_of_either_attribute():
    possible = [Possible(frozenset(some), frozenset(), returns=True) for some in ({"man"}, {"neutral"}, ())]
    assert [SWAP.may_turn(one) for one in possible] == [True, False, False]
    text = "He met her aunt."
    found = [mention(text, "He", "man"), mention(text, "her", "woman"), mention(text, "aunt", "neutral", "noun")]
    assert SWAP(found, text, None) == [(found[0], "woman"), (found[1], "man")]
    assert [SWAP.is_told_by(some) for some in ([], found)] == [False, True]


@pytest.mark.parametrize(
    ("target", "pos", "expected"),
    [("man", "pronoun", True), ("neutral", "pronoun", False), ("neutral", "noun", True)],
)
def test_the_verbs_of_they_need_a_parse(target, pos, expected):
    assert WholeText(target).is_told_by([mention("She left.", "She", "woman", pos)]) is expected


def test_neutral_words_are_rewritten_if_no_word_marks_an_attribute():
    text = "They said she met a person."
    they, she, person = (
        mention(text, "They", "neutral"),
        mention(text, "she", "woman"),
        mention(text, "person", "neutral", "noun", returns=False),
    )
    parse = SimpleNamespace(at=lambda start: start, plural_people_before=lambda start: start > 0)
    assert WholeText("man")([they, she, person], text, parse) == [(she, "man")]
    assert WholeText("woman")([they, she, person], text, parse) == []
    assert WholeText("man")([they, person], text, parse) == [(they, "man")]
    assert WholeText("man")([person, they], text, parse) == []  # after several people
    assert WholeText("man")([they], text, None) == []
    assert WholeText("neutral")([they, she], text, parse) == [(she, "neutral")]


@pytest.mark.parametrize(
    ("text", "words", "expected"),
    [
        ("He or she left.", {"He": "man", "she": "woman"}, [(0, 9, "She", EITHER)]),
        ("He or him left.", {"He": "man", "him": "man"}, [(0, 2, "He", "man"), (6, 9, "him", "man")]),
        ("He and she left.", {"He": "man", "she": "woman"}, [(0, 2, "He", "man"), (7, 10, "she", "woman")]),
        (
            "He saw him or her.",
            {"He": "man", "him": "man", "her": "woman"},
            [(0, 2, "He", "man"), (7, 17, "her", EITHER)],
        ),
        ("he/she/xe left.", {"he": "man", "she": "woman", "xe": "x"}, [(0, 6, "she", EITHER), (7, 9, "xe", "x")]),
    ],
)
def test_alternatives_are_one_mention(text, words, expected):
    found = [mention(text, word, attribute) for word, attribute in words.items()]
    turned = WholeText("other")(found, text, None)
    assert [(one.start, one.end, one.found, one.sense.attribute) for one, _ in turned] == expected
