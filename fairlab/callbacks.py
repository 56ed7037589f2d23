"""What training keeps beside its checkpoints."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import lightning
from lightning.pytorch.callbacks import Callback, ModelCheckpoint


class History(Callback):
    """Loss of every training step and the metrics of every validation, carried along in checkpoints.

    Attributes:
        rows: ``{"step": ..., name: value, ...}`` in order.
        seconds: wall time per training step, of this process only.
    """

    def __init__(self) -> None:
        self.rows: list[dict[str, float]] = []
        self.seconds: list[float] = []
        self._started = 0.0

    def on_train_batch_start(self, trainer: lightning.Trainer, *_: Any) -> None:
        """Start the clock of a step."""
        self._started = time.perf_counter()

    def on_train_batch_end(self, trainer: lightning.Trainer, *_: Any) -> None:
        """Add a training row."""
        self.seconds.append(time.perf_counter() - self._started)
        self._add(trainer, "train/")

    def on_validation_end(self, trainer: lightning.Trainer, *_: Any) -> None:
        """Add a validation row."""
        self._add(trainer, "validation/")

    def _add(self, trainer: lightning.Trainer, prefix: str) -> None:
        values = {name: float(value) for name, value in trainer.callback_metrics.items() if name.startswith(prefix)}
        self.rows.append({"step": trainer.global_step, **values})

    def state_dict(self) -> dict[str, Any]:
        """Rows so far, for the checkpoint."""
        return {"rows": list(self.rows)}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Rows of the run that is continued."""
        self.rows = list(state_dict["rows"])


class Last(Callback):
    """Writes ``last.ckpt``, from which a killed run goes on.

    Where a validation falls on the same step, the checkpoint comes one step later: taken before the validation, it
    would not hold its outcome, and the continued run would not repeat it.

    Args:
        path: of the checkpoint; replaced whole.
        every: training steps between two.
    """

    def __init__(self, path: Path, every: int) -> None:
        self.path = path
        self.every = every

    def on_train_batch_end(self, trainer: lightning.Trainer, *_: Any) -> None:
        """Save when due."""
        step = trainer.global_step
        if self._due(step, trainer) or self._due(step - 1, trainer, validated=True):
            trainer.save_checkpoint(self.path)

    def _due(self, step: int, trainer: lightning.Trainer, validated: bool = False) -> bool:
        return step > 0 and step % self.every == 0 and (step % int(trainer.val_check_batch) == 0) == validated


def best_checkpoint(folder: Path) -> ModelCheckpoint:
    """``best.ckpt``: the weights of the lowest validation loss."""
    return ModelCheckpoint(
        folder,
        filename="best",
        monitor="validation/loss",
        save_top_k=1,
        save_weights_only=True,
        enable_version_counter=False,
    )
