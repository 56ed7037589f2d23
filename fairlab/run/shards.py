"""Sharded checkpoints: each process writes its own part of the weights while training continues.

A checkpoint is a folder. Weights and optimizer state are safetensors files, written by torch's distributed checkpoint
library, which any number of processes can read. ``state.pt`` contains everything else, and ``checksums.json`` a
checksum per file.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.distributed import ProcessGroup, gather_object, new_group
from torch.distributed.checkpoint.api import CheckpointException
from torch.distributed.checkpoint.hf_storage import HuggingFaceStorageReader, HuggingFaceStorageWriter
from torch.distributed.checkpoint.state_dict import get_optimizer_state_dict, set_optimizer_state_dict
from torch.distributed.checkpoint.state_dict_loader import load
from torch.distributed.checkpoint.state_dict_saver import save
from torch.optim import Optimizer

from fairlab.checks.foreign import read_json
from fairlab.distributed import gather_over_ranks, own_share, rank, ranks
from fairlab.types import FairlabError

STATE, CHECKSUMS = "state.pt", "checksums.json"
READ_AT_ONCE = 16 << 20  # bytes


class ShardWriter:
    """Writer of checkpoints in a background thread, one at a time.

    The thread communicates in its own gloo group, so that its messages are separate from the messages of training.
    """

    def __init__(self) -> None:
        self.group = new_group(backend="gloo")
        self._thread = ThreadPoolExecutor(1)
        self._writing: Future[None] | None = None

    def start(self, checkpoint: Mapping[str, Any], folder: Path, publish: Callable[[], None]) -> None:
        """Start writing a checkpoint, and return as soon as the tensors are copied.

        The folder must be empty. Rank 0 calls ``publish`` when the folder is complete.
        """
        self.wait()
        tensors, others = _split(checkpoint["state_dict"], checkpoint["optimizer_states"])
        rest = {name: value for name, value in checkpoint.items() if name not in ("state_dict", "optimizer_states")}
        groups = [state["param_groups"] for state in checkpoint["optimizer_states"]]
        if rank() == 0:
            state = {"rest": rest, "groups": groups, "others": others, "tensors": sorted(tensors)}
            torch.save(state, folder / STATE)
        copies = {name: value.detach().to("cpu", copy=True) for name, value in tensors.items()}
        self._writing = self._thread.submit(self._write, copies, folder, publish)

    def wait(self) -> None:
        """Wait until the current checkpoint is written.

        Raises:
            Exception: The checkpoint could not be written.
        """
        writing, self._writing = self._writing, None
        if writing is not None:
            writing.result()

    def _write(self, tensors: dict[str, Tensor], folder: Path, publish: Callable[[], None]) -> None:
        writer = HuggingFaceStorageWriter(str(folder), save_distributed=True)
        with _own_error():
            save(tensors, storage_writer=writer, process_group=self.group)
        own = {path.name: _checksum(path) for path in folder.glob(f"shard-{rank() + 1:05d}-*")}
        if rank() == 0:
            own[STATE] = _checksum(folder / STATE)
        found: list[Any] | None = [None] * ranks() if rank() == 0 else None
        gather_object(own, found, group=self.group)
        if found is not None:
            sums = {name: value for of_process in found for name, value in of_process.items()}
            (folder / CHECKSUMS).write_text(json.dumps(sums))
            publish()


def load_shards(folder: Path, model: nn.Module, optimizers: Sequence[Optimizer], group: ProcessGroup) -> dict[str, Any]:
    """Load weights and optimizer state from a sharded checkpoint, and return the rest of the checkpoint.

    The checkpoint may have been written by any number of processes. The group of all processes must have a CPU backend.

    Raises:
        RuntimeError: The checkpoint belongs to another model.
    """
    saved = torch.load(folder / STATE, weights_only=True)
    states: list[Any] = [get_optimizer_state_dict(model, optimizer) for optimizer in optimizers]
    weights = model.state_dict()
    tensors, _ = _split(weights, states)
    reader = HuggingFaceStorageReader(str(folder))
    _refuse_other_tensors(saved["tensors"], tensors, reader.read_metadata().state_dict_metadata)
    tensors = {name: tensors[name] for name in saved["tensors"]}
    with _own_error():
        load(tensors, storage_reader=reader, process_group=group)
    loaded = tensors | saved["others"]
    model.load_state_dict({name: loaded[f"model.{name}"] for name in weights if f"model.{name}" in loaded})
    for number, (optimizer, state) in enumerate(zip(optimizers, states, strict=True)):
        for weight, values in state["state"].items():
            values |= {name: loaded[f"optimizer.{number}.{weight}.{name}"] for name in values}
        set_optimizer_state_dict(model, optimizer, {**state, "param_groups": saved["groups"][number]})
    return dict(saved["rest"])


def _refuse_other_tensors(saved: Sequence[str], present: Mapping[str, Tensor], found: Mapping[str, Any]) -> None:
    missing = {name for name in present if name.startswith("optimizer.")} - set(saved)
    if missing or any(
        name not in present or name not in found or found[name].size != present[name].shape for name in saved
    ):
        raise RuntimeError("Error(s) in loading state_dict: its tensors belong to another model")


@contextmanager
def _own_error() -> Iterator[None]:
    """Raise the error of the first process that failed, instead of torch's list of the errors of all processes."""
    try:
        yield
    except CheckpointException as error:
        raise next(iter(error.failures.values()))[0] from None


def shards_are_intact(folder: Path) -> bool:
    """Return whether every file of a sharded checkpoint matches its checksum.

    Each process checks some of the files.
    """
    try:
        sums = read_json(folder / CHECKSUMS)
        names = sorted([STATE, *(path.name for path in folder.glob("*.safetensors"))])
        intact = names == sorted(sums) and all(_checksum(folder / name) == sums[name] for name in own_share(names))
    except (OSError, ValueError, TypeError, FairlabError):
        intact = False
    return all(gather_over_ranks(intact))


def _split(weights: Mapping[str, Any], states: Sequence[Mapping[str, Any]]) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """Split the state of model and optimizers into tensors, which are stored as shards, and single numbers."""
    named = dict(_named(weights, states))
    tensors = {name: value for name, value in named.items() if isinstance(value, Tensor) and value.ndim}
    return tensors, {name: value for name, value in named.items() if name not in tensors}


def _named(weights: Mapping[str, Any], states: Sequence[Mapping[str, Any]]) -> Iterator[tuple[str, Any]]:
    yield from ((f"model.{name}", value) for name, value in weights.items())
    for number, state in enumerate(states):
        for weight, values in state["state"].items():
            yield from ((f"optimizer.{number}.{weight}.{name}", value) for name, value in values.items())


def _checksum(path: Path) -> int:
    total = 0
    with path.open("rb") as file:
        while part := file.read(READ_AT_ONCE):
            total = zlib.crc32(part, total)
    return total
