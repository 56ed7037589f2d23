"""Early stopping: training ends if validation has not improved for some time."""

from __future__ import annotations

import math


class EarlyStopping:
    """Counter of the validations since the lowest value.

    The counter is queried during a validation, after the best weights are saved and before the checkpoint for resuming
    is saved. A resumed run therefore stops at the same step as an uninterrupted run. A separate callback could not run
    between the two.

    Args:
        patience: Number of validations without a new lowest value after which training stops, or None to never stop.

    Attributes:
        lowest: Lowest value so far; infinity before the first validation.
        waited: Number of validations since the lowest value.
    """

    def __init__(self, patience: int | None) -> None:
        self.patience = patience
        self.lowest = math.inf
        self.waited = 0

    def improves(self, value: float) -> bool:
        """Count a validation, and return whether its value is the lowest so far.

        Example:
            >>> stopping = EarlyStopping(patience=2)
            >>> [(stopping.improves(value), stopping.is_due) for value in (0.5, 0.7, 0.5)]
            [(True, False), (False, False), (False, True)]
        """
        self.waited += 1
        if not value < self.lowest:
            return False
        self.lowest, self.waited = value, 0
        return True

    @property
    def is_due(self) -> bool:
        """Return whether training should stop."""
        return self.patience is not None and self.waited >= self.patience
