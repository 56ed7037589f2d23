import pytest

from fairlab.lexicons import load_lexicon
from fairlab.rewriting.english.given_names import Neighbours, is_first_name, neighbours, piece_neighbours
from fairlab.rewriting.english.rules import RuleRewriter
from fairlab.rewriting.english.senses import _is_proper, _shows_person, name_may_stand, word_stands_beside
from fairlab.text.pipeline import parse


@pytest.mark.parametrize(
    ("before", "gap", "after", "other", "known", "expected"),
    [
        ("", "", "said", False, False, True),
        ("Mr", ". ", "said", False, False, False),  # Mr. James said
        ("Mr", ". ", "Smith", False, False, True),
        ("Uncle", " ", "said", False, False, True),
        ("LeBron", " ", "played", False, False, False),
        ("When", " ", "Smith", False, False, True),
        ("Sarah", " ", "Parker", False, True, True),  # a middle name
        ("in", " ", "was", True, False, False),  # in Paris was
        ("in", " ", "Hilton", True, False, True),
    ],
)
def test_first_names(before, gap, after, other, known, expected):
    beside = Neighbours(before, gap, after, " ")
    assert is_first_name(beside, other_sense=other, before_is_first=known) is expected


@pytest.mark.parametrize(
    ("word", "beside", "expected"),
    [
        ("Girls", Neighbours("Spice", " ", "sang", " "), True),
        ("Boy", Neighbours("the", " ", "Scouts", " "), True),
        ("Uncle", Neighbours("the", " ", "George", " "), False),
        ("Girls", Neighbours("the", " ", "sang", " "), False),
    ],
)
def test_a_capitalised_noun_is_part_of_a_name_after_or_before_one(word, beside, expected):
    assert _is_proper(word, beside, starts=False) is expected


@pytest.mark.parametrize(
    ("beside", "expected"),
    [
        (Neighbours("Russell", ' "', "Cartwright", '" '), False),  # Russell "Rusty" Cartwright
        (Neighbours("told", ' "', "Cartwright", " "), True),  # told "Rusty Cartwright" to go
        (Neighbours("told", ' "', "to", '" '), True),
        (Neighbours("Eve", " & ", "", ""), False),
    ],
)
def test_nicknames_in_quotes_and_firms_are_no_first_names(beside, expected):
    assert name_may_stand("Rusty", beside) is expected


def test_a_noun_after_a_title_or_a_first_name_is_a_surname():
    finder = RuleRewriter(load_lexicon("gender"), mode="lexical").finder
    found = finder.find_by_neighbours("Mr. King met a king. King met Mr. Bishop.")
    assert [(mention.found, mention.start) for mention in found] == [("Mr", 0), ("king", 15), ("King", 21), ("Mr", 30)]


def test_a_name_with_another_sense_needs_evidence_and_others_do_not():
    finder = RuleRewriter(load_lexicon("gender"), mode="lexical").finder
    found = finder.find_by_neighbours("They saw Sarah. They saw Florence. They saw Florence Nightingale.")
    assert [mention.start for mention in found if mention.sense.pos == "name"] == [9, 44]
    assert [word for word in ("Mary", "Uncle", "Walked") if finder.is_listed_name(word)] == ["Mary", "Uncle"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("They married Austin.", "They married Lee."),
        ("We hired Austin, and then we left.", "We hired Austin, and then we left."),  # perhaps the city
        ("They saw the Temple of Diana.", "They saw the Temple of Diana."),
        ("The car is Ann's", "The car is Morgan's"),
        ("The trip began at Helena, Texas.", "The trip began at Helena, Texas."),
    ],
)
def test_the_parse_shows_who_is_a_person(text, expected):
    assert RuleRewriter(load_lexicon("gender"))(text, "neutral") == expected


@pytest.mark.parametrize(
    ("text", "name", "sense", "expected"),
    [
        ("Grace smiled.", "Grace", "word", True),
        ("They need Hope now.", "Hope", "word", True),
        ("They need Hope now.", "Hope", "place", False),
        ("Hope is gone.", "Hope", "word", False),
    ],
)
def test_a_name_that_is_also_a_word_acts_or_has_a_capital_within_a_sentence(text, name, sense, expected):
    token = next(token for token in next(parse([text])) if token.text == name)
    beside = neighbours(text, token.idx, token.idx + len(name))
    assert _shows_person(sense, beside, token) is expected


@pytest.mark.parametrize(
    ("beside", "expected"),
    [
        (Neighbours("my", " ", "support", " "), False),
        (Neighbours("the", " ", "support", " "), False),  # child support
        (Neighbours("the", " ", "support", ", "), True),
        (Neighbours("my", " ", "left", " "), False),
        (Neighbours("the", " ", "left", " "), True),
    ],
)
def test_a_child_by_age_is_told_from_kin_by_its_neighbours(beside, expected):
    assert word_stands_beside("child", "noun", "kin", beside) is expected


@pytest.mark.parametrize(("noun", "expected"), [("man", True), ("friend", False), ("rivals", False), ("house", False)])
def test_an_old_friend_is_not_old(noun, expected):
    people = frozenset({"man", "friend", "rivals"})
    assert word_stands_beside("old", "adjective", "thing", Neighbours("an", " ", noun, " "), people) is expected


def test_neighbours_among_pieces_are_the_next_words_beyond_what_was_merged():
    pieces = ["Mary", " ", "met", ", ", "Ann"]
    assert piece_neighbours(pieces, 0) == Neighbours("", "", "met", " ")
    assert piece_neighbours(pieces, 2) == Neighbours("Mary", " ", "Ann", ", ")
    assert piece_neighbours(pieces, 4) == Neighbours("met", ", ", "", "")
    assert piece_neighbours(["Jeanne", "", "", " ", "came"], 0) == Neighbours("", "", "came", " ")
