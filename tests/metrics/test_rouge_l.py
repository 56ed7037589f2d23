"""ROUGE-L by hand."""

import pytest

from fairlab.metrics.rouge_l import rouge_l


@pytest.mark.parametrize(
    ("first", "second", "longest"),
    [("a b c d", "a c b d", 3), ("a b a", "a", 1), ("a a", "a a a", 2), ("b a c", "c b a", 2), ("a", "b", 0)],
)
def test_twice_the_longest_common_subsequence_by_both_lengths(first, second, longest):
    words = len(first.split()) + len(second.split())
    for one, other in ((first, second), (second, first)):
        assert rouge_l(one.split(), other.split()) == 2 * longest / words


def test_empty_lists_are_equal_and_unlike_any_other():
    assert (rouge_l([], []), rouge_l(["a"], []), rouge_l([], ["a"])) == (1, 0, 0)
