"""The figures of the page on two causal language models."""

import numpy as np

from experiments.causal_lm.tables import difference, differences, preferred, speed
from fairlab.record import Comparison

PLAIN = np.array([-10.0, -11.0, -20.0, -19.0])  # margins 1 and -1
OTHER = np.array([-9.5, -11.0, -19.0, -20.5])  # margins 1.5 and 1.5


def test_differences_of_sentences_and_of_margins():
    # Sentences: +0.5, 0, +1, -1.5; margins are 0.5 and 2.5 apart, and the second changes its sign.
    assert differences(OTHER, PLAIN) == ["+0.00", "-1.50", "1.50", "2.50", "1 of 2"]
    assert differences(PLAIN, PLAIN) == ["+0.00", "+0.00", "0.00", "0.00", "0 of 2"]


def test_share_of_pairs_and_tokens_a_second():
    assert [preferred(PLAIN), preferred(OTHER)] == ["50", "100"]
    assert speed({"tokens": 100, "seconds": 8}) == "12"


def test_a_difference_is_bold_where_its_interval_leaves_no_difference_out():
    def shown(low, high, **more):
        return difference(Comparison("b", "s", "q", 1.0, "%", low, high, 0.04, 10, **more))

    assert shown(0.5, 1.5) == "**+1 [0.5, 1.5]**"
    assert shown(0.5, 1.5, p_holm=0.0123) == "**+1 [0.5, 1.5]**, p 0.012"
    assert shown(-0.5, 2.5) == "+1 [-0.5, 2.5]"
    assert difference(None) == "not paired"
