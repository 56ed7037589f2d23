"""What methods share of their optimization: steps of a run, a schedule over them, clipped gradients."""

from __future__ import annotations

from typing import Any

import lightning
import torch
from lightning.pytorch.utilities.types import OptimizerLRScheduler
from torch import nn
from torch.distributed.fsdp import FullyShardedDataParallel
from torch.optim.lr_scheduler import LRScheduler


def optimizer_steps(method: lightning.LightningModule) -> int:
    """Steps of the optimizer in a run: the trainer's batches over those it accumulates."""
    # Not the trainer's estimate, which would make the loader before a continued run knows what it has used.
    batches: int = method.trainer.datamodule.total_batches  # type: ignore[attr-defined]
    return -(-batches // method.trainer.accumulate_grad_batches)


def scheduled(optimizer: torch.optim.Optimizer, scheduler: LRScheduler) -> OptimizerLRScheduler:
    """An optimizer and the scheduler of its learning rate, which moves at every step."""
    return {"optimizer": optimizer, "lr_scheduler": {"scheduler": scheduler, "interval": "step"}}


def gather_sharded_weights(method: lightning.LightningModule) -> None:
    """Give a method that was trained in shards plain weights again, of the same shapes but without values."""
    sharded = method.trainer.strategy.model
    if not isinstance(sharded, FullyShardedDataParallel):
        return
    plain: dict[int, nn.Parameter] = {}
    with FullyShardedDataParallel.summon_full_params(sharded, writeback=False):
        for module in list(method.modules()):
            for name, value in list(module._parameters.items()):
                if value is not None:  # tied weights stay tied
                    copied = plain.setdefault(id(value), nn.Parameter(value.detach().clone(), value.requires_grad))
                    plain[id(copied)] = copied
                    module._parameters[name] = copied


class Clipped(lightning.LightningModule):
    """A method that clips its gradient's norm.

    Attributes:
        clip: norm at which the gradient is clipped; None leaves gradients as they are.
    """

    clip: float | None = None

    def configure_gradient_clipping(self, optimizer: Any, *_: Any, **__: Any) -> None:
        """Clip the gradient's norm."""
        sharded = self.trainer.strategy.model
        if self.clip and isinstance(sharded, FullyShardedDataParallel):
            sharded.clip_grad_norm_(self.clip)  # of the gradients in all processes
        elif self.clip:
            self.clip_gradients(optimizer, gradient_clip_val=self.clip, gradient_clip_algorithm="norm")
