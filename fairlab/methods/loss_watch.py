"""Detection of training losses that are infinite or NaN, without waiting for the device at every batch."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from torch import Tensor

CHECK_EVERY = 50  # batches between checks


class LossWatch:
    """Losses since the last check, kept on the device.

    A check reads all losses at once. All processes hold the loss of the whole batch and check at the same batches, so
    their results are the same.

    Args:
        report: Function that raises the error. It receives the first loss that is not finite, the number of its step,
            and the names of its items.
    """

    def __init__(self, report: Callable[[float, int, Sequence[str]], None]) -> None:
        self.report = report
        self._kept: list[tuple[int, Tensor, Sequence[str]]] = []

    def add(self, step: int, loss: Tensor, items: Sequence[str] = ()) -> None:
        """Add the loss of a batch with its step number and item names, and check every ``CHECK_EVERY`` batches."""
        self._kept.append((step, loss.detach(), items))
        if len(self._kept) >= CHECK_EVERY:
            self.check()

    def check(self) -> None:
        """Report the first loss since the last check that is infinite or NaN, and clear all losses."""
        kept, self._kept = self._kept, []
        if not kept:
            return
        losses = torch.stack([loss for _, loss, _ in kept])
        for number in (~torch.isfinite(losses)).nonzero().flatten().tolist():
            step, loss, items = kept[number]
            self.report(loss.item(), step, items)
