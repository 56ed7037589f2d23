"""Lightning's trainer, and one fit."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from omegaconf import DictConfig

from fairlab.distributed import rank
from fairlab.record import Note, Record
from fairlab.run.folders import SWEEP
from fairlab.run.loggers import build_loggers
from fairlab.types import FairlabError

if TYPE_CHECKING:  # torch, Lightning and transformers are imported where they are used: --help answers at once
    import lightning

    from fairlab.backbones.backbone import Backbone
    from fairlab.data.counterfactual import CounterfactualData
    from fairlab.run.checkpoints import History


def make_trainer(
    config: DictConfig, record: Record, history: History, encoder: Backbone, method: Any, total_batches: int
) -> lightning.Trainer:
    """Lightning's trainer: one stream of batches, checkpoints in the run folder, progress on a terminal only."""
    import lightning
    from lightning.fabric.utilities.exceptions import MisconfigurationException
    from lightning.pytorch.callbacks import RichProgressBar

    from fairlab.run.checkpoints import Checkpoints, Compiled

    hardware = dict(config.trainer)
    every, compiled = hardware.pop("checkpoint_every"), hardware.pop("compile", False)
    if every < 1:
        raise FairlabError(f"trainer.checkpoint_every must be at least 1, not {every}")
    terminal = sys.stderr.isatty()
    loggers = [] if rank() else build_loggers(config.logger, record, sweep_of(record.folder))
    steps = getattr(method, "steps", None) or total_batches
    accumulated = hardware.get("accumulate_grad_batches", 1)
    choice = {name: getattr(method, name) for name in ("monitor", "patience") if hasattr(method, name)}
    callbacks: list[Any] = [history, Checkpoints(record.folder / "checkpoints", every, **choice)]
    if compiled:
        callbacks.append(Compiled(encoder))
    try:
        trainer = lightning.Trainer(
            **hardware,
            max_epochs=1,
            max_steps=min(steps, total_batches),
            val_check_interval=min(method.validate_every * accumulated, total_batches),
            num_sanity_val_steps=0,
            log_every_n_steps=1,
            logger=loggers,
            callbacks=callbacks + [RichProgressBar()] * terminal,
            enable_progress_bar=terminal,
            enable_model_summary=False,
            use_distributed_sampler=False,
            default_root_dir=record.folder,
        )
    except MisconfigurationException as error:
        raise FairlabError(f"this trainer cannot run here: {' '.join(str(error).split())}; use trainer=cpu") from error
    return trainer


def sweep_of(folder: Path) -> str | None:
    """Name of the sweep that the run in a folder belongs to; None for a run of its own."""
    if not (folder.parent / SWEEP).is_file():
        return None
    return "/".join(folder.resolve().parts[-3:-1])


def fit(trainer: lightning.Trainer, method: Any, data: CounterfactualData, record: Record, history: History) -> None:
    """Train, or go on training, and leave the encoder with the weights of the best validation.

    A method without training steps, such as a projection, fits itself to the data.

    Raises:
        FairlabError: the checkpoint to go on from holds another model.
    """
    import lightning
    import torch

    from fairlab.methods.base import gather_sharded_weights

    if not isinstance(method, lightning.LightningModule):
        method.fit(data)
        return
    from fairlab.run.checkpoints import checkpoint_is_intact, newest_intact

    folder = record.folder / "checkpoints"
    last, damaged = newest_intact(folder)
    for path in damaged:
        text = f"checkpoints/{path.name} is damaged; training went on from {last.name if last else 'its start'}"
        record.notes.append(Note("training", text))
        print(text)
    try:
        trainer.fit(method, data, ckpt_path=str(last) if last else None, weights_only=True)
    except RuntimeError as error:
        if "loading state_dict" not in str(error):
            raise
        raise FairlabError(
            f"{last} holds another model than the one of this run; put the run's own checkpoint back, or remove it to "
            "train from the start"
        ) from error
    if "validation/loss" not in history.rows[-1]:
        trainer.validate(method, data, verbose=False)  # so that the last weights take part in the choice
    if not checkpoint_is_intact(folder / "best.ckpt"):
        raise FairlabError(f"{folder / 'best.ckpt'} is damaged; remove {folder} and continue the run: it trains again")
    state = torch.load(folder / "best.ckpt", weights_only=True, map_location="cpu")["state_dict"]
    gather_sharded_weights(method)
    method.load_state_dict(state)
    record.history = history.rows
    record.save()


def decoder_is_tied(encoder: Backbone) -> bool | None:
    """Whether the masked LM's output layer shares the input embeddings, and so follows them; None without a head."""
    output = encoder.model.get_output_embeddings()
    if output is None:
        return None
    return output.weight is encoder.model.get_input_embeddings().weight


def throughput(data: CounterfactualData, history: History) -> dict[str, float]:
    """Tokens and the like per second of training, over the steps of this process."""
    if not history.seconds:
        return {}
    passes = data.epochs * len(history.seconds) / data.total_batches
    return {f"{name}_per_second": passes * size / sum(history.seconds) for name, size in data.sizes().items()}
