"""What methods share: the encoder that they change, checks of values, and the steps of those that train.

A method derives from :class:`Trained`, a LightningModule, or from :class:`Fitted`, which finds its change without
training steps; both are :class:`OfEncoder` and meet :class:`fairlab.protocols.Method`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import lightning
import torch
from lightning.pytorch.utilities.types import OptimizerLRScheduler
from torch import Tensor, nn
from torch.distributed.fsdp import FSDPModule, fully_shard
from torch.distributed.tensor import DTensor
from torch.optim import Optimizer
from torch.optim.lr_scheduler import LRScheduler

from fairlab.backbones.backbone import Backbone
from fairlab.backbones.export import export_backbone
from fairlab.backbones.trust import WEIGHTS
from fairlab.data.seeding import seed_of
from fairlab.methods.optimizing import Decayed, linear, make_optimizer, make_schedule, takes_one_pass
from fairlab.types import FairlabError


class OfEncoder:
    """A method that changes a pretrained model in place.

    Attributes:
        title: Name of the method in reports and model cards.
        limits: What its readings do not show, in one or two sentences for the model card.
        citation: BibTeX entry of its publication, or a sentence that says whose work it is.
        encoder: the backbone that is trained.
        epochs: number of passes over the training data.
        validate_every: number of training steps between two validations.
        steps: most training steps; None trains for all epochs.
        monitor: the validation value whose lowest chooses the weights.
        patience: number of validations without a lower value after which training stops; None never stops it.
        measurable_before: whether the model can be measured before training.
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
        """Return what the record holds about the trained model in addition to its configuration."""
        return {"title": self.title, "limits": self.limits, "citation": self.citation}

    def measured(self, phase: str) -> Backbone:
        """The model that benchmarks measure in a phase, ``before`` or ``after``: the same object, as it is then."""
        return self.encoder

    def digest(self) -> str:
        """A hash of the model's weights, by which a run tells whether anything was learned."""
        return self.encoder.digest()

    def finish(self, folder: Path) -> None:
        """What is left to do after training, such as to merge adapters, which are then written into the run folder."""

    def export(self, folder: Path, card: str) -> Path:
        """Write the model with its card into a folder, and return the file of its weights."""
        export_backbone(self.encoder, folder, card)
        return folder / WEIGHTS


class Fitted(OfEncoder):
    """A method without training steps, such as a projection."""

    epochs = validate_every = 1

    def fit(self, data: Any) -> None:
        """Find what is to be changed from the training data, and change the encoder."""
        raise NotImplementedError


