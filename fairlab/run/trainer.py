"""Construction and use of Lightning's trainer."""

from __future__ import annotations

import sys
from pathlib import Path
from timeit import Timer
from typing import TYPE_CHECKING, Any

from omegaconf import DictConfig

from fairlab.checks.escapes import print_escaped
from fairlab.distributed import rank
from fairlab.protocols import FittedMethod
from fairlab.record import Note, Record
from fairlab.run.config.build import built, plain
from fairlab.run.config.optimizing import build_callbacks
from fairlab.run.folders import sweep_of
from fairlab.run.loggers import build_loggers
from fairlab.types import FairlabError

if TYPE_CHECKING:  # torch, Lightning and transformers are imported lazily so that --help is fast
    import lightning

    from fairlab.data.counterfactual import CounterfactualData
    from fairlab.run.history import History

# Keys of ``trainer`` that fairlab defines; all others are arguments of Lightning's trainer.
OWN = ("attention", "checkpoint_every", "compile", "device_batch_size", "matmul_precision", "max_steps", "recompute")
SLOWER = 1.2  # ratio of bfloat16 to float32 time from which a run prints a warning


def parts_of_a_step(batch_size: int, device_batch_size: int | None, processes: int) -> int:
    """Return the number of equal parts into which each training step is split.

    Args:
        batch_size: Number of items per step, over all processes.
        device_batch_size: Maximum number of items that a process handles at once, or None for no limit.
        processes: Number of processes.

    Example:
        >>> parts_of_a_step(8192, 32, processes=8)
        32
    """
    if device_batch_size is None:
        return 1
    fewest = -(-batch_size // (device_batch_size * processes))
    return next(parts for parts in range(fewest, batch_size + 1) if batch_size % parts == 0)


def make_trainer(
    config: DictConfig, record: Record, history: History, encoder: Any, method: Any, data: Any, parts: int
) -> lightning.Trainer:
    """Build Lightning's trainer, with checkpoints in the run folder and a progress bar only on a terminal.

    The gradients of ``parts`` batches of the data are accumulated per step.

    Raises:
        FairlabError: A value of ``trainer`` is wrong, or the machine does not meet its requirements.
    """
    import lightning
    import torch
    from lightning.fabric.utilities.exceptions import MisconfigurationException

    hardware = {name: built(value) for name, value in plain(config.trainer).items() if name != "callbacks"}
    own = {name: hardware.pop(name, None) for name in OWN}
    torch.set_float32_matmul_precision(own["matmul_precision"])
    if strategy := our_strategy(hardware.get("strategy")):
        hardware["strategy"] = strategy
    terminal = sys.stderr.isatty()
    loggers = [] if rank() else build_loggers(config.logger, record, sweep_of(record.folder))
    total_batches = data.total_batches
    bounds = [total_batches, method.steps, own["max_steps"]]
    listed = plain(config.trainer).get("callbacks") or []
    named = {f"{number}": node for number, node in enumerate(listed if isinstance(listed, list) else [listed])}
    given = build_callbacks({**plain(config.get("callbacks") or {}), **named}, loggers)
    callbacks = _callbacks(own, record.folder, history, encoder, method, data, terminal)
    settings = {
        "max_epochs": 1,
        "max_steps": min(bound for bound in bounds if bound not in (None, -1)),
        "accumulate_grad_batches": parts,
        "val_check_interval": min(method.validate_every * parts, total_batches),
        "num_sanity_val_steps": 0,
        "log_every_n_steps": 1,
        "logger": loggers,
        "callbacks": callbacks + given,
        "enable_progress_bar": terminal,
        "enable_model_summary": False,
        "use_distributed_sampler": False,
        "default_root_dir": record.folder,
    }
    try:
        return lightning.Trainer(**settings | hardware)
    except (MisconfigurationException, ValueError, TypeError) as error:
        raise FairlabError(f"this trainer cannot run here: {' '.join(str(error).split())}; use trainer=cpu") from error


def _callbacks(
    own: dict[str, Any], folder: Path, history: History, encoder: Any, method: Any, data: Any, terminal: bool
) -> list[Any]:
    """Return fairlab's own callbacks, configured by fairlab's keys in ``trainer``."""
    from fairlab.run.acceleration import Acceleration
    from fairlab.run.checkpoints import Checkpoints
    from fairlab.run.live import Figures, LiveBar

    if not isinstance(method, FittedMethod):
        tokens = data.sizes().get("tokens", 0) * data.epochs / data.total_batches
        history.figures = Figures(tokens, data.total_batches).of
    every = own["checkpoint_every"]
    found: list[Any] = [
        history,
        Checkpoints(folder / "checkpoints", every, monitor=method.monitor, patience=method.patience),
    ]
    if method.measurable_before:
        found.append(Acceleration(encoder, own["attention"], own["recompute"], own["compile"]))
    return found + [LiveBar(history)] * terminal


def our_strategy(name: Any) -> Any:
    """Return Lightning's strategy for ``fsdp`` or ``ddp`` with fairlab's settings, or None for another name."""
    if name == "fsdp":
        from fairlab.run.launch.sharded import Sharded

        return Sharded()
    if name == "ddp":
        from lightning.pytorch.strategies import DDPStrategy

        return DDPStrategy(gradient_as_bucket_view=True)  # without copies of the gradients
    return None


def slower_bfloat16() -> float:
    """Measure how many times longer a matrix product takes in bfloat16 than in float32 on the CPU, in a few products.

    Some processors have no instructions for bfloat16, or slower ones than for float32; ``trainer.precision=bf16-mixed``
    then takes more time instead of less.
    """
    import torch

    def seconds(dtype: torch.dtype) -> float:
        square = torch.full((1024, 1024), 0.5, dtype=dtype)  # does not change the random state
        timer = Timer(lambda: square @ square)
        timer.timeit(1)  # the first product takes longer
        return min(timer.repeat(3, number=1))

    return seconds(torch.bfloat16) / seconds(torch.float32)


def slow_precision(trainer: lightning.Trainer) -> list[str]:
    """Return a warning if mixed precision is slower on this processor; see :func:`slower_bfloat16`."""
    if trainer.precision != "bf16-mixed" or trainer.strategy.root_device.type != "cpu":
        return []
    times = slower_bfloat16()
    text = f"matrix products take {times:.1f} times as long in bfloat16 as in float32 on this processor: "
    return [text + "trainer.precision=32-true trains faster here"] * (times > SLOWER)


def fit(trainer: lightning.Trainer, method: Any, data: CounterfactualData, record: Record, history: History) -> None:
    """Train or resume training, and load the weights with the best validation result into the encoder.

    A method without training steps, such as a projection, is fitted to the data.

    Raises:
        FairlabError: The checkpoint to resume from contains another model.
    """
    import torch
    from lightning.fabric.utilities.exceptions import MisconfigurationException

    from fairlab.methods.sharding import gather_sharded_weights

    if isinstance(method, FittedMethod):
        method.fit(data)
        return
    from fairlab.run.checkpoints import check_checkpoint, checkpoint_is_intact, newest_intact

    folder = record.folder / "checkpoints"
    last, damaged = newest_intact(folder)
    for path in damaged:
        text = f"checkpoints/{path.name} is damaged; training resumed from {last.name if last else 'its start'}"
        record.notes.append(Note("training", text))
        print_escaped(text)
    if last:
        check_checkpoint(last)
    try:
        trainer.fit(method, data, ckpt_path=str(last) if last else None, weights_only=True)
    except MisconfigurationException as error:  # a callback does not fit the run
        raise FairlabError(
            f"Lightning cannot train with these callbacks: {' '.join(str(error).split())}; change callbacks"
        ) from error
    except RuntimeError as error:
        if "loading state_dict" not in str(error):
            raise
        raise FairlabError(
            f"{last} holds a model that is not the one of this run; put the run's own checkpoint back, or remove it to "
            "train from the start"
        ) from error
    if not history.last:
        raise FairlabError("training ended before its first step; increase trainer.max_steps or +trainer.max_time")
    if "validation/loss" not in history.last:
        trainer.validate(method, data, verbose=False)  # so that the last weights are candidates too
    if not checkpoint_is_intact(folder / "best.ckpt"):
        raise FairlabError(
            f"{folder / 'best.ckpt'} is damaged; remove {folder} and continue the run, which then trains again"
        )
    state = torch.load(folder / "best.ckpt", weights_only=True, map_location="cpu")["state_dict"]
    gather_sharded_weights(method)
    method.load_state_dict(state)
    record.history = history.rows
    record.save()


def throughput(data: CounterfactualData, history: History) -> dict[str, float]:
    """Return the training speed of this process: tokens and other units of the data per second."""
    if not history.seconds:
        return {}
    passes = data.epochs * history.batches / data.total_batches
    return {f"{name}_per_second": passes * size / history.seconds for name, size in data.sizes().items()}
