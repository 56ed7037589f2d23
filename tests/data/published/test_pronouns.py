import pytest

from fairlab.data.published.pronouns import by_pronouns, sentence_with_pronouns


def test_places_of_pronouns_leave_punctuation_out():
    male, female = by_pronouns('The cook said "he" lost (his) hat.', 'The cook said "she" lost (her) hat.')
    assert [male.text[start:end] for start, end in male.spans] == ["he", "his"]
    assert female.pronouns == ("she", "her")
    assert by_pronouns("He left.", "She left.")[0].pronouns == ("he",)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("he left", "he left"),  # nothing differs
        ("he left", "he left again"),
        ("he needed a desk", "she needed one desk"),  # more than the pronoun differs
        ("he saw his hat", "she saw him hat"),  # his and him are of one gender
        ("they left", "she left"),
        ("he left .", "she left !"),
        ("he has 7", "she has x"),
    ],
)
def test_anything_else_is_no_pair(first, second):
    assert by_pronouns(first, second) is None


def test_a_word_without_letters_is_no_pronoun():
    assert sentence_with_pronouns("a 7 b", [1]).spans == ()
