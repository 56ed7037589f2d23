"""The ADEPT loss by hand, and against the formula written out."""

import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.distance import jensenshannon

from fairlab.losses.adept import divergence_loss, log_neighbours, scaled_bandwidth


def plain(prototypes, neutral, rho):
    """The authors' way: exponentials, divided by their sum, Kullback-Leibler terms to the middle in base 2."""
    p = [
        [math.exp(-sum((float(x) - float(y)) ** 2 for x, y in zip(a, n, strict=True)) / (2 * rho**2)) for n in neutral]
        for a in prototypes
    ]
    p = [[value / sum(row) for value in row] for row in p]
    total, pairs = 0.0, 0
    for i in range(len(p)):
        for j in range(i + 1, len(p)):
            middle = [(x + y) / 2 for x, y in zip(p[i], p[j], strict=True)]
            total += sum(x * math.log2(x / m) for x, m in zip(p[i], middle, strict=True)) / 2
            total += sum(y * math.log2(y / m) for y, m in zip(p[j], middle, strict=True)) / 2
            pairs += 1
    return total / pairs


def test_neighbours_by_hand():
    # Distances 0 and 2, rho 1: weights 1 and exp(-2).
    log_p = log_neighbours(torch.tensor([[0.0, 0.0]]), torch.tensor([[0.0, 0.0], [2.0, 0.0]]), rho=1.0)
    weights = [1.0, math.exp(-2)]
    assert log_p.exp()[0].tolist() == pytest.approx([weight / sum(weights) for weight in weights])


def test_the_scaled_bandwidth_by_hand():
    # Squared distances 0, 4, 16 and 1, 1, 9 have the variances 416/9 and 128/9.
    rho = scaled_bandwidth(torch.tensor([[0.0], [1.0]]), torch.tensor([[0.0], [2.0], [4.0]]))
    assert rho == pytest.approx(math.sqrt((math.sqrt(416) + math.sqrt(128)) / 3 / 2 / 2))


def test_opposite_attributes_are_a_bit_apart_and_equal_ones_not_at_all():
    prototypes = torch.tensor([[-50.0], [50.0]])
    neutral = torch.tensor([[-50.0], [50.0]])
    assert divergence_loss(prototypes, neutral, 1.0).item() == pytest.approx(1.0)
    assert divergence_loss(prototypes[[0, 0]], neutral, 1.0).item() == pytest.approx(0.0, abs=1e-6)
    assert divergence_loss(prototypes, torch.zeros(4, 1), 1.0).item() == pytest.approx(0.0, abs=1e-6)


@pytest.mark.parametrize("rho", [10.0, 15.0])
@pytest.mark.parametrize("attributes", [2, 3])
def test_random_tensors_against_plain_loops(rho, attributes):
    generator = torch.Generator().manual_seed(2)
    prototypes = 5 * torch.randn(attributes, 6, generator=generator, dtype=torch.float64)
    neutral = 5 * torch.randn(7, 6, generator=generator, dtype=torch.float64)
    assert divergence_loss(prototypes, neutral, rho).item() == pytest.approx(plain(prototypes, neutral, rho))


def test_it_is_the_square_of_scipys_distance():
    generator = torch.Generator().manual_seed(3)
    prototypes, neutral = torch.randn(2, 4, generator=generator), torch.randn(9, 4, generator=generator)
    p, q = log_neighbours(prototypes, neutral, 2.0).exp().double().numpy()
    loss = divergence_loss(prototypes, neutral, 2.0).item()
    assert loss == pytest.approx(jensenshannon(p, q, base=2) ** 2, rel=1e-4)
    assert np.isfinite(loss)


def test_it_is_finite_where_plain_exponentials_are_all_zero():
    prototypes = torch.tensor([[0.0], [1.0]], requires_grad=True)
    loss = divergence_loss(prototypes, torch.tensor([[1e3], [1.1e3]]), 10.0)
    loss.backward()
    assert torch.isfinite(loss)
    assert torch.isfinite(prototypes.grad).all()


@given(st.integers(2, 4), st.integers(1, 6), st.integers(0, 1000), st.floats(0.5, 20))
def test_properties(attributes, words, seed, rho):
    generator = torch.Generator().manual_seed(seed)
    prototypes = torch.randn(attributes, 5, generator=generator, dtype=torch.float64)
    neutral = torch.randn(words, 5, generator=generator, dtype=torch.float64)
    loss = divergence_loss(prototypes, neutral, rho)
    assert -1e-9 <= loss <= 1
    order = torch.randperm(attributes, generator=generator)
    torch.testing.assert_close(divergence_loss(prototypes[order], neutral, rho), loss)
    torch.testing.assert_close(divergence_loss(prototypes + 3, neutral + 3, rho), loss)
    torch.testing.assert_close(divergence_loss(2 * prototypes, 2 * neutral, 2 * rho), loss)
