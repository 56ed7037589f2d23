"""Distance between the hidden states of a model in training and those of the original model.

Source: Kaneko and Bollegala 2021, "Debiasing Pre-trained Contextualised Embeddings", equation 2; Yang et al. 2023,
"ADEPT: A DEbiasing PrompT Framework"; and the code of both.
Shape letters: B texts, T tokens, L layers, D width.
"""

from __future__ import annotations

import math
from typing import Literal

import torch
from torch import Tensor

Drift = Literal["squared_distance", "all_positions", "mean_square", "divergence"]


def drift_loss(hidden_BTLD: Tensor, original_BTLD: Tensor, mask_BT: Tensor, form: Drift) -> Tensor:
    """Return the distance between the hidden states of two models on the same texts.

    - ``squared_distance``: squared Euclidean distance summed over a text's tokens and layers, mean over texts (the
      equation of DPCE);
    - ``all_positions``: mean square over all values, including padding (the official code of both methods);
    - ``mean_square``: mean square over a text's own tokens, mean over texts;
    - ``divergence``: Kullback-Leibler divergence in bits, original to new, between the softmaxes over D of the states,
      plus the same divergence for the negated states; mean over layers and a text's own tokens, then over texts
      (ADEPT).

    Args:
        hidden_BTLD: Hidden states of the model in training.
        original_BTLD: Hidden states of the original model.
        mask_BT: Attention mask, 0 at padding.
        form: Name of the form, one of the four above.

    Returns:
        A scalar >= 0; ideal 0.
    """
    squares_BTLD = (hidden_BTLD - original_BTLD).square()
    if form == "all_positions":
        return squares_BTLD.mean()
    mask_BT = mask_BT.to(hidden_BTLD.dtype)
    if form == "divergence":
        apart_BTL = divergence(original_BTLD, hidden_BTLD) + divergence(-original_BTLD, -hidden_BTLD)
        return own_mean(apart_BTL.mean(dim=-1), mask_BT)
    if form == "squared_distance":
        return (squares_BTLD.sum(dim=(2, 3)) * mask_BT).sum(dim=1).mean()
    return own_mean(squares_BTLD.mean(dim=(2, 3)), mask_BT)


def own_mean(values_BT: Tensor, mask_BT: Tensor) -> Tensor:
    """Return the mean over the tokens of each text, without padding, and then over texts."""
    return ((values_BT * mask_BT).sum(dim=1) / mask_BT.sum(dim=1)).mean()


def divergence(original: Tensor, hidden: Tensor) -> Tensor:
    """Return the Kullback-Leibler divergence in bits of the softmax over the last axis, ``original`` to ``hidden``."""
    log_p, log_q = torch.log_softmax(original, dim=-1), torch.log_softmax(hidden, dim=-1)
    return (log_p.exp() * (log_p - log_q)).sum(dim=-1) / math.log(2)
