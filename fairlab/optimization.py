"""What methods share of their optimization: steps of a run, a schedule over them, clipped gradients."""

from __future__ import annotations

from typing import Any

import lightning
import torch
from lightning.pytorch.utilities.types import OptimizerLRScheduler
from torch.optim.lr_scheduler import LRScheduler


def optimizer_steps(method: lightning.LightningModule) -> int:
    """Steps of the optimizer in a run: the trainer's batches over those it accumulates."""
    # Not the trainer's estimate, which would make the loader before a continued run knows what it has used.
    batches: int = method.trainer.datamodule.total_batches  # type: ignore[attr-defined]
    return -(-batches // method.trainer.accumulate_grad_batches)


def scheduled(optimizer: torch.optim.Optimizer, scheduler: LRScheduler) -> OptimizerLRScheduler:
    """An optimizer and the scheduler of its learning rate, which moves at every step."""
    return {"optimizer": optimizer, "lr_scheduler": {"scheduler": scheduler, "interval": "step"}}


class Clipped(lightning.LightningModule):
    """A method that clips its gradient's norm.

    Attributes:
        clip: the largest norm; None leaves gradients as they are.
    """

    clip: float | None = None

    def configure_gradient_clipping(self, optimizer: Any, *_: Any, **__: Any) -> None:
        """Clip the gradient's norm."""
        if self.clip:
            self.clip_gradients(optimizer, gradient_clip_val=self.clip, gradient_clip_algorithm="norm")
