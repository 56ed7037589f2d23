"""Sharding of a method's weights across processes, block by block, with torch's FSDP2."""

from __future__ import annotations

from typing import Any

import lightning
import torch
from torch import Tensor, nn
from torch.distributed.device_mesh import DeviceMesh
from torch.distributed.fsdp import FSDPModule, MixedPrecisionPolicy, fully_shard
from torch.distributed.tensor import DTensor

from fairlab.backbones.backbone import Backbone, body
from fairlab.backbones.blocks import transformer_blocks
from fairlab.distributed import empty_share_output


def shard_by_block(method: Any, mesh: DeviceMesh, precision: str) -> None:
    """Shard the blocks of a method's model, and the rest of the method as one additional unit.

    A block's weights are gathered for its forward pass, freed after it, and gathered again for its backward pass. With
    ``bf16-mixed`` they are gathered in bfloat16, and gradients are summed over the processes in float32.
    """
    mixed = precision == "bf16-mixed"
    policy = MixedPrecisionPolicy(torch.bfloat16, torch.float32) if mixed else MixedPrecisionPolicy()
    for block in transformer_blocks(method.encoder.model):
        fully_shard(block, mesh=mesh, mp_policy=policy, reshard_after_forward=True)
    fully_shard(method, mesh=mesh, mp_policy=policy)


def empty_sharded_output(method: nn.Module, encoder: Backbone, *shape: int) -> Tensor:
    """Return the output for a batch without items, and gather every block, as processes with items do.

    See :func:`fairlab.distributed.empty_share_output`. The model is run on two padding tokens, which do not affect the
    gradient.
    """
    token_ids = torch.full((1, 2), encoder.padding_id, device=encoder.device)
    decoder = {"decoder_input_ids": token_ids} if encoder.model.config.is_encoder_decoder else {}
    read = encoder.model.base_model if decoder else body(encoder.model)
    hidden = read(input_ids=token_ids, attention_mask=torch.ones_like(token_ids), **decoder).last_hidden_state
    return empty_share_output(method, *shape) + 0.0 * hidden.sum()


SHARDING = "torch.distributed.fsdp"  # package of the hooks that restore shards


def gather_sharded_weights(method: lightning.LightningModule) -> None:
    """Restore the whole weights of a method that was trained in shards, and convert its parts back to plain modules."""
    if not isinstance(method, FSDPModule):
        return
    units = [module for module in method.modules() if isinstance(module, FSDPModule)]
    for unit in units:
        unit.reshard()
    whole: dict[int, nn.Parameter] = {}
    for module in list(method.modules()):
        for name, value in list(module._parameters.items()):
            if isinstance(value, DTensor):  # tied weights stay tied
                if id(value) not in whole:
                    whole[id(value)] = nn.Parameter(value.full_tensor().detach(), value.requires_grad)
                module._parameters[name] = whole[id(value)]
        remove_hooks(module, SHARDING)
    for unit in units:  # fully_shard also inserted a class before the module's own
        unit.__class__ = type(unit).__mro__[2]


def remove_hooks(module: nn.Module, made_in: str) -> None:
    """Remove the hooks that a package added to a module, and keep all others, such as hooks of transformers."""
    for name, hooks in vars(module).items():
        if name.endswith("_hooks"):
            for key, hook in list(hooks.items()):
                if str(getattr(getattr(hook, "hook", hook), "__module__", "")).startswith(made_in):
                    del hooks[key]
