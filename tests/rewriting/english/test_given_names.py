import pytest

from fairlab.lexicons import load_lexicon
from fairlab.rewriting.english.given_names import (
    Neighbours,
    is_demonym,
    is_double_name,
    is_first_name,
    is_plainly_first_name,
    last_names,
    neighbours,
    piece_neighbours,
    whole_name,
    without_role,
)
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
        ("Sarah", " ", "Parker", True, True, False),
        ("Sarah", " ", "Parker", False, False, False),
        ("Uncle", ". ", "said", True, False, True),
        ("Uncle", ", ", "said", True, False, False),
        ("Lake", " ", "Smith", False, False, False),
        ("del", " ", "García", False, False, False),  # Maria del Carmen García
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
        ("GIRLS", Neighbours("Spice", " ", "sang", " "), False),  # of capitals alone
        ("X", Neighbours("Spice", " ", "sang", " "), True),
        ("Girls", Neighbours("", "", "Generation", "' "), True),
        ("Girls", Neighbours("", "", "generation", "' "), False),
        ("Queens", Neighbours("in", " ", "where", " "), True),
    ],
)
def test_a_capitalised_noun_is_part_of_a_name_after_or_before_one(word, beside, expected):
    assert _is_proper(word, beside, starts=False) is expected


def test_a_team_s_name_at_the_start_of_a_sentence_may_be_a_noun():
    assert not _is_proper("Queens", Neighbours("", "", "met", " "), starts=True)


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


@pytest.mark.parametrize(
    ("word", "beside", "expected"),
    [
        ("Ann", Neighbours("saw", " ", "left", " "), True),
        ("ANN", Neighbours("saw", " ", "left", " "), True),
        ("ann", Neighbours("saw", " ", "left", " "), False),
        ("IgE", Neighbours("saw", " ", "left", " "), False),
        ("Ann", Neighbours("saw", " ", "Street", " "), False),
        ("Ann", Neighbours("Hurricane", " ", "left", " "), False),
        ("Ann", Neighbours("Mrs", ". ", "left", " "), False),
        ("Ann", Neighbours("Mrs", ". ", "Lee", " "), True),
        ("Ann", Neighbours("saw", " ", "Bob", " & "), False),
        ("Henry", Neighbours("saw", " ", "VIII", " "), False),
        ("Henry", Neighbours("saw", " ", "VIII", ", "), True),
    ],
)
def test_neighbours_show_what_is_no_first_name(word, beside, expected):
    assert name_may_stand(word, beside) is expected


# Properties of a word's neighbours, by their initial letters.
KINDS = {
    "T": "follows_title",
    "n": "follows_name",
    "N": "precedes_name",
    "F": "follows_first_name",
    "t": "follows_thing",
    "P": "precedes_place",
}


@pytest.mark.parametrize(
    ("beside", "expected"),
    [
        (Neighbours("Mr", ". ", "said", " "), "T"),
        (Neighbours("mr", " ", "", ""), "T"),
        (Neighbours("Mr", " - ", "", ""), ""),
        (Neighbours("J", ". ", "", ""), "n"),
        (Neighbours("J", ".", "", ""), "n"),
        (Neighbours("J", ", ", "", ""), ""),
        (Neighbours("I", ". ", "", ""), ""),  # the pronoun
        (Neighbours("Sarah", " ", "Parker", " "), "nN"),
        (Neighbours("sarah", " ", "parker", " "), ""),
        (Neighbours("Sarah", ", ", "Parker", ", "), ""),
        (Neighbours("When", " ", "June", " "), ""),
        (Neighbours("", "", "de", " "), "N"),
        (Neighbours("", "", "de", "-"), ""),
        (Neighbours("", "", "Street", " "), "NP"),
        (Neighbours("", "", "Street", ", "), ""),
        (Neighbours("", "", "street", " "), ""),
        (Neighbours("Uncle", " ", "", ""), "nF"),
        (Neighbours("Uncle", ". ", "", ""), "F"),
        (Neighbours("Uncle", ", ", "", ""), ""),
        (Neighbours("uncle", " ", "", ""), ""),
        (Neighbours("The", " ", "", ""), "t"),
        (Neighbours("the", ". ", "", ""), "t"),
        (Neighbours("the", ", ", "", ""), ""),
        (Neighbours("hurricane", " ", "", ""), "t"),
        (Neighbours("San", " ", "", ""), "nt"),
        (Neighbours("san", " ", "", ""), ""),
    ],
)
def test_what_neighbours_show(beside, expected):
    assert "".join(letter for letter, kind in KINDS.items() if getattr(beside, kind)) == expected


