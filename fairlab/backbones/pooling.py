"""Pooling of token vectors into one embedding per text.

Shape letters: N texts, T tokens, H width of a token vector.
"""

from __future__ import annotations

from torch import Tensor


def first_token(hidden_NTH: Tensor) -> Tensor:
    """Return the vector of the first token (N, H), which is ``[CLS]`` or its counterpart."""
    return hidden_NTH[:, 0]


def token_mean(hidden_NTH: Tensor, mask_NT: Tensor) -> Tensor:
    """Return the mean (N, H) over the tokens of each text, including special tokens.

    Args:
        hidden_NTH: Last hidden states.
        mask_NT: 1 at tokens and 0 at padding, with at least one token per text.

    Example:
        >>> import torch
        >>> token_mean(torch.tensor([[[2.0], [4.0], [9.0]]]), torch.tensor([[1, 1, 0]])).tolist()
        [[3.0]]
    """
    weights = (mask_NT / mask_NT.sum(dim=1, keepdim=True)).to(hidden_NTH.dtype)
    return (weights.unsqueeze(1) @ hidden_NTH).squeeze(1)
