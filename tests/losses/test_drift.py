"""The representation losses of DPCE and ADEPT by hand, and against loops."""

import math

import pytest
import torch

from fairlab.losses.drift import drift_loss

FORMS = ["squared_distance", "all_positions", "mean_square", "divergence"]


def softmax(values):
    exponentials = [math.exp(value) for value in values]
    return [value / sum(exponentials) for value in exponentials]


def plain(hidden, original, mask, form):
    """Text by text, token by token, layer by layer."""
    texts, tokens, layers, width = hidden.shape
    if form == "all_positions":
        differences = [
            (x - y) ** 2 for x, y in zip(hidden.flatten().tolist(), original.flatten().tolist(), strict=True)
        ]
        return sum(differences) / (texts * tokens * layers * width)
    by_text = []
    for b in range(texts):
        own = [t for t in range(tokens) if mask[b, t]]
        total = 0.0
        for t in own:
            for layer in range(layers):
                new, old = hidden[b, t, layer].tolist(), original[b, t, layer].tolist()
                if form == "divergence":
                    for sign in (1, -1):
                        p, q = softmax([sign * x for x in old]), softmax([sign * x for x in new])
                        total += sum(x * math.log2(x / y) for x, y in zip(p, q, strict=True))
                else:
                    total += sum((x - y) ** 2 for x, y in zip(new, old, strict=True))
        if form == "mean_square":
            total /= len(own) * layers * width
        elif form == "divergence":
            total /= len(own) * layers
        by_text.append(total)
    return sum(by_text) / texts


@pytest.mark.parametrize(
    ("form", "expected"),
    [("squared_distance", (14 + 1) / 2), ("all_positions", 31 / 8), ("mean_square", (14 / 4 + 1 / 2) / 2)],
)
def test_squares_by_hand(form, expected):
    # Squares 5 and 9 at the two tokens of the first text; 1 at the only token of the second, 16 at its padding.
    hidden = torch.tensor([[[[1.0, 2.0]], [[3.0, 0.0]]], [[[0.0, 1.0]], [[4.0, 0.0]]]])
    mask = torch.tensor([[1, 1], [1, 0]])
    assert drift_loss(hidden, torch.zeros_like(hidden), mask, form).item() == pytest.approx(expected)


def test_the_divergence_by_hand():
    # softmax of (ln 3, 0) is (3/4, 1/4), of its negative (1/4, 3/4); the new states' are (1/2, 1/2).
    original = torch.tensor([[[[math.log(3), 0.0]]]])
    once = 0.75 * math.log2(0.75 / 0.5) + 0.25 * math.log2(0.25 / 0.5)
    loss = drift_loss(torch.zeros(1, 1, 1, 2), original, torch.ones(1, 1), "divergence")
    assert loss.item() == pytest.approx(2 * once)


@pytest.mark.parametrize("form", FORMS)
def test_random_tensors_against_plain_loops(form):
    generator = torch.Generator().manual_seed(4)
    hidden, original = torch.randn(2, 3, 5, 2, 4, generator=generator, dtype=torch.float64)
    mask = torch.tensor([[1, 1, 1, 1, 1], [1, 1, 0, 0, 0], [1, 1, 1, 0, 0]])
    assert drift_loss(hidden, original, mask, form).item() == pytest.approx(plain(hidden, original, mask, form))


@pytest.mark.parametrize("form", FORMS)
def test_no_move_costs_nothing_and_padding_counts_in_the_official_form_only(form):
    hidden = torch.randn(2, 3, 2, 4, generator=torch.Generator().manual_seed(5))
    mask = torch.tensor([[1, 1, 0], [1, 0, 0]])
    assert drift_loss(hidden, hidden.clone(), mask, form).item() == pytest.approx(0, abs=1e-6)
    padding = hidden.clone()
    padding[mask == 0] += torch.tensor([1.0, 0.0, 0.0, 2.0])
    assert (drift_loss(padding, hidden, mask, form) > 1e-4) == (form == "all_positions")