def test_neighbours_in_a_text_are_at_most_forty_characters_away():
    long = 50 * "x"
    assert neighbours(f"{long} Ann {long}", 51, 54) == Neighbours(39 * "x", " ", 39 * "x", " ")
    assert neighbours("J. Ann", 3, 6) == Neighbours("J", ". ", "", "")
    after = [neighbours(f"{name} {other}", 0, 3).after for name in ("Ann", "ANN") for other in ("ISBN", "US", "Lee")]
    assert after == ["isbn", "US", "Lee", "ISBN", "US", "Lee"]  # an acronym is no surname


@pytest.mark.parametrize(
    ("pieces", "place", "other", "expected"),
    [
        ("Jean||Luc| |left", 2, False, None),
        ("Jean||Luc| |left", 0, False, None),
        ("Sarah| |Ann| |left", 2, False, False),
        ("Sarah|. |Ann| |left", 2, False, None),
        ("Sarah| |Ann| |Lee", 2, False, None),
        ("Sarah| |Ann| |de", 2, False, None),
        ("When| |Ann| |left", 2, False, None),
        ("Nurse| |Ann| |left", 2, False, None),
        ("Deputy| |Ann| |left", 2, False, None),
        ("Spaniard| |Ann| |left", 2, False, None),
        ("Sarah|, |Ann| |left", 2, False, True),
        ("the| |Ann| |left", 2, False, None),
        ("x| |Ann| |left", 2, False, None),
        ("saw| |Ann| |left", 2, False, True),
        ("saw| |Ann| |Street", 2, False, False),
        ("saw| |Ann| |June", 2, False, True),
        ("saw| |Hope| |June", 2, True, False),
        ("saw| |Hope| |Lee", 2, True, True),
        ("saw| |Hope|, |Lee", 2, True, False),
        ("Hope| |left", 0, True, False),
        ("Hope| |said", 0, True, None),
        ("Hope| |de", 0, True, None),
        ("saw| |Hope", 2, True, False),
        ("saw| |Ann", 2, False, True),
        ("Don|'|t| |go", 0, False, False),
        ("DON|’|T| |GO", 0, False, False),
        ("Don|'|s| |dog", 0, False, True),
    ],
)
def test_a_name_with_ordinary_neighbours_is_told_at_once(pieces, place, other, expected):
    assert is_plainly_first_name(pieces.split("|"), place, other_sense=other) is expected


def test_whole_names_have_the_parts_that_are_names():
    found = [
        whole_name(text, *span)
        for text, span in {
            "Jean-Luc left": (0, 4),
            "saw Jean-Luc": (9, 12),
            "Jean-Luc went": (5, 8),
            "Ann-Book": (0, 3),
            "x-Ann": (2, 5),
            "Ann Lee": (0, 3),
            "José Luis met": (0, 4),
            "Mary Ann-Book": (0, 4),
        }.items()
    ]
    assert found == [(0, 8), (4, 12), (0, 8), (0, 3), (2, 5), (0, 3), (0, 9), (0, 4)]
    pairs = "Mary Ann, John Ann, Juan Carlos, Will Carlos, Billy Joe, Grace Luis, Florence Ann, Book Ann, Ann Book"
    assert [pair for pair in pairs.split(", ") if is_double_name(*pair.split())] == [
        "Mary Ann",
        "Juan Carlos",
        "Billy Joe",
    ]


def test_a_word_after_a_first_name_is_a_surname():
    texts = [
        "Dan Okafor left.",
        "Dan J. Okafor left.",
        "Dan Okafor Arrives.",
        "Dan Okafor/Arrives.",
        "Uncle Dan, Big Ben",
        "Prince A. Okafor left.",
    ]
    assert [sorted(last_names(text)) for text in texts] == [["Okafor"], ["Okafor"], ["Okafor"], ["Okafor"], [], []]
    assert [sorted(last_names(text, whole=True)) for text in texts] == [["Okafor"], ["Okafor"], [], ["Okafor"], [], []]


