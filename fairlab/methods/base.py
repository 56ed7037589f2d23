"""Base classes of methods, with checks of settings and the training loop of methods that train in steps.

A method derives from :class:`Trained`, a LightningModule, or from :class:`Fitted`, which computes its change without
training steps. Both derive from :class:`OfEncoder` and implement :class:`fairlab.protocols.Method`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import lightning
import torch
from lightning.pytorch.utilities.types import OptimizerLRScheduler
from torch import Tensor, nn
from torch.distributed.fsdp import FSDPModule
from torch.optim import Optimizer
from torch.optim.lr_scheduler import LRScheduler

from fairlab.backbones.backbone import Backbone
from fairlab.backbones.export import export_backbone
from fairlab.backbones.trust import WEIGHTS
from fairlab.checks.completeness import HOW
from fairlab.data.seeding import seed_of
from fairlab.distributed import empty_share_output, gather_over_ranks
from fairlab.methods.loss_watch import LossWatch
from fairlab.methods.optimizing import Decayed, linear, make_optimizer, make_schedule, takes_one_pass
from fairlab.methods.sharding import empty_sharded_output, shard_by_block
from fairlab.types import FairlabError


class OfEncoder:
    """Base class of methods that change a pretrained model in place.

    Attributes:
        title: Name of the method in reports and model cards.
        limits: One or two sentences about the method's limitations, for the model card.
        citation: BibTeX entry of the publication, or a sentence that credits the authors.
        encoder: Backbone to train.
        epochs: Number of passes over the training data.
        validate_every: Number of training steps between two validations.
        steps: Maximum number of training steps; None trains for all epochs.
        monitor: Name of the validation metric whose lowest value selects the weights.
        patience: Number of validations without improvement after which training stops; None disables early stopping.
        measurable_before: Whether the model can be measured before training.
    """

    title: str
    limits: str
    citation: str
    encoder: Backbone
    epochs: int
    validate_every: int
    steps: int | None = None
    monitor = "validation/loss"
    patience: int | None = None
    measurable_before = True

    def facts(self) -> dict[str, object]:
        """Return the facts about the trained model that the record holds in addition to the configuration."""
        return {"title": self.title, "limits": self.limits, "citation": self.citation}

    def measured(self, phase: str) -> Backbone:
        """Return the model that benchmarks measure in a phase: ``before`` or ``after`` training.

        Both phases return the same object, in its current state.
        """
        return self.encoder

    def digest(self) -> str:
        """Return a hash of the model's weights, which shows whether training changed the model."""
        return self.encoder.digest()

    def finish(self, folder: Path) -> None:
        """Complete the model after training, for example by writing adapters to the run folder and merging them."""

    def export(self, folder: Path, card: str) -> Path:
        """Write the model and its card to a folder, and return the path of the weights."""
        export_backbone(self.encoder, folder, card)
        return folder / WEIGHTS


class Fitted(OfEncoder):
    """Base class of methods that are fitted without training steps, such as projections."""

    epochs = validate_every = 1

    def fit(self, data: Any) -> None:
        """Compute the change to the encoder from the training data, and apply it.

        Raises:
            FairlabError: The class does not define this method.
        """
        raise FairlabError(f"the method {type(self).__name__} has no fit; give its class one, {HOW}")


