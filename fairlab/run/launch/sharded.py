"""Sharding of weights, gradients and optimizer state across processes: torch's FSDP2, on GPUs or over gloo."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from pathlib import Path
from typing import Any

import lightning
from lightning.pytorch.strategies import ModelParallelStrategy

from fairlab.run.shards import ShardWriter, load_shards


class Sharded(ModelParallelStrategy):
    """Lightning's FSDP2 strategy with two kinds of checkpoints: sharded ones for resuming, and whole ones.

    Methods shard their own blocks; see :mod:`fairlab.methods.sharding`.
    """

    def __init__(self) -> None:
        super().__init__(save_distributed_checkpoint=False)
        self._publish: Callable[[], None] | None = None

    @cached_property
    def writer(self) -> ShardWriter:
        """Return the writer of sharded checkpoints.

        All processes must call this method at the same time.
        """
        return ShardWriter()

    def setup_environment(self) -> None:
        """Set up sharding across all processes."""
        self._data_parallel_size, self._tensor_parallel_size = self.num_nodes * self.num_processes, 1
        super().setup_environment()

    def start_checkpoint(self, trainer: lightning.Trainer, folder: Path, publish: Callable[[], None]) -> None:
        """Start to write a sharded checkpoint while training continues; see :meth:`ShardWriter.start`."""
        self.writer.wait()
        self._publish, self._save_distributed_checkpoint = publish, True
        try:
            trainer.save_checkpoint(folder)
        finally:
            self._publish, self._save_distributed_checkpoint = None, False

    def save_checkpoint(self, checkpoint: dict[str, Any], filepath: Any, storage_options: Any = None) -> None:
        """Write a whole checkpoint, or start to write a sharded one within :meth:`start_checkpoint`."""
        if self._publish is None:
            super().save_checkpoint(checkpoint, filepath, storage_options)
        else:
            self.writer.start(checkpoint, Path(filepath), self._publish)

    def load_checkpoint(self, checkpoint_path: Any, weights_only: bool | None = None) -> dict[str, Any]:
        """Load a whole or a sharded checkpoint."""
        if not Path(checkpoint_path).is_dir():
            return super().load_checkpoint(checkpoint_path, weights_only)
        assert self.model is not None
        return load_shards(Path(checkpoint_path), self.model, self.optimizers, self.writer.group)

    def training_step(self, *args: Any, **kwargs: Any) -> Any:
        """Run a training step through the model's forward call, which gathers the sharded weights."""
        with self.precision_plugin.train_step_context():
            return self._called("training_step", *args, **kwargs)

    def validation_step(self, *args: Any, **kwargs: Any) -> Any:
        """Run a validation step in the same way as :meth:`training_step`."""
        with self.precision_plugin.val_step_context():
            return self._called("validation_step", *args, **kwargs)

    def _called(self, step: str, *args: Any, **kwargs: Any) -> Any:
        assert self.model is not None
        assert self.lightning_module is not None
        return self._forward_redirection(self.model, self.lightning_module, step, *args, **kwargs)
