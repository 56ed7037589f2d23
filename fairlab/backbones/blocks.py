"""Transformer blocks, the units of weight sharding, activation recomputation and compilation."""

from __future__ import annotations

from functools import partial
from typing import Any, Literal

import torch
from torch import nn
from torch.utils.checkpoint import checkpoint, create_selective_checkpoint_contexts

Recomputation = Literal["none", "full", "selective"]


def transformer_blocks(model: nn.Module) -> list[nn.Module]:
    """Return the blocks of a model in order: the modules in its outermost module lists."""
    if isinstance(model, nn.ModuleList):
        return list(model)
    return [block for child in model.children() for block in transformer_blocks(child)]


def recompute_blocks(model: nn.Module, what: Recomputation) -> None:
    """Make each block recompute activations in the backward pass instead of storing them.

    The results stay the same.

    Args:
        model: Model whose blocks are changed in place; :func:`keep_blocks` undoes the change.
        what: ``full`` keeps only the block's input; ``selective`` also keeps the results of matrix products and of
            fused attention, and recomputes cheap operations; ``none`` changes nothing.
    """
    if what == "none":
        return
    recomputed: Any = partial(checkpoint, use_reentrant=False)
    if what == "selective":
        recomputed = partial(recomputed, context_fn=partial(create_selective_checkpoint_contexts, kept_operations()))
    for block in transformer_blocks(model):
        block.forward = partial(recomputed, block.forward)  # type: ignore[method-assign]


def keep_blocks(model: nn.Module) -> None:
    """Undo :func:`recompute_blocks`."""
    for block in transformer_blocks(model):
        vars(block).pop("forward", None)


def kept_operations() -> list[torch._ops.OpOverload]:
    """Return the slow operations, whose results selective recomputation keeps."""
    aten = torch.ops.aten
    return [
        aten.mm.default,
        aten.addmm.default,
        aten.bmm.default,
        aten._scaled_dot_product_flash_attention.default,
        aten._scaled_dot_product_efficient_attention.default,
        aten._scaled_dot_product_cudnn_attention.default,
        aten._scaled_dot_product_flash_attention_for_cpu.default,
    ]
