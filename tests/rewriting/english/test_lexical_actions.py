"""Actions on words without a parse: what a table lists, and how pieces of a text are joined."""

import re
from types import SimpleNamespace

import pytest

from fairlab.lexicons import load_lexicon
from fairlab.rewriting.english.lexical import LexicalRules
from fairlab.rewriting.english.lexical_actions import (
    TextWords,
    join_alternatives,
    join_name,
    longer_terms,
    say_alternatives_once,
)
from fairlab.rewriting.english.pieces import piece_spans
from fairlab.rewriting.english.vocabulary import Vocabulary

RULES, KEEPING = (
    LexicalRules(Vocabulary(load_lexicon("gender"), 0), swap_names=swap, keep_quotations=False)
    for swap in (True, False)
)
TABLES = {target: RULES.actions.table(lambda _, target=target: target) for target in ("man", "woman", "neutral")}


@pytest.mark.parametrize(
    ("target", "word", "kind", "new"),
    [
        ("man", "She", "plain", "He"),
        ("man", "SHE", "plain", "HE"),
        ("man", "her", "ambiguous", "man"),
        ("man", "they", "subject", "he"),
        ("man", "them", "plain", "him"),
        ("man", "themselves", "plain", "himself"),
        ("man", "Mary", "name", ""),
        ("man", "man", "same", ""),
        ("man", "Mrs", "title", "Mr"),
        ("woman", "MAN", "word", "WOMAN"),
        ("neutral", "she", "subject", "they"),
        ("neutral", "himself", "plain", "themself"),
        ("neutral", "man", "word", "person"),
    ],
)
def test_the_action_on_a_word(target, word, kind, new):
    action = TABLES[target].actions[word]
    assert (action.kind, action.new) == (kind, new)


def test_names_and_titles_in_small_letters_and_kept_names_have_no_action():
    assert not {"mary", "mrs"} & TABLES["man"].actions.keys()
    assert not {"they", "person"} & TABLES["neutral"].actions.keys()
    assert "Mary" not in KEEPING.actions.table(lambda _: "man").actions
    # nor have names of the target, and neutral nouns that do not become words of an attribute
    assert not {"Marcus", "server"} & TABLES["man"].actions.keys()


def test_what_a_table_says_of_a_word():
    actions = TABLES["man"].actions
    half = actions["half"]  # of *half sister*
    assert (half.kind, half.longer, half.neutral, half.other_sense) == ("", True, False, False)
    parent = actions["parent"]
    assert (parent.new, parent.longer, parent.neutral, parent.noun) == ("father", True, True, "")
    assert [actions[name].other_sense for name in ("Hope", "Mary")] == [True, False]
    names = TABLES["woman"].actions
    assert names["Desmond"] is names["Keith"]  # names that are treated alike share one action
    assert {"lady", "Sir"} <= RULES.actions.several
    assert not {"mother", "woman"} & RULES.actions.several
    assert {"mary", "mrs"} <= RULES.capitalised
    assert "man" not in RULES.capitalised


def test_longer_terms_come_first():
    vocabulary = SimpleNamespace(senses=["a bbbbbbbb", "a", "a b c"])
    assert longer_terms(vocabulary) == {"a": [(("a", "b", "c"), "a b c"), (("a", "bbbbbbbb"), "a bbbbbbbb")]}


def test_words_of_a_text_are_whole():
    words = TextWords("Anna met Bob")
    assert [word in words for word in ("ann", "anna", "bob", 5)] == [False, True, True, False]


def test_a_table_knows_which_words_change():
    table = TABLES["man"]
    assert [word for word in ("she", "man", "they", "in") if word in table.changing] == ["she", "they"]
    assert [word for word in ("she", "they", "them") if word in table.neutral] == ["they", "them"]
    texts = ("a man left", "she left", "half a mile", "half brother")
    assert [table.is_idle(text.split(), RULES.longer) for text in texts] == [True, False, True, False]


def pieces_of(text):
    return re.split(r"(\W+)", text)


@pytest.mark.parametrize(
    ("text", "hit", "expected"),
    [
        ("a dad/dad left", 2, "a dad left"),
        ("a dad/dad left", 4, "a dad left"),
        ("a dad or dad left", 2, "a dad left"),
        ("a dad or dad left", 6, "a dad left"),
        ("a dad and/or Dad left", 8, "a dad left"),
        ("a dad or a dad left", 2, "a dad left"),
        ("a dad or a dad left", 8, "a dad left"),
        ("a dad and dad left", 2, "a dad and dad left"),
        ("a dad or mom left", 2, "a dad or mom left"),
    ],
)
def test_equal_alternatives_are_said_once(text, hit, expected):
    pieces = pieces_of(text)
    say_alternatives_once(pieces, [hit])
    assert "".join(pieces) == expected
    assert len(pieces) == len(pieces_of(text))


@pytest.mark.parametrize(
    ("text", "place", "joined"),
    [
        ("saw Mary-Jane", 2, ["saw", " ", "Mary-Jane", "", ""]),
        ("saw Mary-Jane", 4, ["saw", " ", "", "", "Mary-Jane"]),
        ("Mary-Jane left", 0, ["Mary-Jane", "", "", " ", "left"]),
        ("saw Mary-Book", 2, None),
        ("saw x-Mary", 4, None),
    ],
)
def test_parts_of_a_hyphenated_name_are_joined(text, place, joined):
    pieces = pieces_of(text)
    assert join_name(pieces, place) is (joined is not None)
    assert pieces == (joined or pieces_of(text))


@pytest.mark.parametrize(
    ("text", "hits", "left", "places"),
    [
        ("he or she left", [0, 4], "she left", [0]),
        ("He/she left, he/she sat", [0, 2, 6, 8], "She left, she sat", [0, 4]),
        ("he and she left", [0, 4], "he and she left", [0, 4]),
        ("he or he left", [0, 4], "he or he left", [0, 4]),
        ("man or woman left", [0, 4], "woman left", [0]),
        ("man or aunt left", [0, 4], "man or aunt left", [0, 4]),
    ],
)
def test_the_second_of_two_alternatives_is_kept(text, hits, left, places):
    pieces = pieces_of(text)
    spans = piece_spans(pieces)
    assert join_alternatives(pieces, spans, hits, TABLES["neutral"].actions) == places
    assert "".join(pieces) == left
    assert len(spans) == len(pieces)
    assert "".join(text[start:end] for start, end in spans) == text
