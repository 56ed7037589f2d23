import pytest

from fairlab.text.surface_tokens import negations, surface_tokens


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("Don't stop; WON’T he?", ["do", "n't", "stop", "wo", "n't", "he"]),
        ("It's the dog's.", ["it", "s", "the", "dog", "s"]),
        ("naïve 3-year-olds", ["naïve", "3", "year", "olds"]),
        ("?!", []),
    ],
)
def test_tokens_by_hand(text, tokens):
    assert surface_tokens(text) == tokens


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("Nobody did not go.", 2),
        ("He fails to see, and she failed to; the failed plan.", 2),
        ("Nothing, never, no, none, nowhere, neither, nor, cannot, can't.", 9),
        ("A knot of notes, and an annotation.", 0),
    ],
)
def test_negations_by_hand(text, count):
    assert negations(surface_tokens(text)) == count
