"""Replacements with the capitals, articles and endings around them."""

import pytest

from fairlab.rewriting.english.edits import apply_edits, say_once, starts_sentence
from fairlab.text.view import Edit


def edits(text, *changes):
    """Return the edits that replace words of a text, each found after the one before."""
    found, end = [], 0
    for old, new in changes:
        start = text.index(old, end)
        end = start + len(old)
        found.append(Edit(start, end, new))
    return found


@pytest.mark.parametrize(
    ("text", "changes", "expected"),
    [
        ("A man left.", [("man", "actor")], "An actor left."),
        ("AN ACTOR LEFT.", [("ACTOR", "MAN")], "A MAN LEFT."),
        ("a man", [("man", "woman")], "a woman"),
        ("a tall man", [("man", "actor")], "a tall actor"),
        # the ending of a possessive, and the mark that closes a quotation
        ("The actress' hat", [("actress", "actor")], "The actor's hat"),
        ("the 'actress' left", [("actress", "actor")], "the 'actor' left"),
        ("'actress' left", [("actress", "actor")], "'actor' left"),
        ("the man' left", [("man", "lord")], "the lord' left"),
        ("the man's hat", [("man", "ladies")], "the ladies' hat"),
        ("he's here", [("he", "they"), ("'s", "'re")], "they're here"),
        ("he's here or there", [("he", "they"), ("'s", "'re")], "they're here or there"),
        # a deleted word takes its space with it and leaves its capital
        ("An Asian doctor", [("Asian", "")], "A doctor"),
        ("Asian doctors sing.", [("Asian", "")], "Doctors sing."),
        ("They sing. Asian", [("Asian", "")], "They sing. "),
        ("the Asian doctor", [("Asian", "")], "the doctor"),
        ("It rained. Men left.", [("Men", "people")], "It rained. People left."),
        ("It rained; Men left.", [("Men", "people")], "It rained; people left."),
        ("It rained. men left.", [("men", "people")], "It rained. people left."),
        # alternatives that have become one word
        ("mom/dad left", [("mom", "dad")], "dad left"),
        ("dad/mom left", [("mom", "dad")], "dad left"),
        ("Dad or a mom left", [("mom", "dad")], "Dad left"),
        ("mom or dad left", [("mom", "parent"), ("dad", "parent")], "parent left"),
        ("mom and dad left", [("mom", "parent"), ("dad", "parent")], "parent and parent left"),
        ("mom or aunt left", [("mom", "dad"), ("aunt", "uncle")], "dad or uncle left"),
        ("mom/dad/parent left", [("mom", "dad"), ("parent", "dad")], "dad left"),
        ("mom/dad left or mom", [("mom", "dad"), ("dad", "dad"), ("mom", "dad")], "dad left or dad"),
        ("grandad or mom", [("mom", "dad")], "grandad or dad"),
        ("mom or daddy", [("mom", "dad")], "dad or daddy"),
    ],
)
def test_an_edit_fits_what_is_around_it(text, changes, expected):
    assert apply_edits(text, edits(text, *changes)) == expected


def test_edits_may_touch_but_not_overlap():
    assert apply_edits("abc", [Edit(1, 2, "y"), Edit(0, 1, "x")]) == "xyc"
    assert apply_edits("abc", [Edit(0, 2, "x"), Edit(1, 3, "y")]) == "xc"


@pytest.mark.parametrize(
    ("text", "word", "expected"),
    [
        ("Go now.", "Go", True),
        ("It rained. Go now.", "Go", True),
        ("It rained, Go now.", "Go", False),
        ('He said: "Go now."', "Go", True),
        ("It rained!) Go now.", "Go", True),
        ("It rained\nGo now.", "Go", True),
        ("It rained (Go", "Go", False),
        ("x Go now.", "Go", False),
    ],
)
def test_starts_of_sentences(text, word, expected):
    assert starts_sentence(text, text.index(word)) is expected


@pytest.mark.parametrize(
    ("text", "changes", "expected"),
    [
        ("a Chinese American", [("Chinese", "Swede"), ("American", "Swede")], [(2, 18, "Swede")]),
        ("Chinese-Americans", [("Chinese", "Swede"), ("Americans", "Swedes")], [(0, 17, "Swedes")]),
        ("Chinese, American", [("Chinese", "Swede"), ("American", "Swede")], [(0, 7, "Swede"), (9, 17, "Swede")]),
        ("a young, tall girl", [("young", "old"), ("girl", "old woman")], [(2, 7, "old"), (14, 18, "woman")]),
        ("a young, tall, big girl", [("young", "old"), ("girl", "old woman")], [(2, 7, "old"), (19, 23, "old woman")]),
        ("a young tall girl", [("young", "old"), ("girl", "aged woman")], [(2, 7, "old"), (13, 17, "aged woman")]),
        ("a young tall girl", [("young", "old"), ("girl", "old")], [(2, 7, "old"), (13, 17, "old")]),
    ],
)
def test_an_adjective_of_one_person_is_said_once(text, changes, expected):
    found = edits(text, *changes)
    assert say_once(text, found, {found[0].start}) == [Edit(*one) for one in expected]
    assert say_once(text, found, ()) == found


def test_two_words_for_one_person_become_one_after_other_words():
    text = "he met a Chinese American"
    he, *both = edits(text, ("he", "she"), ("Chinese", "Swede"), ("American", "Swede"))
    assert say_once(text, [he, *both], {both[0].start}) == [he, Edit(9, 25, "Swede")]
