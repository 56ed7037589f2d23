"""The processes (ranks) of a run as the work inside it sees them: dividing a batch, putting results together."""

from __future__ import annotations

import sys
from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:  # torch is imported where it is used: --help answers at once
    import torch
    from torch import Tensor, nn

Batch = TypeVar("Batch")
Value = TypeVar("Value")


def rank() -> int:
    """This process's number, from 0."""
    return _distributed().get_rank() if is_distributed() else 0


def ranks() -> int:
    """Number of processes of the run."""
    return int(_distributed().get_world_size()) if is_distributed() else 1


def is_distributed() -> bool:
    """Whether the run has several processes that are connected."""
    return "torch" in sys.modules and _distributed().is_available() and bool(_distributed().is_initialized())


def _distributed() -> Any:
    import torch.distributed

    return torch.distributed


def device() -> str:
    """A GPU where there is one; of several processes each has its own, as far as there are so many."""
    import torch

    return f"cuda:{rank() % torch.cuda.device_count()}" if torch.cuda.is_available() else "cpu"


def sum_over_ranks(values: Tensor) -> Tensor:
    """The sum over all processes, without a gradient."""
    found = values.detach()
    if ranks() > 1:
        found = found.clone()
        _distributed().all_reduce(found)
    return found


def gather_over_ranks(value: Value) -> list[Value]:
    """The values of all processes, by rank."""
    if ranks() == 1:
        return [value]
    values: list[Any] = [None] * ranks()
    _distributed().all_gather_object(values, value)
    return values


def mean_or_zero(values: Tensor) -> Tensor:
    """The mean of one value an item; 0 of a share without items."""
    return values.mean() if len(values) else values.sum()


def own_items(batch: Batch, items: int) -> Batch:
    """The items of a batch that this process works on: every so many-th, from its rank on; there may be none.

    Args:
        batch: a data class of tensors and lists, which hold the same number of rows for every item, item by item.
        items: number of items in the batch.
    """
    if ranks() == 1:
        return batch

    def of(values: Any) -> Any:
        if values is None:
            return None
        each = len(values) // items
        kept = [item * each + row for item in range(rank(), items, ranks()) for row in range(each)]
        return [values[row] for row in kept] if isinstance(values, list) else values[kept]

    return replace(batch, **{field.name: of(getattr(batch, field.name)) for field in fields(batch)})  # type: ignore


def in_batch_order(rows: Tensor, total: int) -> Tensor:
    """This process's rows of a batch in their places among all ``total`` of it, which are else 0."""
    whole = rows.new_zeros((total, *rows.shape[1:]))
    whole[rank() :: ranks()] = rows
    return whole


def empty_share_output(module: nn.Module, *shape: int) -> Tensor:
    """What a module gives for a share without items: no value, or 0, whose gradient is 0 for all that is trained.

    A process without items must still take part when gradients are put together, and models refuse empty batches.
    """
    trained = (parameter for parameter in module.parameters() if parameter.requires_grad)
    zero = sum(parameter.flatten()[:1].sum() for parameter in trained) * 0.0
    return zero.expand(shape)  # type: ignore[union-attr]


class BatchShare:
    """How much of a batch this process holds, so that means are over the whole batch, not means of means.

    Args:
        weight: number of items, or tokens, that this process holds and a mean is over.
        device: device on which the sum over all processes is made.

    Attributes:
        total: sum of the weights over all processes.
    """

    def __init__(self, weight: float | Tensor, device: torch.device) -> None:
        import torch

        # Nothing here waits for a GPU, where there is one process.
        held = torch.as_tensor(weight, dtype=torch.float64, device=device if ranks() > 1 else None)
        self.total = sum_over_ranks(held)
        self.fraction = held / self.total.clamp(min=torch.finfo(torch.float64).tiny)

    def loss(self, mean: Tensor) -> Tensor:
        """What to train on: its gradients, averaged over processes, are those of the whole batch's mean."""
        return mean if ranks() == 1 else mean * self.fraction.to(mean.dtype) * ranks()

    def mean(self, mean: Tensor) -> Tensor:
        """The mean over the whole batch, the same in every process, without a gradient."""
        if ranks() == 1:
            return mean.detach()
        part = mean.detach().double() * self.fraction  # of one type in all processes, also in one without items
        return sum_over_ranks(part).to(mean.dtype)
