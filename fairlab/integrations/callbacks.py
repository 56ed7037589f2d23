"""Callbacks for the trainers of transformers and Lightning that measure a model at intervals during training."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import lightning
from transformers import TrainerCallback, TrainerControl, TrainerState, TrainingArguments

from fairlab.integrations.measuring import measured_values, refuse_interval
from fairlab.protocols import Benchmark
from fairlab.types import FairlabError


class TransformersFairness(TrainerCallback):
    """Callback for transformers' ``Trainer`` that measures the model every ``every`` steps and at the end.

    Readings are logged as ``fairlab/KEY`` by the trainer's own loggers, and are kept in ``history``.

    Args:
        benchmarks: Benchmarks, or their names.
        every: Number of steps between measurements.
        settings: Configuration values by dotted key, such as ``benchmark.seat.tests``.
        limit: Maximum number of items per benchmark; None for all.
        tokenizer: Tokenizer of the model; None for the trainer's processing class.
    """

    def __init__(
        self,
        benchmarks: str | Benchmark | Sequence[str | Benchmark],
        every: int,
        settings: Mapping[str, Any] | None = None,
        limit: int | None = None,
        tokenizer: Any = None,
    ) -> None:
        self.benchmarks, self.every = benchmarks, refuse_interval(every)
        self.settings, self.limit, self.tokenizer = settings, limit, tokenizer
        self.history: list[dict[str, float]] = []

    def on_step_end(self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **given: Any) -> None:
        """Measure the model every ``every`` steps."""
        if state.global_step % self.every == 0:
            self._measure(state, given)

    def on_train_end(self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **given: Any) -> None:
        """Measure the final weights unless they were measured after the last step."""
        if not self.history or self.history[-1]["step"] != state.global_step:
            self._measure(state, given)

    def _measure(self, state: TrainerState, given: Mapping[str, Any]) -> None:
        if not state.is_world_process_zero:
            return
        tokenizer = self.tokenizer or given.get("processing_class")
        if tokenizer is None:
            raise FairlabError("the trainer has no tokenizer; pass tokenizer=... to TransformersFairness")
        found = measured_values((given["model"], tokenizer), self.benchmarks, self.settings, self.limit)
        row = {f"fairlab/{key}": value for key, value in found.items()}
        self.history.append({"step": float(state.global_step), **row})
        state.log_history.append({"step": state.global_step, **row})


class LightningFairness(lightning.Callback):
    """Callback for Lightning that measures a module's model every ``every`` steps and at the end.

    Readings are logged as ``fairlab/KEY`` by the trainer's loggers, and are kept in ``history``.

    Args:
        benchmarks: Benchmarks, or their names.
        every: Number of steps between measurements.
        model: Name of the module's attribute that holds the model: a ``SentenceTransformer``, a backbone, or a
            transformers model.
        tokenizer: Tokenizer of a transformers model; None for other models.
        settings: Configuration values by dotted key, such as ``benchmark.seat.tests``.
        limit: Maximum number of items per benchmark; None for all.
    """

    def __init__(
        self,
        benchmarks: str | Benchmark | Sequence[str | Benchmark],
        every: int,
        model: str = "model",
        tokenizer: Any = None,
        settings: Mapping[str, Any] | None = None,
        limit: int | None = None,
    ) -> None:
        self.benchmarks, self.every, self.model = benchmarks, refuse_interval(every), model
        self.tokenizer, self.settings, self.limit = tokenizer, settings, limit
        self.history: list[dict[str, float]] = []

    def on_train_batch_end(self, trainer: lightning.Trainer, pl_module: lightning.LightningModule, *_: Any) -> None:
        """Measure the model every ``every`` steps.

        A step over several accumulated batches is measured only once.
        """
        step = trainer.global_step
        if step and step % self.every == 0 and not (self.history and self.history[-1]["step"] == step):
            self._measure(trainer, pl_module)

    def on_train_end(self, trainer: lightning.Trainer, pl_module: lightning.LightningModule) -> None:
        """Measure the final weights unless they were measured after the last step."""
        if not self.history or self.history[-1]["step"] != trainer.global_step:
            self._measure(trainer, pl_module)

    def _measure(self, trainer: lightning.Trainer, module: lightning.LightningModule) -> None:
        if not trainer.is_global_zero:
            return
        model = getattr(module, self.model, None)
        if model is None:
            raise FairlabError(
                f"{type(module).__name__} has no '{self.model}'; "
                "set model to the name of the attribute that holds the model"
            )
        measured = model if self.tokenizer is None else (model, self.tokenizer)
        found = measured_values(measured, self.benchmarks, self.settings, self.limit)
        row = {f"fairlab/{key}": value for key, value in found.items()}
        self.history.append({"step": float(trainer.global_step), **row})
        for logger in trainer.loggers:
            logger.log_metrics(row, step=trainer.global_step)
