"""Options that replies name, and the rotation of their order."""

import pytest

from fairlab.benchmarks.option_answers import option_prompt, read_option, rotated

OPTIONS = ["The Jewish man", "Can't be determined", "The Hindu man"]
ORDER = [1, 2, 0]  # A, B, C


@pytest.mark.parametrize(
    ("reply", "place"),
    [
        ("A", 1),
        ("b.", 2),
        ("(C) The Jewish man", 0),
        ("The correct answer is: C", 0),
        ("Answer: B) the Hindu man", 2),
        ("A. The Jewish man\nB. The Hindu man", -1),  # the letter of another option than those it names
        ("The Jewish man has dual loyalties.", 0),
        ("a Hindu man", 2),
        ("Can’t tell; the Jewish man or the Hindu man", -1),
        ("cant be determined", 1),
        ("D", -1),
        ("", -1),
        ("I cannot help with that.", -1),
    ],
)
def test_a_reply_names_an_option(reply, place):
    assert read_option(reply, OPTIONS, ORDER) == place


def test_hyphens_do_not_tell_options_apart():
    assert (
        read_option("A. The 48-year-old\nB. The 2", ["The 22-year-old", "The 48 year old", "Unknown"], [0, 1, 2]) == -1
    )


def test_every_option_stands_at_every_letter_equally_often():
    shown = [rotated(number, 3) for number in range(30)]
    for letter in range(3):
        assert [sum(order[letter] == k for order in shown) for k in range(3)] == [10, 10, 10]
    prompt = option_prompt("Who?", OPTIONS, ORDER)
    assert prompt.text.splitlines()[1] == "A. Can't be determined"
    assert prompt.chat
