"""Base class of batches, which can be moved to another device."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any, Self

import torch
from torch import Tensor


class Batch:
    """A batch of training items: a dataclass of tensors and their metadata."""

    def to(self, device: torch.device, non_blocking: bool = False) -> Self:
        """Return the batch with its tensors on another device."""
        batch: Any = self
        values = {field.name: getattr(batch, field.name) for field in fields(batch)}
        tensors = {name: value for name, value in values.items() if isinstance(value, Tensor)}
        return replace(batch, **{name: one.to(device, non_blocking=non_blocking) for name, one in tensors.items()})
