"""Selection of the attention implementation of a model."""

from __future__ import annotations

import torch
from transformers import PreTrainedModel

from fairlab.backbones.trust import ATTENTION
from fairlab.types import FairlabError


def set_attention(model: PreTrainedModel, name: str, key: str) -> None:
    """Set the implementation with which a model computes attention.

    Args:
        model: Model to change.
        name: Name of the implementation in transformers, such as ``sdpa`` or ``eager``; implementations from the hub
            are refused, because they are code.
        key: Configuration key of the setting, for error messages.

    Raises:
        FairlabError: If the implementation is unknown, is not installed, or does not suit the model.
    """
    if name not in ATTENTION:
        raise FairlabError(f"{key} must be one of {', '.join(ATTENTION)}, not {name}")
    try:
        model.set_attn_implementation(name)
    except (ImportError, ValueError) as error:
        reason = " ".join(str(error).split())[:300]
        raise FairlabError(f"{key}={name} cannot be used here: {reason}") from error


def avoid_cudnn_attention() -> None:
    """Exclude cuDNN's kernels from torch's ``scaled_dot_product_attention``, for the whole process.

    cuDNN makes a plan for every new input shape, and batches of texts constantly have new shapes. On an H100 with torch
    2.11, a step of RoBERTa-base on 128 short texts took 220 to 310 ms, of which planning took 140 to 210 ms and
    computation on the GPU 14 ms. Without cuDNN, this fine-tuning was 6.6 times as fast.
    """
    torch.backends.cuda.enable_cudnn_sdp(False)
