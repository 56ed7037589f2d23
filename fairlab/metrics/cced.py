"""Content-conditional equal distance (CCED) fairness of text embeddings.

Source: "LLM-Assisted Content Conditional Debiasing for Fair Text Embedding", definition 3.1 and section 4.2.
"""

from __future__ import annotations

import torch
from torch import Tensor
from torchmetrics import MeanMetric


def cced_gap(distances_NA: Tensor) -> Tensor:
    r"""Return the gap between the attributes' distances to the neutral embedding, per group.

    .. math:: \overline{\left|\,\lVert f(S^{a_i}) - f(S^n)\rVert - \lVert f(S^{a_j}) - f(S^n)\rVert\,\right|}_{i<j}

    Shapes: N groups, A >= 2 attributes: (N, A) to (N,).

    Returns:
        Mean difference per group, in the unit of embedding distances, >= 0; ideal 0. With more than two attributes, it
        is the mean over unordered pairs.

    Example:
        >>> cced_gap(torch.tensor([[1.0, 0.5], [2.0, 2.0]]))
        tensor([0.5000, 0.0000])
    """
    first, second = torch.triu_indices(distances_NA.shape[1], distances_NA.shape[1], offset=1)
    return (distances_NA[:, first] - distances_NA[:, second]).abs().mean(dim=1)


class CCEDGap(MeanMetric):
    """Mean CCED gap over all groups in the batches, as a torchmetrics class.

    The gap is in the unit of embedding distances, in [0, inf), with 0 as the ideal. ``update`` takes distances to
    neutral (N, A), and ``compute`` returns NaN if there are no groups.
    """

    is_differentiable = True  # type: ignore[assignment]
    higher_is_better = False  # type: ignore[assignment]
    ideal = 0.0

    def __init__(self) -> None:
        super().__init__(nan_strategy="disable")  # the gap of a model that diverged is NaN

    def update(self, distances_NA: Tensor) -> None:  # type: ignore[override]
        """Add a batch of groups."""
        super().update(cced_gap(distances_NA))
