"""Content-conditional debiasing (CCD) loss of text embeddings.

Source: "LLM-Assisted Content Conditional Debiasing for Fair Text Embedding", section 3.2.2, equations 2 to 4.
Shape letters: B groups, A attributes, D embedding width.
"""

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor

from fairlab.types import FairlabError, Positive

Bandwidth = Literal["variance", "std", "rms"] | Positive


def distances_to_neutral(attributes_BAD: Tensor, neutral_BD: Tensor) -> Tensor:
    """Return the Euclidean distance of every attribute's embedding to its neutral embedding, (B, A), >= 0."""
    return torch.linalg.vector_norm(attributes_BAD - neutral_BD.unsqueeze(-2), dim=-1)


def kernel(distances: Tensor, rho: float | Tensor) -> Tensor:
    r"""Return the Gaussian similarity :math:`\exp(-d^2 / 2\rho^2)` of a distance, in (0, 1] (the paper's *dist*)."""
    return torch.exp(-distances.square() / (2 * rho**2))


def bias_loss(attributes_BAD: Tensor, neutral_BD: Tensor, rho: float | Tensor) -> Tensor:
    r"""Return the differences between the attributes' similarities to their group's neutral text, summed over pairs.

    .. math:: L_{bias} = \sum_i \sum_{j \neq i} |k(f(S^{a_i}), f(S^n)) - k(f(S^{a_j}), f(S^n))|

    Shapes: (B, A, D) and (B, D) to (B,).

    Args:
        attributes_BAD: Embeddings of the attribute versions, A >= 2, of any norm.
        neutral_BD: Embeddings of the neutral versions.
        rho: Bandwidth of the kernel, in units of distance, > 0.

    Returns:
        One value per group, within [0, A(A-1)); ideal 0. Pairs are ordered, so two attributes count twice.

    Source: equation 2.
    """
    return _unequal(kernel(distances_to_neutral(attributes_BAD, neutral_BD), rho))


def bias_loss_to_others(attributes_BAD: Tensor, neutral_BD: Tensor, rho: float | Tensor) -> Tensor:
    """Return the bias loss with respect to the neutral texts of other groups in the batch, (B,); ideal 0.

    Equation 2 is computed with the neutral text of each other group, and averaged over these groups. The result is 0 if
    there is no other group. This loss is ours: even if the attributes are equally far from their own neutral text,
    other texts, such as queries, can be closer to one of the attributes.

    Args:
        attributes_BAD: Embeddings of the attribute versions, A >= 2, of any norm.
        neutral_BD: Embeddings of the neutral versions of the same groups.
        rho: Bandwidth of the kernel for distances to other groups' neutral texts, > 0.
    """
    size = len(neutral_BD)
    similarity_BNA = kernel(distances_to_neutral(attributes_BAD.unsqueeze(1), neutral_BD), rho)
    others_BN = 1 - torch.eye(size, device=neutral_BD.device)
    return (_unequal(similarity_BNA) * others_BN).sum(dim=1) / max(1, size - 1)


def _unequal(similarity_A: Tensor) -> Tensor:
    """Return the sum of the absolute differences of all ordered pairs along the last axis."""
    return (similarity_A.unsqueeze(-1) - similarity_A.unsqueeze(-2)).abs().sum(dim=(-2, -1))


def alignment_loss(attributes_BAD: Tensor) -> Tensor:
    """Return the mean distance of a group's attributes to their midpoint, (B,), not squared; ideal 0.

    This loss is ours. Equation 2 only requires that the attributes are equally far from the neutral text, whereas this
    loss also moves them closer together.
    """
    middle_BD = attributes_BAD.mean(dim=-2)
    return distances_to_neutral(attributes_BAD, middle_BD).mean(dim=1)


def representation_loss(neutral_BD: Tensor, original_BD: Tensor) -> Tensor:
    """Return the distance between neutral embeddings of the trained and original encoder, (B,), not squared; ideal 0.

    Source: equation 3.
    """
    return torch.linalg.vector_norm(neutral_BD - original_BD, dim=1)


def bandwidth(distances: Tensor, rho: Bandwidth) -> float:
    """Return the kernel's bandwidth from the original encoder's distances over the training split.

    Args:
        distances: ||f_org(S^a) - f_org(S^n)|| of all groups and attributes, any shape.
        rho: Mode or value: ``variance`` (population; the paper's, section 3.2.2), ``std`` (its square root), ``rms``
            (root of the mean square) or a positive number (appendix A.5: "set by hand").

    Raises:
        FairlabError: The mode is unknown, the number is not positive, or the kernel is flat at the bandwidth, with a
            mean over ``distances`` below 1e-4 or above 1 - 1e-4, so that no gradient would flow.
    """
    d = distances.double()
    match rho:
        case "variance":
            value = d.var(correction=0).item()
        case "std":
            value = d.std(correction=0).item()
        case "rms":
            value = d.square().mean().sqrt().item()
        case float() | int() if rho > 0:
            value = float(rho)
        case _:
            raise FairlabError(f"method.rho must be variance, std, rms or a number above 0, not {rho}")
    mean_kernel = kernel(d, value).mean().item()
    if not 1e-4 <= mean_kernel <= 1 - 1e-4:
        raise FairlabError(
            f"method.rho={rho} gives a bandwidth of {value:.3g} for distances around {d.mean().item():.3g}: the "
            f"kernel is flat there (mean {mean_kernel:.2g}) and no learning would happen; use method.rho=rms"
        )
    return value
