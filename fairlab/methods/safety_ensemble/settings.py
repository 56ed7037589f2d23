"""Settings of a debiased model; validation scores select one of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any, TypeVar

from fairlab.methods.safety_ensemble.fair_reweighting import Strength
from fairlab.types import FairlabError

T = TypeVar("T")


@dataclass(frozen=True)
class Setting:
    """One setting of the debiased model.

    Attributes:
        leaf: Minimum number of seeds in a leaf of the forest, at least 1; all versions of a seed count as one.
        penalty: Weight, at least 0, of the variance of logits within sets in the kernel logistic regression, whose
            logits are averaged with the forest's; None for the forest alone.
        strength: Lambdas and betas of reweighting.

    Raises:
        FairlabError: A value is too small.
    """

    leaf: int
    penalty: float | None
    strength: Strength

    def __post_init__(self) -> None:
        if self.leaf < 1:
            raise FairlabError(f"method.leaf must be at least 1, not {self.leaf}")
        if self.penalty is not None and not self.penalty >= 0:
            raise FairlabError(f"method.penalty must be at least 0, or null to use only the forest, not {self.penalty}")


def combinations(
    leaf: int | Sequence[int],
    penalty: float | Sequence[float | None] | None,
    strength: Mapping[str, float | Sequence[float]],
) -> dict[str, Setting]:
    """Return the settings for all combinations of the listed values, named by the values that vary.

    Example:
        >>> still = {"lambda_safe": 0, "lambda_unsafe": 0, "beta_safe": 1, "beta_unsafe": 1}
        >>> list(combinations(20, [None, 1], still))
        ['penalty null', 'penalty 1']
    """
    lists: dict[str, list[Any]] = {"leaf": _as_list(leaf), "penalty": _as_list(penalty)}
    lists |= {name: _as_list(one) for name, one in strength.items()}
    varied = [name for name, values in lists.items() if len(values) > 1]
    found = {}
    for values in product(*lists.values()):
        named = dict(zip(lists, values, strict=True))
        name = ", ".join(f"{key} {'null' if named[key] is None else format(named[key], 'g')}" for key in varied)
        found[name or "as set"] = Setting(named.pop("leaf"), named.pop("penalty"), Strength(**named))
    return found


def _as_list(value: T | Sequence[T]) -> list[T]:
    """Return a list unchanged, or a single value as a list of one; raise FairlabError if it is empty."""
    found = list(value) if isinstance(value, Sequence) else [value]
    if not found:
        raise FairlabError("method.leaf, method.penalty and the values of method.reweighting must not be empty lists")
    return found
