import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from fairlab.metrics.cced import CCEDGap, cced_gap


def test_gap_by_hand():
    # Three attributes: pairs differ by 1, 3 and 2, so their mean is 2.
    assert cced_gap(torch.tensor([[1.0, 2.0, 4.0], [5.0, 5.0, 5.0]])).tolist() == [2.0, 0.0]


@given(st.integers(2, 5), st.lists(st.integers(0, 12), max_size=4), st.integers(0, 100))
def test_any_split_of_the_rows_gives_the_same_metric(num_attributes, cuts, seed):
    rows = torch.rand(12, num_attributes, generator=torch.Generator().manual_seed(seed))
    whole, parts = CCEDGap(), CCEDGap()
    whole.update(rows)
    for piece in torch.tensor_split(rows, sorted(cuts)):
        parts.update(piece)
    torch.testing.assert_close(parts.compute(), whole.compute())
    assert whole.compute().item() == pytest.approx(cced_gap(rows).mean().item(), rel=1e-5)


def test_a_small_gap_is_the_better_one():
    assert (CCEDGap.is_differentiable, CCEDGap.higher_is_better, CCEDGap.ideal) == (True, False, 0)


def test_nothing_seen_is_nan():
    assert math.isnan(CCEDGap().compute().item())
