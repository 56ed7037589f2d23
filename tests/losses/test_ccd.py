"""The CCD loss against values worked out by hand, and properties it must have."""

import math
from contextlib import nullcontext

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from fairlab.losses.ccd import (
    alignment_loss,
    bandwidth,
    bias_loss,
    bias_loss_to_others,
    distances_to_neutral,
    kernel,
    representation_loss,
)
from fairlab.types import FairlabError


def test_two_attributes_by_hand():
    # Distances 1 and 2, rho 1: kernels exp(-1/2) and exp(-2); the ordered pairs count the difference twice.
    attributes = torch.tensor([[[1.0, 0.0], [0.0, 2.0]]])
    loss = bias_loss(attributes, torch.zeros(1, 2), rho=1.0)
    assert loss.item() == pytest.approx(2 * (math.exp(-0.5) - math.exp(-2)), rel=1e-6)


def test_three_attributes_by_hand():
    # Distances 0, 1, 2, rho 2: kernels 1, exp(-1/8), exp(-1/2).
    attributes = torch.tensor([[[0.0], [1.0], [2.0]]])
    k = [1.0, math.exp(-1 / 8), math.exp(-1 / 2)]
    expected = 2 * (abs(k[0] - k[1]) + abs(k[0] - k[2]) + abs(k[1] - k[2]))
    assert bias_loss(attributes, torch.zeros(1, 1), rho=2.0).item() == pytest.approx(expected, rel=1e-6)


def test_the_loss_is_per_group():
    attributes = torch.tensor([[[1.0, 0.0], [0.0, 2.0]], [[3.0, 0.0], [0.0, 3.0]]])
    loss = bias_loss(attributes, torch.zeros(2, 2), rho=1.0)
    assert loss.shape == (2,)
    assert loss[1] == 0


def test_other_neutral_texts_by_hand():
    # Distances of the first group to 1 and 4: 1, 2 and 4, 1. The second's do not differ. The third's are to 0 and 1.
    attributes = torch.tensor([[[0.0], [3.0]], [[2.0], [2.0]], [[0.5], [0.0]]])
    neutral = torch.tensor([[0.0], [1.0], [4.0]])
    k = {distance: math.exp(-(distance**2) / 2) for distance in (0, 0.5, 1, 2, 4)}
    first = (2 * (k[1] - k[2]) + 2 * (k[1] - k[4])) / 2
    third = (2 * (k[0] - k[0.5]) + 2 * (k[0.5] - k[1])) / 2
    assert bias_loss_to_others(attributes, neutral, rho=1.0).tolist() == pytest.approx([first, 0.0, third], rel=1e-6)


def test_a_batch_of_one_has_no_other_neutral_text():
    assert bias_loss_to_others(torch.tensor([[[0.0], [3.0]]]), torch.zeros(1, 1), rho=1.0).tolist() == [0.0]


def test_alignment_by_hand():
    assert alignment_loss(torch.tensor([[[1.0, 0.0], [-1.0, 0.0]], [[2.0, 2.0], [2.0, 2.0]]])).tolist() == [1.0, 0.0]


def test_representation_loss_is_a_distance_not_its_square():
    loss = representation_loss(torch.tensor([[3.0, 4.0], [0.0, 0.0]]), torch.zeros(2, 2))
    assert loss.tolist() == [5.0, 0.0]


def test_no_gradient_is_nan_where_nothing_has_moved():
    neutral = torch.zeros(1, 4, requires_grad=True)
    representation_loss(neutral, torch.zeros(1, 4)).sum().backward()
    assert torch.isfinite(neutral.grad).all()


@given(st.integers(2, 5), st.integers(0, 1000), st.floats(0.1, 10))
def test_properties_of_the_bias_loss(num_attributes, seed, rho):
    generator = torch.Generator().manual_seed(seed)
    attributes = torch.randn(3, num_attributes, 6, generator=generator, dtype=torch.float64)
    neutral = torch.randn(3, 6, generator=generator, dtype=torch.float64)
    loss = bias_loss(attributes, neutral, rho)
    assert ((loss >= 0) & (loss < num_attributes * (num_attributes - 1))).all()
    order = torch.randperm(num_attributes, generator=generator)
    torch.testing.assert_close(bias_loss(attributes[:, order], neutral, rho), loss)
    torch.testing.assert_close(bias_loss(attributes + 1.5, neutral + 1.5, rho), loss)
    torch.testing.assert_close(bias_loss(3 * attributes, 3 * neutral, 3 * rho), loss)


def test_equal_distances_give_no_loss_wherever_they_point():
    directions = torch.nn.functional.normalize(torch.randn(4, 3, 8, dtype=torch.float64), dim=-1)
    neutral = torch.randn(4, 8, dtype=torch.float64)
    loss = bias_loss(neutral.unsqueeze(1) + 0.7 * directions, neutral, rho=0.5)
    torch.testing.assert_close(loss, torch.zeros(4, dtype=torch.float64), atol=1e-12, rtol=0)


def test_gradients_are_those_of_finite_differences():
    generator = torch.Generator().manual_seed(3)
    attributes = torch.randn(2, 3, 4, generator=generator, dtype=torch.float64, requires_grad=True)
    neutral = torch.randn(2, 4, generator=generator, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(lambda a, n: bias_loss(a, n, 1.3), (attributes, neutral))


def test_bandwidth_modes_by_hand():
    d = torch.tensor([1.0, 2.0, 3.0])
    assert bandwidth(d, "variance") == pytest.approx(2 / 3)
    assert bandwidth(d, "std") == pytest.approx(math.sqrt(2 / 3))
    assert bandwidth(d, "rms") == pytest.approx(math.sqrt(14 / 3))
    assert bandwidth(d, 1.5) == 1.5


@pytest.mark.parametrize("rho", [0, 0.0, -1.0, "median"])
def test_a_bandwidth_that_is_none_is_refused(rho):
    with pytest.raises(FairlabError, match=r"method.rho must be variance, std, rms or a number above 0"):
        bandwidth(torch.tensor([1.0, 2.0]), rho)


@pytest.mark.parametrize(
    ("distances", "rho"), [([0.30, 0.31, 0.32], "variance"), ([0.1, 0.2], 1e4), ([1.0, 1.0], "std")]
)
def test_a_flat_kernel_is_refused_and_the_remedy_named(distances, rho):
    with pytest.raises(FairlabError, match=r"the kernel is flat there.*use method\.rho=rms"):
        bandwidth(torch.tensor(distances), rho)


@pytest.mark.parametrize(("mean", "flat"), [(0.9e-4, True), (1.5e-4, False), (1 - 1.5e-4, False), (1 - 0.9e-4, True)])
def test_a_kernel_is_flat_within_a_ten_thousandth_of_its_ends(mean, flat):
    rho = math.sqrt(-1 / (2 * math.log(mean)))  # exp(-1 / 2 rho^2) is the kernel at distance 1
    with pytest.raises(FairlabError, match="flat") if flat else nullcontext():
        assert bandwidth(torch.tensor([1.0]), rho) == rho


def test_kernel_is_one_at_zero_and_falls():
    values = kernel(torch.tensor([0.0, 1.0, 2.0]), 1.0)
    assert values[0] == 1
    assert values[0] > values[1] > values[2] > 0


def test_distances_to_neutral():
    distances = distances_to_neutral(torch.tensor([[[3.0, 4.0], [1.0, 0.0]]]), torch.tensor([[0.0, 0.0]]))
    assert distances.tolist() == [[5.0, 1.0]]
