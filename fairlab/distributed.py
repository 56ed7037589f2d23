"""The processes (ranks) of a run, seen from inside: splitting batches and combining results."""

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
    """Return the rank of this process, from 0."""
    return _distributed().get_rank() if is_distributed() else 0


def ranks() -> int:
    """Return the number of processes of the run."""
    return int(_distributed().get_world_size()) if is_distributed() else 1


def is_distributed() -> bool:
    """Return whether the run has several connected processes."""
    return "torch" in sys.modules and _distributed().is_available() and bool(_distributed().is_initialized())


def _distributed() -> Any:
    import torch.distributed

    return torch.distributed


def device(wanted: str | None = None) -> str:
    """Return the device of this process: a GPU if available, a different one per process if there are enough.

    Args:
        wanted: Device to use instead, as torch names it, such as ``cpu`` or ``cuda:1``.

    Raises:
        FairlabError: If the wanted device is unknown or cannot be used here.
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
    """Return the sum over all processes, without a gradient."""
    found = values.detach()
    if ranks() > 1:
        found = found.clone()
        _distributed().all_reduce(found)
    return found


def gather_over_ranks(value: Value) -> list[Value]:
    """Return the values of all processes, by rank."""
    if ranks() == 1:
        return [value]
    values: list[Any] = [None] * ranks()
    _distributed().all_gather_object(values, value)
    return values


def mean_or_zero(values: Tensor) -> Tensor:
    """Return the mean of per-item values, or 0 if this process has no items."""
    return values.mean() if len(values) else values.sum()


def own_share(items: Sequence[Value]) -> Sequence[Value]:
    """Return the items of a whole batch that this process works on: every ``ranks()``-th, from its rank on."""
    return items[rank() :: ranks()]


def without_items(batch: Batch) -> Batch:
    """Return an empty share: a batch, a data class of tensors, lists and other values, without its rows."""

    def of(value: Any) -> Any:
        return value[:0] if isinstance(value, list) or hasattr(value, "new_empty") else value

    return replace(batch, **{field.name: of(getattr(batch, field.name)) for field in fields(batch)})  # type: ignore


def empty_share_output(module: nn.Module, *shape: int) -> Tensor:
    """Return the output of a module for a batch without items: empty, or 0 with zero gradients for trained weights.

    A process without items must still take part when gradients are combined, and models reject empty batches.
    """
    # A parameter with a mesh is one of a sharded block, which is not gathered here.
    trained = (one for one in module.parameters() if one.requires_grad and not hasattr(one, "device_mesh"))
    first = next(module.parameters())
    zero = sum((parameter.flatten()[:1].sum() for parameter in trained), start=first.new_zeros(())) * 0.0
    return zero.expand(shape)


class BatchShare:
    """Share of a batch that this process holds, so that means are over the whole batch, not means of means.

    Args:
        weight: Number of items, or tokens, of this process that a mean is over.
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
        """Return the loss to train on: its gradients, averaged over processes, equal the whole batch's."""
        return mean if ranks() == 1 else mean * self.fraction.to(mean.dtype) * ranks()

    def mean(self, mean: Tensor) -> Tensor:
        """Return the mean over the whole batch, the same in every process, without a gradient."""
        if ranks() == 1:
            return mean.detach()
        part = mean.detach().double() * self.fraction  # the same type in all processes, including one without items
        return sum_over_ranks(part).to(mean.dtype)
