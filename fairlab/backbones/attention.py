"""Implementation of a model's attention."""

from __future__ import annotations

import torch
from transformers import PreTrainedModel

from fairlab.backbones.trust import ATTENTION
from fairlab.types import FairlabError


def set_attention(model: PreTrainedModel, name: str, key: str) -> None:
    """Make a model compute its attention with another implementation.

    Args:
        model: Model to change.
        name: Implementation as transformers names it, such as ``sdpa`` or ``eager``; implementations from the hub are
            refused, since they are code.
        key: Key of the configuration that holds the name, for messages.

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

    cuDNN makes a plan for every new shape, which takes longer than a training step: on an H100 with torch 2.11, 140 to
    210 of the 220 to 310 ms of a step of RoBERTa-base on 128 short texts, of which the GPU computed for 14 ms. Batches
    of texts keep bringing new shapes. Without cuDNN, this fine-tuning was 6.6 times as fast.
    """
    torch.backends.cuda.enable_cudnn_sdp(False)
