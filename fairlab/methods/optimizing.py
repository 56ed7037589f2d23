"""Optimizers and learning-rate schedules of methods that train in steps.

An optimizer or a schedule is configured as a callable that makes it: a torch class, a partial of such a class, or any
function. The callable receives the values for its unset parameters: ``lr``, ``weight_decay`` and ``betas`` (or
``warmup`` and ``floor``) from the method, and the number of steps from the run.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, Literal

import torch
from torch import nn
from torch.optim import Optimizer
from torch.optim.lr_scheduler import LambdaLR, LRScheduler

from fairlab.types import NotNegative, Share

Decayed = Literal["all", "matrices"]
ONE_PASS = (torch.optim.Adam, torch.optim.AdamW, torch.optim.SGD)
# parameter names by which schedules receive the number of steps of a run
STEPS = ("steps", "num_training_steps", "total_steps", "T_max")


def make_optimizer(
    make: Callable[..., Optimizer], weights: Sequence[nn.Parameter], decayed: Decayed, values: Mapping[str, Any]
) -> Optimizer:
    """Make an optimizer with values for its unset parameters; ``matrices`` excludes biases and norms from decay."""
    groups: list[dict[str, Any]] = [{"params": list(weights)}]
    if decayed == "matrices":
        groups = [
            {"params": [weight for weight in weights if weight.ndim > 1]},
            {"params": [weight for weight in weights if weight.ndim <= 1], "weight_decay": 0.0},
        ]
    return make(groups, **open_values(make, values))


def takes_one_pass(make: Callable[..., Optimizer]) -> bool:
    """Return whether an optimizer is fused on every device, with no setting that excludes fusing."""
    given = make.keywords if isinstance(make, partial) else {}
    kind = make.func if isinstance(make, partial) else make
    return kind in ONE_PASS and not {"fused", "foreach", "differentiable"} & given.keys()


def make_schedule(
    make: Callable[..., LRScheduler], optimizer: Optimizer, steps: int, values: Mapping[str, Any]
) -> LRScheduler:
    """Make a schedule of an optimizer's learning rate, with values for its unset parameters."""
    return make(optimizer, **open_values(make, {**values, **dict.fromkeys(STEPS, steps)}))


def open_values(make: Callable[..., Any], values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values for those parameters of a callable that a partial has not set."""
    given = make.keywords if isinstance(make, partial) else {}
    return {
        name: value
        for name, value in values.items()
        if name in inspect.signature(make).parameters and name not in given
    }


def linear(
    optimizer: Optimizer, *, steps: int, warmup: NotNegative = 0.0, floor: Share = 0.0, from_zero: bool = False
) -> LambdaLR:
    """Raise the learning rate linearly to its peak, then lower it linearly to a share of the peak at the last step.

    Args:
        optimizer: Optimizer whose learning rate is the peak.
        steps: Number of steps of the run.
        warmup: Share of the steps in which the rate rises; a value of 1 or more is a number of steps.
        floor: Share of the peak that remains at the last step, in [0, 1].
        from_zero: Whether the rate of the first step is 0, as in transformers; otherwise it is above 0.

    Example:
        >>> sgd = torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=1.0)
        >>> schedule = linear(sgd, steps=4)
        >>> [schedule.lr_lambdas[0](step) for step in range(5)]
        [1.0, 0.75, 0.5, 0.25, 0.0]
    """
    rise = _rise(steps, warmup, from_zero)

    def rate(step: int) -> float:
        left = min(1.0, max(0.0, (steps - step) / max(1, steps - rise)))
        return min(_warm_up_share(step, rise, from_zero), floor + (1 - floor) * left)

    return LambdaLR(optimizer, rate)


def cosine(
    optimizer: Optimizer, *, steps: int, warmup: NotNegative = 0.0, floor: Share = 0.0, from_zero: bool = False
) -> LambdaLR:
    """Raise the learning rate linearly to its peak, then lower it along half a cosine.

    The arguments are the same as for :func:`linear`.

    Source: Loshchilov and Hutter 2017, "SGDR: Stochastic Gradient Descent with Warm Restarts", without restarts.
    """
    rise = _rise(steps, warmup, from_zero)

    def rate(step: int) -> float:
        done = min(1.0, max(0.0, (step - rise) / max(1, steps - rise)))
        return min(_warm_up_share(step, rise, from_zero), floor + (1 - floor) * (1 + math.cos(math.pi * done)) / 2)

    return LambdaLR(optimizer, rate)


def _rise(steps: int, warmup: float, from_zero: bool) -> float:
    """Return the number of steps in which the learning rate rises."""
    rise = warmup if warmup >= 1 else warmup * steps
    return int(rise) if from_zero else rise


def _warm_up_share(step: int, rise: float, from_zero: bool) -> float:
    """Return the fraction of the peak learning rate that the warm-up permits at a step."""
    if from_zero:
        return step / rise if step < rise else 1.0
    return min(1.0, (step + 1) / (rise + 1))


def small_optimizer(make: Callable[..., Optimizer]) -> Optimizer:
    """Make an optimizer for two unused weights, to detect wrong settings early."""
    return make_optimizer(make, [nn.Parameter(torch.zeros(1, 1)), nn.Parameter(torch.zeros(1))], "matrices", {})
