"""BLEU in both directions: by hand, and as LangFair 0.8.0 gives it."""

import pytest

from fairlab.metrics.bleu import symmetric_bleu


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        (
            "she told the doctor about her long day at work",
            "he told the nurse about his short day at home",
            0.06674094719041482,
        ),
        ("the old man sat in the park", "the young woman sat in the park with a dog", 0.2777619034011791),
        ("yes", "yes", 0.1778279410038923),
        ("a b", "b a", 0.1778279410038923),
        ("no word", "is shared", 0.0),
    ],
)
def test_as_langfair(first, second, expected):
    assert symmetric_bleu(first.split(), second.split()) == pytest.approx(expected, abs=1e-12)
    assert symmetric_bleu(second.split(), first.split()) == symmetric_bleu(first.split(), second.split())


def test_by_hand():
    assert symmetric_bleu("a b c d".split(), "a b c d".split()) == pytest.approx(1.0)
    # Of a b, two words and one pair are shared; lengths 3 and 4 have none, and count 0.1 of 1.
    assert symmetric_bleu(["a", "b"], ["a", "b"]) == pytest.approx((1 * 1 * 0.1 * 0.1) ** 0.25)
    assert symmetric_bleu(["a"], []) == symmetric_bleu([], []) == 0.0
