"""Weights, gradients and the optimizer's state divided among processes: torch's FSDP2, on GPUs or over gloo."""

from __future__ import annotations

from typing import Any

from lightning.pytorch.strategies import ModelParallelStrategy


class Sharded(ModelParallelStrategy):
    """Lightning's strategy of FSDP2, with a checkpoint in one file, which any number of processes goes on from.

    The method is divided as one unit, so that a process whose share of a batch is empty keeps step with the others.
    """

    def __init__(self) -> None:
        super().__init__(save_distributed_checkpoint=False)

    def setup_environment(self) -> None:
        """Divide among all processes."""
        self._data_parallel_size, self._tensor_parallel_size = self.num_nodes * self.num_processes, 1
        super().setup_environment()

    def training_step(self, *args: Any, **kwargs: Any) -> Any:
        """A step by way of the method's call, around which the weights are put together."""
        with self.precision_plugin.train_step_context():
            return self._called("training_step", *args, **kwargs)

    def validation_step(self, *args: Any, **kwargs: Any) -> Any:
        """As :meth:`training_step`."""
        with self.precision_plugin.val_step_context():
            return self._called("validation_step", *args, **kwargs)

    def _called(self, step: str, *args: Any, **kwargs: Any) -> Any:
        assert self.model is not None
        assert self.lightning_module is not None
        return self._forward_redirection(self.model, self.lightning_module, step, *args, **kwargs)
