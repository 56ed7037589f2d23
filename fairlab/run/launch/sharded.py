"""Weights, gradients and optimizer state sharded across processes: torch's FSDP2, on GPUs or over gloo."""

from __future__ import annotations

from typing import Any

from lightning.pytorch.strategies import ModelParallelStrategy


class Sharded(ModelParallelStrategy):
    """Lightning's FSDP2 strategy with a checkpoint in one file, which any number of processes can resume from.

    A method shards its blocks itself, see :mod:`fairlab.methods.sharding`.
    """

    def __init__(self) -> None:
        super().__init__(save_distributed_checkpoint=False)

    def setup_environment(self) -> None:
        """Shard across all processes."""
        self._data_parallel_size, self._tensor_parallel_size = self.num_nodes * self.num_processes, 1
        super().setup_environment()

    def training_step(self, *args: Any, **kwargs: Any) -> Any:
        """Run a step through the method's call, around which the weights are gathered."""
        with self.precision_plugin.train_step_context():
            return self._called("training_step", *args, **kwargs)

    def validation_step(self, *args: Any, **kwargs: Any) -> Any:
        """Run a step, as in :meth:`training_step`."""
        with self.precision_plugin.val_step_context():
            return self._called("validation_step", *args, **kwargs)

    def _called(self, step: str, *args: Any, **kwargs: Any) -> Any:
        assert self.model is not None
        assert self.lightning_module is not None
        return self._forward_redirection(self.model, self.lightning_module, step, *args, **kwargs)
