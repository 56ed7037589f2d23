"""Checkpoints for resuming training and for selecting the best weights."""

from __future__ import annotations

import os
import shutil
import signal
import zipfile
from functools import partial
from pathlib import Path
from typing import Any

import lightning
import torch
from lightning.pytorch.callbacks import Checkpoint
from lightning.pytorch.utilities.exceptions import SIGTERMException

from fairlab.checks.tensor_archive import check_tensor_archive
from fairlab.data.batch_stream import batches_done
from fairlab.distributed import sum_over_ranks
from fairlab.run.early_stopping import EarlyStopping
from fairlab.run.launch.sharded import Sharded
from fairlab.run.shards import STATE, shards_are_intact

LAST, PREVIOUS = "last.ckpt", "previous.ckpt"


class Checkpoints(Checkpoint):  # Lightning runs a Checkpoint after all other callbacks, so it stores their state
    """Writer of the checkpoint to resume from (``last.ckpt``) and of the best weights in validation (``best.ckpt``).

    The writer also stops training early. If a validation and ``last.ckpt`` are due at the same step, the checkpoint is
    saved after the validation and includes its result. A resumed run is therefore identical to an uninterrupted run.
    Files are written under a temporary name and then renamed. The previous ``last.ckpt`` is kept as ``previous.ckpt``,
    from which a run resumes if the newer file is damaged. With sharded weights, ``last.ckpt`` is a folder that is
    written while training continues; the next checkpoint waits until this folder is complete.

    Args:
        folder: Folder for ``last.ckpt`` and ``best.ckpt``.
        every: Number of training steps between two writes of ``last.ckpt``.
        monitor: Name of the logged validation value that selects the best weights; lower is better.
        patience: Number of validations without a new lowest value after which training stops; None disables early
            stopping.
    """

    def __init__(
        self, folder: Path, every: int, *, monitor: str = "validation/loss", patience: int | None = None
    ) -> None:
        self.last = folder / LAST
        self.best = folder / "best.ckpt"
        self.every = every
        self.monitor = monitor
        self.stopping = EarlyStopping(patience)
        self.told_to_end = False

    def on_train_start(self, trainer: lightning.Trainer, *_: Any) -> None:
        """Install a handler for SIGTERM, and stop immediately if the resumed run was already due to stop."""
        # Lightning's own signal handler would make every process communicate at once, at arbitrary points.
        signal.signal(signal.SIGTERM, self._note_sigterm)
        self._stop_when_done(trainer)

    def _note_sigterm(self, *_: object) -> None:
        self.told_to_end = True

    def on_train_batch_end(self, trainer: lightning.Trainer, *_: Any) -> None:
        """Save ``last.ckpt`` when due, unless a validation follows immediately."""
        if batches_done(trainer) % int(trainer.val_check_batch or 1):
            self._between_steps(trainer)

    def on_validation_end(self, trainer: lightning.Trainer, *_: Any) -> None:
        """Save ``best.ckpt`` if the value is the lowest so far, then ``last.ckpt`` when due."""
        value = float(trainer.callback_metrics[self.monitor])
        if self.stopping.improves(value):
            self._save(trainer, self.best)
        self._stop_when_done(trainer)
        if trainer.state.fn == "fit":
            self._between_steps(trainer)

    def _between_steps(self, trainer: lightning.Trainer) -> None:
        """Save ``last.ckpt`` when due.

        If any process received SIGTERM, save the checkpoint immediately and end all processes.
        """
        # a checkpoint does not contain accumulated gradients
        if batches_done(trainer) % trainer.accumulate_grad_batches:
            return
        ends = bool(sum_over_ranks(torch.tensor(int(self.told_to_end))))
        if ends or trainer.global_step % self.every == 0:
            self._save_last(trainer)
        if ends:
            self.on_train_end(trainer)
            raise SIGTERMException

    def _stop_when_done(self, trainer: lightning.Trainer) -> None:
        if self.stopping.is_due:
            trainer.should_stop = True

    def on_train_end(self, trainer: lightning.Trainer, *_: Any) -> None:
        """Wait for a checkpoint that is still being written."""
        if isinstance(trainer.strategy, Sharded):
            trainer.strategy.writer.wait()
            trainer.strategy.barrier()  # without the barrier, other processes might not find it under its name

    def _save_last(self, trainer: lightning.Trainer) -> None:
        if not isinstance(trainer.strategy, Sharded):
            self._save(trainer, self.last)
            return
        trainer.strategy.writer.wait()
        temporary = self.last.with_suffix(".new")
        if trainer.is_global_zero:
            remove(temporary)
            temporary.mkdir(parents=True)
        trainer.strategy.barrier()
        trainer.strategy.start_checkpoint(trainer, temporary, partial(replace_last, temporary, self.last))

    def _save(self, trainer: lightning.Trainer, path: Path) -> None:
        # Several processes write one checkpoint, under a name known to all; a link at that path is not followed.
        temporary = path.with_suffix(".new")
        if trainer.is_global_zero:
            remove(temporary)
        try:
            trainer.save_checkpoint(temporary, weights_only=path == self.best)
            if trainer.is_global_zero:
                if path == self.last:
                    replace_last(temporary, path)
                else:
                    os.replace(temporary, path)
        finally:
            if trainer.is_global_zero:
                remove(temporary)
        trainer.strategy.barrier()  # before the barrier, other processes would not find the file under its name

    def state_dict(self) -> dict[str, Any]:
        """Return the state of early stopping for the checkpoint."""
        return {"lowest": self.stopping.lowest, "waited": self.stopping.waited}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Restore the state of early stopping from the checkpoint."""
        self.stopping.lowest, self.stopping.waited = state_dict["lowest"], state_dict["waited"]


def replace_last(new: Path, last: Path) -> None:
    """Rename a new checkpoint to ``last.ckpt``, and the existing ``last.ckpt`` to ``previous.ckpt``."""
    if os.path.lexists(last):
        previous = last.with_name(PREVIOUS)
        remove(previous)
        os.replace(last, previous)
    os.replace(new, last)


def remove(path: Path) -> None:
    """Remove a file, a link or a folder if it exists."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def newest_intact(folder: Path) -> tuple[Path | None, list[Path]]:
    """Return the path of the newest intact checkpoint, or None, and the paths of newer checkpoints that are damaged."""
    damaged: list[Path] = []
    for path in (folder / LAST, folder / PREVIOUS):
        if path.exists():
            if checkpoint_is_intact(path):
                return path, damaged
            damaged.append(path)
    return None, damaged


def checkpoint_is_intact(path: Path) -> bool:
    """Return whether a checkpoint (a zip file or a folder of shards) is complete and matches its checksums."""
    if path.is_dir():
        return shards_are_intact(path)
    try:
        with zipfile.ZipFile(path) as archive:
            return archive.testzip() is None
    except (zipfile.BadZipFile, OSError):
        return False


def check_checkpoint(path: Path) -> None:
    """Raise an error if a checkpoint to resume from declares larger tensors than it stores.

    Raises:
        FairlabError: The check of :func:`fairlab.checks.tensor_archive.check_tensor_archive` fails.
    """
    check_tensor_archive(path / STATE if path.is_dir() else path)  # files of safetensors cannot do this
