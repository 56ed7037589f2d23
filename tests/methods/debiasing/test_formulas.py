"""Losses of debiasing beside their formulas written out in plain Python."""

import math

import pytest
import torch

from fairlab.methods.debiasing.base import weighted_cross_entropy
from fairlab.methods.debiasing.confidence import confidence_regularised
from fairlab.methods.debiasing.poe import product_of_experts
from fairlab.methods.debiasing.reweighting import bias_weights

Z = [[1.0, -0.5, 0.25], [0.0, 2.0, -1.0]]
B = [[0.7, 0.2, 0.1], [0.25, 0.25, 0.5]]
Y = [0, 2]
OUTPUTS, BIAS, LABELS = torch.tensor(Z), torch.tensor(B), torch.tensor(Y)


def softmax(values):
    total = sum(math.exp(value) for value in values)
    return [math.exp(value) / total for value in values]


def test_product_of_experts():
    expected = 0.0
    for z, b, y in zip(Z, B, Y, strict=True):
        product = [p * q for p, q in zip(softmax(z), b, strict=True)]
        expected -= math.log(product[y] / sum(product)) / 2
    assert product_of_experts(OUTPUTS, BIAS.log(), LABELS).item() == pytest.approx(expected, rel=1e-6)


def test_an_expert_that_knows_nothing_changes_nothing():
    even = torch.full((2, 3), math.log(1 / 3))
    plain = torch.nn.functional.cross_entropy(OUTPUTS, LABELS)
    assert product_of_experts(OUTPUTS, even, LABELS).item() == pytest.approx(plain.item())


def test_weights_are_what_the_bias_leaves_of_the_label():
    assert bias_weights(BIAS.log(), LABELS).tolist() == pytest.approx([0.3, 0.5])


def test_weighted_cross_entropy():
    weights = [0.3, 0.5]
    losses = [-math.log(softmax(z)[y]) for z, y in zip(Z, Y, strict=True)]
    expected = (weights[0] * losses[0] + weights[1] * losses[1]) / sum(weights)
    assert weighted_cross_entropy(OUTPUTS, LABELS, torch.tensor(weights)).item() == pytest.approx(expected, rel=1e-6)
    assert weighted_cross_entropy(OUTPUTS, LABELS, torch.zeros(2)).item() == 0


def test_confidence_regularisation():
    teacher, weights = [[0.8, 0.15, 0.05], [0.1, 0.3, 0.6]], [0.3, 0.5]
    expected = 0.0
    for z, t, w in zip(Z, teacher, weights, strict=True):
        powers = [p**w for p in t]
        target = [power / sum(powers) for power in powers]
        expected -= sum(s * math.log(p) for s, p in zip(target, softmax(z), strict=True)) / 2
    found = confidence_regularised(OUTPUTS, torch.tensor(teacher).log(), torch.tensor(weights))
    assert found.item() == pytest.approx(expected, rel=1e-6)
