import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairlab.lexicons import load_lexicon
from fairlab.rewriting.english.word_swap import WordSwap

SWAP = WordSwap(load_lexicon("gender"))


@pytest.mark.parametrize(
    ("text", "target", "expected"),
    [
        ("He told his mother.", "woman", "She told her mother."),
        ("He told his mother.", "man", "He told his father."),
        ("He told his mother.", "neutral", "They told their parent."),
        ("SHE LEFT", "man", "HE LEFT"),
        ("Her father-in-law's hat", "man", "His father-in-law's hat"),
        ("My mother-in-law, Mary, smiled.", "man", "My father-in-law, Marcus, smiled."),
        ("The policewoman and the waitress", "neutral", "The police officer and the server"),
        ("Nothing to see in the fatherland.", "woman", "Nothing to see in the fatherland."),
        ("mail her@home.org", "man", "mail her@home.org"),
        ("A man met a boy/girl.", "man", "A man met a boy."),
        ("Mrs/Mr Smith came.", "woman", "Mrs Smith came."),
        ("Mr/Mrs Smith came.", "woman", "Mrs Smith came."),
        ("I saw her.", "man", "I saw his."),  # a word list sees no syntax
        ("", "man", ""),
    ],
)
def test_swapping(text, target, expected):
    assert SWAP(text, target) == expected


UNAMBIGUOUS = [
    "he",
    "Mother",
    "FATHER",
    "daughter",
    "king",
    "queen",
    "the",
    "old",
    ",",
    "house",
    "uncle",
    "brother-in-law",
]


@given(st.lists(st.sampled_from(UNAMBIGUOUS), max_size=10), st.sampled_from(["man", "woman", "neutral"]))
def test_swapping_twice_changes_nothing_more(words, target):
    once = SWAP(" ".join(words), target)
    assert SWAP(once, target) == once


@given(st.lists(st.sampled_from(["he", "FATHER", "son", "king", "the", "old", ",", "house", "uncle"]), max_size=10))
def test_there_and_back_is_the_identity_on_unambiguous_words(words):
    text = " ".join(words)
    assert SWAP(SWAP(text, "woman"), "man") == text


def test_both_words_of_two_alternatives_are_swapped():
    assert SWAP.swap("A man or a woman left.") == "A woman or a man left."
    assert [SWAP.marked(text) for text in ("She left.", "It left.")] == [True, False]