class Trained(OfEncoder, lightning.LightningModule):
    """Base class of methods that train in steps.

    Attributes:
        seed: Seed of dropout and masks. The randomness of a step depends only on the seed and the step, so a resumed
            run repeats the steps of an uninterrupted one.
        clip: Maximum norm of the gradient; None disables clipping.
        optimizer: Callable that makes the optimizer, see :mod:`fairlab.methods.optimizing`. A configuration can replace
            it.
        schedule: Callable that makes the learning-rate schedule; None keeps the learning rate constant.
        decayed: Weights to which weight decay applies, ``all`` or ``matrices``.
        items_are: Plural noun for the items in a batch, used in error messages.
    """

    seed: int
    lr: float
    clip: float | None = None
    optimizer: Callable[..., Optimizer] = torch.optim.AdamW
    schedule: Callable[..., LRScheduler] | None = staticmethod(linear)
    decayed: Decayed = "all"
    items_are = "items"

    def __init__(self) -> None:
        super().__init__()
        self.losses_seen = LossWatch(self.refuse_not_finite)

    def configure_model(self) -> None:
        """Shard the weights over the processes if the trainer asks for it."""
        if self.device_mesh is not None and not isinstance(self, FSDPModule):
            shard_by_block(self, self.device_mesh["data_parallel"], self.trainer.precision)

    def on_train_batch_start(self, batch: Any, batch_idx: int) -> None:
        """Seed the random generator for the step."""
        torch.manual_seed(seed_of(self.seed, batch_idx * self.trainer.world_size + self.global_rank))

    def empty_share(self, *shape: int) -> Tensor:
        """Return the output for a batch without items: an empty tensor, or 0 if no shape is given.

        Its gradient is 0 for all trained weights.

        Call it exactly once per step, because all processes wait for each other to gather sharded blocks.
        """
        if isinstance(self, FSDPModule):
            return empty_sharded_output(self, self.encoder, *shape)
        return empty_share_output(self, *shape)

    def log_training(self, parts: Mapping[str, Tensor], size: int, items: Sequence[str] = ()) -> None:
        """Log ``loss`` and the other values of a step, each computed over the whole batch.

        Loggers receive the values later, from the run's history, so this call does not wait for the device. An infinite
        or NaN loss is detected within ``CHECK_EVERY`` batches, and before any validation or checkpoint.

        Raises:
            FairlabError: The loss of this batch, or of an earlier one, is not finite.
        """
        self.losses_seen.add(self.global_step + 1, parts["loss"], items)
        self.log_dict({f"train/{name}": value for name, value in parts.items()}, batch_size=size, logger=False)

    def on_validation_start(self) -> None:
        """Check that the losses of the preceding steps are finite."""
        self.losses_seen.check()

    def on_train_end(self) -> None:
        """Check that the losses of the last steps are finite."""
        self.losses_seen.check()

    def on_save_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        """Check that the losses before the checkpoint are finite."""
        self.losses_seen.check()

    def refuse_not_finite(self, loss: float, step: int, items: Sequence[str], name: str = "loss") -> None:
        """Raise FairlabError about a loss that is infinite or NaN."""
        where = ", ".join(one for of_process in gather_over_ranks(list(items)) for one in of_process)
        raise FairlabError(
            f"the {name} became {loss} at step {step}{f', in the {self.items_are} {where}' if where else ''}; "
            f"{'check their texts or ' if where else ''}lower method.lr"
        )

    def refuse_validation_loss(self, loss: Tensor, items: Sequence[str] = ()) -> None:
        """Raise an error if a validation loss is infinite or NaN; see :meth:`refuse_not_finite`."""
        if not torch.isfinite(loss):
            self.refuse_not_finite(loss.item(), self.global_step + 1, items, "validation loss")

    @property
    def trained_weights(self) -> list[nn.Parameter]:
        """Return the trainable weights."""
        return [parameter for parameter in self.parameters() if parameter.requires_grad]

    @property
    def trained_parameters(self) -> int:
        """Return the number of trainable weights."""
        return sum(parameter.numel() for parameter in self.trained_weights)

    def configure_optimizers(self) -> OptimizerLRScheduler:
        """Make the optimizer, and the schedule that updates the learning rate at every step.

        The fused implementation is used if the optimizer offers it, because on a CPU it takes a quarter of the time of
        updating weight by weight. It is not used when clipping needs unscaled gradients (``precision=16-mixed``).
        """
        values = {"lr": self.lr, "weight_decay": getattr(self, "weight_decay", 0.0)}
        values |= {"betas": self.betas} if hasattr(self, "betas") else {}
        if takes_one_pass(self.optimizer):
            values["fused"] = self.trainer.precision != "16-mixed" or not self.clip
        optimizer = make_optimizer(self.optimizer, self.trained_weights, self.decayed, values)
        if self.schedule is None:
            return optimizer
        # The trainer's own estimate would create the loader before a resumed run knows which data it has used.
        batches: int = self.trainer.datamodule.total_batches  # type: ignore[attr-defined]
        steps = -(-batches // self.trainer.accumulate_grad_batches)
        values = {"warmup": getattr(self, "warmup", 0.0), "floor": getattr(self, "decay", 0.0)}
        schedule = make_schedule(self.schedule, optimizer, min(steps, self.steps or steps), values)
        return {"optimizer": optimizer, "lr_scheduler": {"scheduler": schedule, "interval": "step"}}

    def configure_gradient_clipping(
        self,
        optimizer: Any,
        gradient_clip_val: float | None = None,
        gradient_clip_algorithm: str | None = None,
    ) -> None:
        """Clip the gradient as the trainer specifies or, by default, to the method's maximum norm.

        Lightning itself refuses to clip gradients for a fused optimizer.
        """
        if gradient_clip_val and gradient_clip_algorithm == "value":
            torch.nn.utils.clip_grad_value_(self.trained_weights, gradient_clip_val)
        elif norm := gradient_clip_val if gradient_clip_val is not None else self.clip:
            torch.nn.utils.clip_grad_norm_(self.trained_weights, norm)