def test_a_role_or_an_origin_before_a_name_is_no_part_of_it():
    words = "Deputy Spaniard Judge Virgin Sarah".split()
    kept = [without_role(Neighbours(word, " ", "left", " ")).before for word in words]
    assert kept == ["", "", "Judge", "Virgin", "Sarah"]
    assert [word for word in "Indian Asian Sebastian Italian Lesley".split() if is_demonym(word)] == [
        "Indian",
        "Italian",
    ]


def test_a_noun_after_a_title_or_a_first_name_is_a_surname():
    finder = RuleRewriter(load_lexicon("gender"), mode="lexical").finder
    found = finder.find_by_neighbours("Mr. King met a king. King met Mr. Bishop.")
    assert [(mention.found, mention.start) for mention in found] == [("Mr", 0), ("king", 15), ("King", 21), ("Mr", 30)]


def test_a_name_with_another_sense_needs_evidence_and_others_do_not():
    finder = RuleRewriter(load_lexicon("gender"), mode="lexical").finder
    found = finder.find_by_neighbours("They saw Sarah. They saw Florence. They saw Florence Nightingale.")
    assert [mention.start for mention in found if mention.sense.pos == "name"] == [9, 44]
    assert [word for word in ("Mary", "Uncle", "Walked") if finder.vocabulary.is_listed_name(word)] == ["Mary", "Uncle"]


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
        (Neighbours("have", " ", "left", " "), False),
    ],
)
def test_a_child_by_age_is_told_from_kin_by_its_neighbours(beside, expected):
    assert word_stands_beside("child", "noun", "kin", beside) is expected


@pytest.mark.parametrize(("noun", "expected"), [("man", True), ("friend", False), ("rivals", False), ("house", False)])
def test_an_old_friend_is_not_old(noun, expected):
    people = frozenset({"man", "friend", "rivals"})
    assert word_stands_beside("old", "adjective", "thing", Neighbours("an", " ", noun, " "), people) is expected


@pytest.mark.parametrize(
    ("word", "pos", "other", "beside", "expected"),
    [
        ("prince", "noun", "rank", Neighbours("the", " ", "left", " "), True),
        ("prince", "noun", "rank", Neighbours("the", " ", "doctor", " "), False),
        ("prince", "noun", "rank", Neighbours("the", " ", "doctor", ", "), True),
        ("prince", "adjective", "rank", Neighbours("the", " ", "left", " "), False),
        ("Koreans", "noun", "nation", Neighbours("two", " ", "left", " "), True),
        ("Koreans", "noun", "nation", Neighbours("two", " ", "doctors", " "), False),
        ("Korean", "noun", "nation", Neighbours("the", " ", "left", " "), False),
        ("Korean", "adjective", "nation", Neighbours("the", " ", "nurse", " "), True),
        ("Korean", "adjective", "nation", Neighbours("the", " ", "minister", " "), False),
        ("black", "adjective", "colour", Neighbours("the", " ", "minister", " "), True),
        ("black", "adjective", "colour", Neighbours("the", " ", "minister", ", "), False),
        ("black", "adjective", "colour", Neighbours("the", " ", "head", " "), False),
        ("old", "adjective", "thing", Neighbours("the", " ", "head", " "), True),
        ("black", "adjective", "colour", Neighbours("the", " ", "mate", " "), True),
    ],
)
def test_a_word_with_another_sense_is_told_by_its_neighbours(word, pos, other, beside, expected):
    assert word_stands_beside(word, pos, other, beside) is expected


def test_neighbours_among_pieces_are_the_next_words_beyond_what_was_merged():
    pieces = ["Mary", " ", "met", ", ", "Ann"]
    assert piece_neighbours(pieces, 0) == Neighbours("", "", "met", " ")
    assert piece_neighbours(pieces, 2) == Neighbours("Mary", " ", "Ann", ", ")
    assert piece_neighbours(pieces, 4) == Neighbours("met", ", ", "", "")
    assert piece_neighbours(["Jeanne", "", "", " ", "came"], 0) == Neighbours("", "", "came", " ")
    assert piece_neighbours(["met", " ", "", "", "Jean-Luc", " ", "left"], 4) == Neighbours("met", " ", "left", " ")
    assert piece_neighbours(["", "", "Ann", " ", "left"], 2) == Neighbours("", "", "left", " ")
