"""Construction of the configured optimizer, learning-rate schedule and callbacks."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from typing import Any

from omegaconf import DictConfig

from fairlab.checks.values import PARTIAL, TARGET, target_of
from fairlab.run.config.build import build, plain
from fairlab.types import FairlabError

DECAYED = "decayed"  # the only optimizer key defined by fairlab; all others are arguments of the optimizer


def set_optimizer(config: DictConfig, method: Any) -> None:
    """Replace the optimizer and the schedule of a method that trains in steps, if others are configured."""
    chosen = {key: plain(config[key]) for key in ("optimizer", "schedule") if config.get(key) is not None}
    if optimizer := chosen.get("optimizer"):
        method.decayed = optimizer.pop(DECAYED, method.decayed)
        method.optimizer = build({**optimizer, PARTIAL: True})
    if "schedule" in chosen:
        method.schedule = build({**chosen["schedule"], PARTIAL: True}) if chosen["schedule"] else None


def refuse_wrong_optimizer(values: Mapping[str, Any]) -> None:
    """Build the configured optimizer and schedule once as a test, on a small dummy model.

    Raises:
        FairlabError: A value or the type of an object is wrong, or the method does not train in steps.
    """
    chosen = [key for key in ("optimizer", "schedule") if values.get(key) is not None]
    if not chosen:
        return

    from torch.optim import Optimizer
    from torch.optim.lr_scheduler import LRScheduler, ReduceLROnPlateau

    from fairlab.methods.base import Trained
    from fairlab.methods.optimizing import make_schedule, small_optimizer

    method = target_of(values["method"], "method")
    if not (inspect.isclass(method) and issubclass(method, Trained)):
        raise FairlabError(
            f"{chosen[0]}= works only with methods that train in steps, unlike {method.__name__}; leave it out"
        )
    if "optimizer" not in chosen:
        values = {**values, "optimizer": {TARGET: "torch.optim.SGD"}}
    node = {key: value for key, value in values["optimizer"].items() if key != DECAYED}
    optimizer = _build_as_test("optimizer", node, Optimizer, small_optimizer)
    if schedule := values.get("schedule"):
        found = _build_as_test("schedule", schedule, LRScheduler, lambda make: make_schedule(make, optimizer, 10, {}))
        if isinstance(found, ReduceLROnPlateau):
            raise FairlabError(
                "a schedule must act at every step, but ReduceLROnPlateau acts at validations; choose another"
            )


def _build_as_test(key: str, node: Mapping[str, Any], kind: type, make: Any) -> Any:
    """Build an optimizer or a schedule as a test, and raise an error if the result is unusable."""
    try:
        made = make(build({**node, PARTIAL: True}))
    except (TypeError, ValueError, RuntimeError) as error:
        said = " ".join(str(error).split())
        raise FairlabError(f"{key}: {node[TARGET]} cannot be made ({said}); give it other values") from error
    if not isinstance(made, kind):
        raise FairlabError(
            f"{key}.{TARGET}={node[TARGET]} makes a {type(made).__name__}; give the name of a {kind.__name__}"
        )
    return made


def build_callbacks(nodes: Mapping[str, Any], loggers: Sequence[Any]) -> list[Any]:
    """Build the configured Lightning callbacks.

    Raises:
        FairlabError: A node does not name a callback, or a callback writes to a logger and the run has no logger.
    """
    from lightning.pytorch.callbacks import Callback, DeviceStatsMonitor, LearningRateMonitor

    callbacks = {name: build(node) for name, node in nodes.items()}
    for name, callback in callbacks.items():
        kind = type(callback).__name__
        if not isinstance(callback, Callback):
            raise FairlabError(
                f"callbacks.{name} is a {kind}, not a callback; give a class of lightning.pytorch.callbacks"
            )
        if isinstance(callback, LearningRateMonitor | DeviceStatsMonitor) and not loggers:
            raise FairlabError(f"{kind} (callbacks.{name}) writes to a logger; give one, for example logger=csv")
    return list(callbacks.values())
