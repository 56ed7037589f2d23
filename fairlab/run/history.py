"""Training history: a file with one row per optimizer step and per validation, which grows during training."""

from __future__ import annotations

import json
import math
import os
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import lightning
import torch
from lightning.pytorch.callbacks import Callback
from torch import Tensor

NAME = "history.jsonl"
WARM_UP = 5  # batches before the first read of values from the device
WAIT_EVERY = 50  # batches between two later reads, each of which makes the process wait
UNTIMED_READS = 2  # reads whose batches are not timed if others follow: they compile, allocate and fill caches
MOST_ROWS = 10_000  # maximum number of training rows, and of validation rows, in a record

Row = dict[str, float]


class History(Callback):
    """Callback that appends the loss of every optimizer step and the metrics of every validation to a JSON Lines file.

    Values stay on the device, from which they are read together, at most every ``WAIT_EVERY`` batches. If a step is
    processed in several parts, its row contains the means over the parts. A checkpoint stores only the length of the
    file, and a resumed run truncates the file to that length. Memory use and the size of checkpoints therefore do not
    grow with the number of steps. Only rank 0 writes.

    Args:
        folder: Folder for the file.

    Attributes:
        figures: Function from trainer, method and batches per second to live figures by name, which the loggers receive
            with the latest row; None if there are no figures.
        live: Latest live figures; empty before the first figures.
        last: Latest row; empty before the first row.
        seconds: Wall time of this process's training batches, without validation and checkpoints. The first batches are
            not counted if more batches follow.
        batches: Number of batches that ``seconds`` includes.
    """

    def __init__(self, folder: Path) -> None:
        self.file = folder / NAME
        self.figures: Callable[[lightning.Trainer, Any, float], Row] | None = None
        self.live: Row = {}
        self.last: Row = {}
        self.seconds = 0.0
        self.batches = 0
        self._trained: Row = {}  # values of the latest training row
        self._bytes = 0
        self._is_cut = False
        self._parts: list[dict[str, Tensor]] = []
        self._ends: list[tuple[int, int]] = []  # for each step not yet read: its number, and the parts up to its end
        self._latest: dict[str, Tensor] = {}
        self._started: float | None = None
        self._uncounted = self._reads = 0

    @property
    def rows(self) -> list[Row]:
        """Return all rows so far, thinned as in :func:`read_history`.

        The result is empty if this process does not write them.
        """
        return read_history(self.file)

    def on_train_batch_start(self, *_: Any) -> None:
        """Start the clock if it is not running.

        :meth:`read` stops it.
        """
        if self._started is None:
            self._started = time.perf_counter()

    def on_train_batch_end(self, trainer: lightning.Trainer, *_: Any) -> None:
        """Keep the values of a batch, and read all values when due at the end of a step."""
        found = {name: value for name, value in trainer.callback_metrics.items() if name.startswith("train/")}
        # Lightning repeats a value that a batch did not log.
        self._parts.append({name: value for name, value in found.items() if value is not self._latest.get(name)})
        self._latest = found
        self._uncounted += 1
        if trainer.global_step > (self._ends[-1][0] if self._ends else self.last.get("step", 0)):
            self._ends.append((trainer.global_step, len(self._parts)))
            if self._uncounted >= (WAIT_EVERY if self._reads else WARM_UP):
                self.read(trainer)

    def on_validation_start(self, trainer: lightning.Trainer, *_: Any) -> None:
        """Write the rows of the previous steps, and stop the clock."""
        self.read(trainer)

    def on_validation_end(self, trainer: lightning.Trainer, *_: Any) -> None:
        """Write a row for the validation."""
        metrics = trainer.callback_metrics.items()
        values = {name: float(value) for name, value in metrics if name.startswith("validation/")}
        self._write(trainer, [{"step": trainer.global_step, **values}])

    def on_train_end(self, trainer: lightning.Trainer, *_: Any) -> None:
        """Write the remaining rows."""
        self.read(trainer)

    def on_save_checkpoint(self, trainer: lightning.Trainer, module: Any, checkpoint: dict[str, Any]) -> None:
        """Write the rows of all steps so far, so that the file length in the checkpoint includes them."""
        self.read(trainer)
        if "callbacks" in checkpoint:  # Lightning collected the state before it called this hook
            checkpoint["callbacks"][self.state_key] = self.state_dict()

    def read(self, trainer: lightning.Trainer) -> None:
        """Read the values of complete steps from the device, write their rows, and stop the clock."""
        rows = list(self._read_rows())
        if self._started is not None:
            if 0 < self._reads <= UNTIMED_READS:
                self.seconds, self.batches = 0.0, 0
            self._reads += 1
            passed = time.perf_counter() - self._started
            if self.figures is not None and self._uncounted:
                self.live = self.figures(trainer, trainer.lightning_module, self._uncounted / passed)
            self.seconds += passed
            self.batches += self._uncounted
            self._started, self._uncounted = None, 0
        self._write(trainer, rows)
        if rows and trainer.loggers:
            self._log(trainer, rows)

    def _log(self, trainer: lightning.Trainer, rows: list[Row]) -> None:
        own = ("step", *trainer.logged_metrics)  # a method's own values, which Lightning logs
        for row in rows:
            values = {name: value for name, value in row.items() if name not in own}
            if row is rows[-1]:
                values |= {f"speed/{name}": value for name, value in self.live.items()}
            for logger in trainer.loggers:
                logger.log_metrics({**values, "epoch": trainer.current_epoch}, step=int(row["step"]) - 1)

    def _read_rows(self) -> Iterator[Row]:
        whole = self._ends[-1][1] if self._ends else 0
        tensors = [value for part in self._parts[:whole] for value in part.values()]
        values = iter(torch.stack(tensors).tolist() if tensors else [])
        parts = iter([{name: next(values) for name in part} for part in self._parts[:whole]])
        ends, self._ends, self._parts, start = self._ends, [], self._parts[whole:], 0
        for step, end in ends:
            together: dict[str, list[float]] = defaultdict(list)
            for _ in range(end - start):
                for name, value in next(parts).items():
                    together[name].append(value)
            self._trained |= {name: math.fsum(one) / len(one) for name, one in together.items()}
            yield {"step": step, **self._trained}
            start = end

    def _write(self, trainer: lightning.Trainer, rows: list[Row]) -> None:
        if not rows:
            return
        self.last = rows[-1]
        if trainer.is_global_zero:
            self._append("".join(json.dumps(row) + "\n" for row in rows).encode())

    def _append(self, content: bytes) -> None:
        """Append to the file.

        The first call truncates the file to the rows of the checkpoint from which the run resumes. Hooks of Lightning
        cannot do this earlier, because sharded checkpoints restore the length late, and a run may resume after its last
        step.
        """
        self.file.parent.mkdir(parents=True, exist_ok=True)
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | getattr(os, "O_NOFOLLOW", 0)
        with os.fdopen(os.open(self.file, flags, 0o666), "ab") as file:
            if not self._is_cut:
                self._is_cut = True
                self._bytes = min(self._bytes, file.seek(0, os.SEEK_END))
                file.truncate(self._bytes)
            file.write(content)
        self._bytes += len(content)

    def state_dict(self) -> dict[str, Any]:
        """Return the length of the file and the latest values, for the checkpoint."""
        return {"bytes": self._bytes, "last": self.last, "trained": self._trained}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Restore the values from the checkpoint.

        Checkpoints of version 0.1.0 hold no history, so their runs start a new one.
        """
        self._bytes, self.last = state_dict.get("bytes", 0), state_dict.get("last", {})
        self._trained = state_dict.get("trained", {})


def read_history(file: Path, most: int = MOST_ROWS) -> list[Row]:
    """Return the rows of a history, with at most about ``most`` training rows and ``most`` validation rows.

    Longer histories are thinned to every k-th row of each kind and the last row. Memory use depends only on ``most``.
    If the file is missing, the list is empty.
    """
    if not file.is_file():
        return []
    counts = dict.fromkeys((True, False), 0)
    with file.open("rb") as lines:
        for line in lines:
            counts[_of_validation(line)] += 1
    strides = {kind: max(1, math.ceil(count / most)) for kind, count in counts.items()}
    rows, seen = [], dict.fromkeys(counts, 0)
    with file.open("rb") as lines:
        for line in lines:
            kind = _of_validation(line)
            if seen[kind] % strides[kind] == 0 or seen[kind] + 1 == counts[kind]:
                rows.append(json.loads(line))
            seen[kind] += 1
    return rows


def _of_validation(line: bytes) -> bool:
    return b'"validation/' in line
