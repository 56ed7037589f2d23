"""Base class of batches that can be moved to a device."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, replace
from typing import Any, Self

import torch
from torch import Tensor


class Batch:
    """Base class of batches of training items: a dataclass of tensors and their metadata."""

    def to(self, device: torch.device, non_blocking: bool = True) -> Self:
        """Return the batch with its tensors moved to a device, asynchronously from pinned memory by default."""
        return self._with(lambda tensor: tensor.to(device, non_blocking=non_blocking))

    def pin_memory(self) -> Self:
        """Return the batch with its tensors in pinned memory, so that copies to a GPU can be asynchronous."""
        return self._with(Tensor.pin_memory)

    def _with(self, change: Callable[[Tensor], Tensor]) -> Self:
        batch: Any = self
        values = {field.name: getattr(batch, field.name) for field in fields(batch)}
        return replace(batch, **{name: change(one) for name, one in values.items() if isinstance(one, Tensor)})
