"""The DPCE loss by hand, and against loops over every inner product."""

import pytest
import torch

from fairlab.losses.dpce import orthogonality_loss

FORMS = ["sum_of_squares", "square_of_mean", "mean_of_squares"]


def plain(neutral, prototypes, form):
    """Loop by loop, as the paper's equation and the authors' code read."""
    words, layers = len(neutral), len(neutral[0])
    total = 0.0
    for prototype in prototypes:
        products = [
            sum(float(v) * float(e) for v, e in zip(prototype[layer], neutral[word][layer], strict=True))
            for word in range(words)
            for layer in range(layers)
        ]
        if form == "sum_of_squares":
            total += sum(product**2 for product in products) / words
        elif form == "square_of_mean":
            total += (sum(products) / len(products)) ** 2
        else:
            total += sum(product**2 for product in products) / len(products)
    return total


@pytest.mark.parametrize(("form", "expected"), list(zip(FORMS, [21 / 2, (5 / 4) ** 2, 21 / 4], strict=True)))
def test_one_attribute_by_hand(form, expected):
    # Two words, two layers; products with the prototype: 2 and -1, 0 and 4.
    neutral = torch.tensor([[[2.0, 7.0], [-1.0, 0.0]], [[0.0, 5.0], [4.0, 1.0]]])
    prototypes = torch.tensor([[[1.0, 0.0], [1.0, 0.0]]])
    assert orthogonality_loss(neutral, prototypes, form).item() == pytest.approx(expected)


def test_products_of_opposite_sign_cancel_out_in_the_official_form_only():
    neutral = torch.tensor([[[3.0]], [[-3.0]]])
    prototypes = torch.tensor([[[1.0]], [[2.0]]])
    values = [orthogonality_loss(neutral, prototypes, form).item() for form in FORMS]
    assert values == [9 + 36, 0, 9 + 36]


@pytest.mark.parametrize("form", FORMS)
def test_random_tensors_against_plain_loops(form):
    generator = torch.Generator().manual_seed(1)
    neutral = torch.randn(5, 3, 4, generator=generator, dtype=torch.float64)
    prototypes = torch.randn(3, 3, 4, generator=generator, dtype=torch.float64)
    assert orthogonality_loss(neutral, prototypes, form).item() == pytest.approx(plain(neutral, prototypes, form))


@pytest.mark.parametrize("form", FORMS)
def test_orthogonal_words_cost_nothing(form):
    neutral = torch.tensor([[[0.0, 3.0, 0.0]], [[0.0, 0.0, -8.0]]])
    assert orthogonality_loss(neutral, torch.tensor([[[2.0, 0.0, 0.0]]]), form) == 0
