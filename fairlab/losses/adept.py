"""Loss of ADEPT, which makes neutral words equally close to all attributes.

Source: Yang et al. 2023, "ADEPT: A DEbiasing PrompT Framework", and the authors' code.
Shape letters: B neutral words in their sentences, A attributes, F width of the flattened hidden states of all layers.
"""

from __future__ import annotations

import math
from itertools import combinations

import torch
from torch import Tensor


def log_neighbours(prototypes_AF: Tensor, neutral_BF: Tensor, rho: float | Tensor) -> Tensor:
    r"""Return the log-probability (A, B) that a neutral word is the neighbour of an attribute.

    .. math:: p(b|a) \propto \exp(-\|v_a - e_b\|^2 / 2\rho^2)

    normalised over the B given neutral words. In training, these are the words of the batch.
    """
    squares_AB = (prototypes_AF.unsqueeze(1) - neutral_BF.unsqueeze(0)).square().sum(dim=-1)
    return torch.log_softmax(-squares_AB / (2 * rho**2), dim=1)


def scaled_bandwidth(prototypes_AF: Tensor, neutral_BF: Tensor) -> float:
    r"""Return the bandwidth at which the logits of :func:`log_neighbours` have a standard deviation of 1 over words.

    The standard deviation is taken over the neutral words. This rule is ours: :math:`\rho^2` is half the standard
    deviation of the squared distances, averaged over attributes, so that the bandwidth distinguishes words. The
    authors' values, 10 and 15, are for BERT-large. If the prototypes of the attributes are nearly equal, their
    distributions over the words are also nearly equal. At any bandwidth that distinguishes words, little then remains
    to be learned.

    Args:
        prototypes_AF: Mean hidden state of each attribute's words.
        neutral_BF: Hidden states of at least two neutral words.
    """
    squares_AB = (prototypes_AF.unsqueeze(1) - neutral_BF.unsqueeze(0)).square().sum(dim=-1)
    return (squares_AB.std(dim=1, correction=0).mean() / 2).sqrt().item()


def divergence_loss(prototypes_AF: Tensor, neutral_BF: Tensor, rho: float | Tensor) -> Tensor:
    """Return the Jensen-Shannon divergence between the attributes' distributions, averaged over pairs, in bits.

    Args:
        prototypes_AF: Mean hidden state of each attribute's words, A >= 2.
        neutral_BF: Hidden states of neutral words.
        rho: Bandwidth of the kernel, in units of distance, > 0.

    Returns:
        A scalar in [0, 1]; ideal 0, and always 0 for a single neutral word.
    """
    log_p_AB = log_neighbours(prototypes_AF, neutral_BF, rho)
    pairs = [jensen_shannon(first, second) for first, second in combinations(log_p_AB, 2)]
    return torch.stack(pairs).mean()


def jensen_shannon(log_p: Tensor, log_q: Tensor) -> Tensor:
    """Return the Jensen-Shannon divergence of two distributions given by their logarithms (B,), in bits."""
    log_middle = torch.logaddexp(log_p, log_q) - math.log(2)
    to_middle = [(log.exp() * (log - log_middle)).sum() for log in (log_p, log_q)]
    return (to_middle[0] + to_middle[1]) / (2 * math.log(2))
