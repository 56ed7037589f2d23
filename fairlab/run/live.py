"""Live figures of a training run (speed, share of peak performance, memory, time left).

The figures are shown in the progress bar and sent to the loggers.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import lightning
import torch
from lightning.pytorch.callbacks import RichProgressBar
from torch import nn

from fairlab.data.batch_stream import batches_done
from fairlab.distributed import ranks
from fairlab.run.history import History
from fairlab.run.planning.hours import Device, gpus
from fairlab.run.planning.work import training_flops


@dataclass(frozen=True)
class Figures:
    """Conversion of one run's batches per second to other figures.

    Attributes:
        tokens: Average number of tokens per batch over all processes; 0 if unknown.
        batches: Number of batches of the run.
    """

    tokens: float
    batches: int

    def of(self, trainer: lightning.Trainer, module: nn.Module, rate: float) -> dict[str, float]:
        """Return the figures at a speed of ``rate`` batches per second.

        Returns:
            ``seconds_left`` of training, without validations; and, if known, ``tokens_per_second`` over all processes,
            ``memory_gb``, the peak memory on this process's GPU, and ``share_of_peak``, the FLOP/s of training (see
            :func:`flops_of_a_token`) divided by the manufacturer's peak performance for the precision.
        """
        found = {"seconds_left": (self.batches - batches_done(trainer)) / rate}
        if self.tokens:
            found["tokens_per_second"] = self.tokens * rate
        device = trainer.strategy.root_device
        if device.type == "cuda":
            found["memory_gb"] = torch.cuda.max_memory_allocated(device) / 1e9
            if self.tokens and (peak := peak_of(torch.cuda.get_device_name(device), trainer.precision, gpus())):
                found["share_of_peak"] = flops_of_a_token(module) * self.tokens * rate / (peak * ranks())
        return found


def peak_of(name: str, precision: str, devices: list[Device]) -> float | None:
    """Return the peak FLOP/s of a GPU by its name, such as ``NVIDIA H100 80GB HBM3``, or None if it is not listed."""
    for device in devices:
        if name.startswith(device.name):
            return device.bf16 if "16" in precision else device.float32
    return None


def flops_of_a_token(module: nn.Module) -> float:
    """Return the FLOPs of training per token: 6 N, or 4 N if less than half of the weights are trained.

    N is the number of parameters without embedding tables.
    """
    tables = {id(one.weight) for one in module.modules() if isinstance(one, nn.Embedding)}
    counts = [(one.numel(), one.requires_grad) for one in module.parameters() if id(one) not in tables]
    total, trained = sum(count for count, _ in counts), sum(count for count, is_trained in counts if is_trained)
    return training_flops(total, 1.0, adapters=trained < total / 2)


class LiveBar(RichProgressBar):
    """Progress bar that shows the latest loss and live figures of a history."""

    def __init__(self, history: History) -> None:
        super().__init__()
        self.history = history

    def get_metrics(self, trainer: lightning.Trainer, pl_module: lightning.LightningModule) -> dict[str, Any]:
        """Return the values shown to the right of the bar."""
        shown = {"loss": f"{loss:.4g}"} if (loss := self.history.last.get("train/loss")) is not None else {}
        live = self.history.live
        words = {
            "tokens/s": ("tokens_per_second", "{:,.0f}"),
            "of peak": ("share_of_peak", "{:.0%}"),
            "GB": ("memory_gb", "{:.1f}"),
            "hours left": ("hours_left", "{:.1f}"),
        }
        live = {**live, "hours_left": live["seconds_left"] / 3600} if live else {}
        shown |= {word: form.format(live[name]) for word, (name, form) in words.items() if name in live}
        return super().get_metrics(trainer, pl_module) | shown
