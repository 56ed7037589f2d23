"""Functions called within a run's processes (ranks), which split batches and combine results."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any, TypeVar

from fairlab.types import FairlabError

if TYPE_CHECKING:  # torch is imported lazily so that --help is fast
    import torch
    from torch import Tensor, nn

Batch = TypeVar("Batch")
Value = TypeVar("Value")


def rank() -> int:
    """Return the rank of this process, counted from 0."""
    return torch_distributed().get_rank() if is_distributed() else 0


def ranks() -> int:
    """Return the number of processes of the run."""
    return int(torch_distributed().get_world_size()) if is_distributed() else 1


def is_distributed() -> bool:
    """Return whether the run has several connected processes."""
    return "torch" in sys.modules and torch_distributed().is_available() and bool(torch_distributed().is_initialized())


def torch_distributed() -> Any:
    """Return the module ``torch.distributed``, imported on first use."""
    import torch.distributed

    return torch.distributed


def device(wanted: str | None = None) -> str:
    """Return the device of this process: a GPU if there is one, otherwise the CPU.

    Processes share GPUs evenly. ``wanted`` is a device to use instead, in torch's notation, such as ``cpu`` or
    ``cuda:1``.

    Raises:
        FairlabError: The wanted device is unknown or cannot be used on this machine.
    """
    import torch

    if wanted is not None:
        try:
            torch.zeros(1, device=torch.device(wanted)).tolist()
        except (RuntimeError, AssertionError, NotImplementedError, TypeError, ValueError) as error:
            reason = " ".join(str(error).split())[:150]
            raise FairlabError(f"device={wanted} cannot be used here ({reason}); omit it, or set device=cpu") from error
        return wanted
    return f"cuda:{rank() % torch.cuda.device_count()}" if torch.cuda.is_available() else "cpu"


def sum_over_ranks(values: Tensor) -> Tensor:
    """Return the sum of the values over all processes, without a gradient."""
    found = values.detach()
    if ranks() > 1:
        found = found.clone()
        torch_distributed().all_reduce(found)
    return found


def gather_over_ranks(value: Value) -> list[Value]:
    """Return the values of all processes, in the order of their ranks."""
    if ranks() == 1:
        return [value]
    values: list[Any] = [None] * ranks()
    torch_distributed().all_gather_object(values, value)
    return values


def mean_or_zero(values: Tensor) -> Tensor:
    """Return the mean of per-item values, or 0 if this process has no items."""
    return values.mean() if len(values) else values.sum()


def own_share(items: Sequence[Value]) -> Sequence[Value]:
    """Return this process's items of a whole batch: every ``ranks()``-th item, starting at its rank."""
    return items[rank() :: ranks()]


def without_items(batch: Batch) -> Batch:
    """Return a copy of a batch without items: tensors and lists become empty, other values are kept."""

    def of(value: Any) -> Any:
        return value[:0] if isinstance(value, list) or hasattr(value, "new_empty") else value

    return replace(batch, **{field.name: of(getattr(batch, field.name)) for field in fields(batch)})  # type: ignore


def empty_share_output(module: nn.Module, *shape: int) -> Tensor:
    """Return the output of a module for a batch without items.

    A process without items must still take part when gradients are combined, but models reject empty batches. The
    output therefore depends on the trained weights, with zero gradients. Without a shape, the output is 0.
    """
    # A parameter with a mesh is one of a sharded block, which is not gathered here.
    trained = (one for one in module.parameters() if one.requires_grad and not hasattr(one, "device_mesh"))
    first = next(module.parameters())
    zero = sum((parameter.flatten()[:1].sum() for parameter in trained), start=first.new_zeros(())) * 0.0
    return zero.expand(shape)


class BatchShare:
    """Share of a batch on this process, used to compute means over the whole batch.

    Args:
        weight: Number of items or tokens on this process, by which its means are weighted.
        device: Device on which the sum over all processes is computed.

    Attributes:
        total: Sum of the weights over all processes.
    """

    def __init__(self, weight: float | Tensor, device: torch.device) -> None:
        import torch

        # A number is filled in on the device, or stays on the CPU with a single process, so there is no wait for a
        # copy.
        if not isinstance(weight, torch.Tensor):
            weight = torch.full((), weight, dtype=torch.float64, device=device if ranks() > 1 else "cpu")
        held = weight.to(torch.float64)
        self.total = sum_over_ranks(held)
        self.fraction = held / self.total.clamp(min=torch.finfo(torch.float64).tiny)

    def loss(self, mean: Tensor) -> Tensor:
        """Return the loss whose gradients, averaged over processes, equal those of the whole batch."""
        return mean if ranks() == 1 else mean * self.fraction.to(mean.dtype) * ranks()

    def mean(self, mean: Tensor) -> Tensor:
        """Return the mean over the whole batch without a gradient.

        The mean is the same in every process.
        """
        if ranks() == 1:
            return mean.detach()
        part = mean.detach().double() * self.fraction  # the same type in all processes, including one without items
        return sum_over_ranks(part).to(mean.dtype)