class Trained(OfEncoder, lightning.LightningModule):
    """A method that trains in steps.

    Attributes:
        seed: decides dropout and masks, together with the step alone, so that a continued run repeats the steps of an
            uninterrupted one.
        clip: the largest norm of the gradient; None leaves gradients as they are.
        optimizer: what makes the optimizer, see :mod:`fairlab.methods.optimizing`; a configuration sets its own.
        schedule: what makes the schedule of the learning rate; None leaves the rate as it is.
        decayed: weights that decay, ``all`` or ``matrices``.
    """

    seed: int
    lr: float
    clip: float | None = None
    optimizer: Callable[..., Optimizer] = torch.optim.AdamW
    schedule: Callable[..., LRScheduler] | None = partial(linear)
    decayed: Decayed = "all"

    def configure_model(self) -> None:
        """Divide the weights among the processes, where the trainer asks for it."""
        if self.device_mesh is not None and not isinstance(self, FSDPModule):
            fully_shard(self, mesh=self.device_mesh["data_parallel"])

    def on_train_batch_start(self, batch: Any, batch_idx: int) -> None:
        """Seed the step."""
        torch.manual_seed(seed_of(self.seed, batch_idx * self.trainer.world_size + self.global_rank))

    def log_training(self, parts: Mapping[str, Tensor], size: int) -> None:
        """Log ``loss`` and the other parts of a step, all of the whole batch.

        Args:
            parts: values to log by name, of which ``loss`` is one.
            size: number of items in this process's share of the batch.

        Raises:
            FairlabError: the loss is not finite.
        """
        self.stop_unless_finite(parts["loss"])
        self.log_dict({f"train/{name}": value for name, value in parts.items()}, batch_size=size)
        self.log("loss", parts["loss"], prog_bar=True, logger=False, batch_size=size)

    def stop_unless_finite(self, loss: Tensor, name: str = "loss", where: str = "") -> None:
        """Stop the run at a loss that is infinite or no number.

        Args:
            loss: the loss of the whole batch.
            name: what the message calls it.
            where: what else the message says of the batch.

        Raises:
            FairlabError: the loss is not finite.
        """
        if not torch.isfinite(loss):
            raise FairlabError(
                f"the {name} became {loss.item()} at step {self.global_step + 1}{where}; "
                f"{'look at their texts or ' if where else ''}lower method.lr"
            )

    @property
    def trained_weights(self) -> list[nn.Parameter]:
        """The weights that are trained."""
        return [parameter for parameter in self.parameters() if parameter.requires_grad]

    @property
    def trained_parameters(self) -> int:
        """Number of trained weights."""
        return sum(parameter.numel() for parameter in self.trained_weights)

    def configure_optimizers(self) -> OptimizerLRScheduler:
        """Make the optimizer, and the schedule, which moves the learning rate at every step.

        All weights are updated in one pass where the optimizer offers it, in a quarter of the time that one after the
        other takes on a CPU; not where clipping wants gradients whose scale (``precision=16-mixed``) is undone.
        """
        values = {"lr": self.lr, "weight_decay": getattr(self, "weight_decay", 0.0)}
        values |= {"betas": self.betas} if hasattr(self, "betas") else {}
        if takes_one_pass(self.optimizer):
            values["fused"] = self.trainer.precision != "16-mixed" or not self.clip
        optimizer = make_optimizer(self.optimizer, self.trained_weights, self.decayed, values)
        if self.schedule is None:
            return optimizer
        steps = optimizer_steps(self)
        values = {"warmup": getattr(self, "warmup", 0.0), "floor": getattr(self, "decay", 0.0)}
        schedule = make_schedule(self.schedule, optimizer, min(steps, self.steps or steps), values)
        return {"optimizer": optimizer, "lr_scheduler": {"scheduler": schedule, "interval": "step"}}

    def configure_gradient_clipping(
        self,
        optimizer: Any,
        gradient_clip_val: float | None = None,
        gradient_clip_algorithm: str | None = None,
    ) -> None:
        """Clip the gradient by the trainer's value, else its norm by the method's.

        Lightning itself refuses to clip for an optimizer of one pass.
        """
        if gradient_clip_val and gradient_clip_algorithm == "value":
            torch.nn.utils.clip_grad_value_(self.trained_weights, gradient_clip_val)
        elif norm := gradient_clip_val if gradient_clip_val is not None else self.clip:
            torch.nn.utils.clip_grad_norm_(self.trained_weights, norm)


def refuse_unless_above_zero(**values: Any) -> None:
    """Raise unless every value of the method's configuration is a number above 0."""
    for name, value in values.items():
        if isinstance(value, str) or not value > 0:
            raise FairlabError(f"method.{name} must be above 0, not {value}")


def refuse_below(lowest: int, **values: Any) -> None:
    """Raise unless every value of the method's configuration is at least ``lowest``, or None."""
    for name, value in values.items():
        if value is not None and (isinstance(value, str) or not value >= lowest):
            bound = "0 or more" if lowest == 0 else f"at least {lowest}"
            raise FairlabError(f"method.{name} must be {bound}, not {value}")


def optimizer_steps(method: lightning.LightningModule) -> int:
    """Steps of the optimizer in a run: the trainer's batches over those it accumulates."""
    # Not the trainer's estimate, which would make the loader before a continued run knows what it has used.
    batches: int = method.trainer.datamodule.total_batches  # type: ignore[attr-defined]
    return -(-batches // method.trainer.accumulate_grad_batches)


def gather_sharded_weights(method: lightning.LightningModule) -> None:
    """Give a method that was trained in shards whole weights again, and make it the plain module that it was."""
    if not isinstance(method, FSDPModule):
        return
    method.reshard()
    whole: dict[int, nn.Parameter] = {}
    for module in list(method.modules()):
        for name, value in list(module._parameters.items()):
            if isinstance(value, DTensor):  # tied weights stay tied
                if id(value) not in whole:
                    whole[id(value)] = nn.Parameter(value.full_tensor().detach(), value.requires_grad)
                module._parameters[name] = whole[id(value)]
                module._load_state_dict_post_hooks.clear()
    # What else fully_shard added: hooks, which would put the shards back, and a class before the method's own.
    for hooks in (method._forward_pre_hooks, method._forward_hooks):
        hooks.clear()
    for hooks in (method._state_dict_pre_hooks, method._load_state_dict_pre_hooks):
        hooks.clear()
    method.__class__ = type(method).__mro__[2]
