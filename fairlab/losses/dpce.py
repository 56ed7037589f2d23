"""Loss of DPCE, which makes hidden states of neutral words orthogonal to the hidden states of attribute words.

Source: Kaneko and Bollegala 2021, "Debiasing Pre-trained Contextualised Embeddings", equation 1, and the authors' code.
Shape letters: B neutral words in their sentences, A attributes, L layers, D width.
"""

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor

Form = Literal["sum_of_squares", "square_of_mean", "mean_of_squares"]


def orthogonality_loss(neutral_BLD: Tensor, prototypes_ALD: Tensor, form: Form) -> Tensor:
    r"""Return the deviation of neutral words from orthogonality to the prototypes of the attributes.

    With :math:`s_{bal} = \langle v_{al}, e_{bl} \rangle`, summed over attributes:

    - ``sum_of_squares``: :math:`\sum_l s_{bal}^2`, mean over b (the paper's equation, per word);
    - ``square_of_mean``: :math:`(\mathrm{mean}_{bl} s_{bal})^2` (the official code), which is already 0 if products of
      opposite sign cancel out;
    - ``mean_of_squares``: :math:`\mathrm{mean}_{bl} s_{bal}^2`, on the scale of the official code.

    Args:
        neutral_BLD: Hidden states of neutral words.
        prototypes_ALD: Mean hidden state of each attribute's words, by layer.
        form: Name of the form, one of the three above.

    Returns:
        A scalar >= 0; ideal 0.
    """
    products_BAL = torch.einsum("bld,ald->bal", neutral_BLD, prototypes_ALD)
    match form:
        case "sum_of_squares":
            return products_BAL.square().sum(dim=(1, 2)).mean()
        case "square_of_mean":
            return products_BAL.mean(dim=(0, 2)).square().sum()
        case "mean_of_squares":
            return products_BAL.square().mean(dim=(0, 2)).sum()
