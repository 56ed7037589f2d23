"""The processes (ranks) of a run: starting them, dividing work among them, putting results together.

A run has one process unless its configuration asks for more. The first, rank 0, alone writes the run folder; the others
do their share of the same work. ``torchrun`` may start them too, on one machine or several.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, redirect_stdout
from datetime import timedelta
from typing import IO, TYPE_CHECKING, Any

from fairlab.distributed import _distributed
from fairlab.types import FairlabError

if TYPE_CHECKING:  # torch is imported where it is used: --help answers at once
    pass

HOST = "127.0.0.1"
PATIENCE = timedelta(days=7)  # a benchmark of one process may keep the others waiting
CLOSED = "Connection closed by peer"  # as gloo says it
SECONDS_TO_END = 60.0  # that the others have once rank 0 is done


def count_of(trainer: Any) -> int:
    """How many processes a trainer's configuration asks for, on all machines together.

    Raises:
        FairlabError: ``devices`` is no number of processes.
    """
    devices = trainer.get("devices", 1)
    if devices in ("auto", -1, "-1"):
        devices = _gpus() if trainer.get("accelerator") != "cpu" else 1
    elif not isinstance(devices, int):
        devices = len(devices) if not isinstance(devices, str) else 0
    if devices < 1:
        raise FairlabError(f"trainer.devices must be a number above 0, a list or auto, not {trainer.devices}")
    return int(devices) * int(trainer.get("num_nodes", 1))


def _gpus() -> int:
    import torch

    return max(1, torch.cuda.device_count())


def elsewhere() -> bool:
    """Whether ``torchrun`` started this process."""
    return "TORCHELASTIC_RUN_ID" in os.environ


def follows() -> bool:
    """Whether this process was started by ``torchrun`` to follow another, rank 0."""
    return elsewhere() and int(os.environ["RANK"]) > 0


@contextmanager
def joined(count: int, task: Callable[..., None], *arguments: Any) -> Iterator[None]:
    """Around the work of rank 0: as many processes as wanted, all others of which call ``task(*arguments)``.

    Args:
        count: of processes, this one included.
        task: a function of a module that the others can import.
        arguments: that can be pickled.

    Raises:
        FairlabError: ``torchrun`` started another number of processes, or one of the others failed.
    """
    if elsewhere() and int(os.environ["WORLD_SIZE"]) != count:
        raise FairlabError(
            f"torchrun started {os.environ['WORLD_SIZE']} processes, and trainer.devices and trainer.num_nodes ask for "
            f"{count}; give the same number to both"
        )
    if count == 1:
        yield
        return
    if elsewhere():
        _distributed().init_process_group(_backend(), timeout=PATIENCE)
        with _told(task, arguments):
            yield
        return
    with _children(count) as connect:
        connect()
        with _told(task, arguments):
            yield


@contextmanager
def _told(task: Callable[..., None], arguments: Sequence[Any]) -> Iterator[None]:
    _distributed().broadcast_object_list([(task, arguments)])
    try:
        yield
    finally:
        _distributed().destroy_process_group()


@contextmanager
def _children(count: int) -> Iterator[Callable[[], None]]:
    """The other processes on this machine; gives what connects them."""
    import torch

    store = _distributed().TCPStore(HOST, 0, count, is_master=True, wait_for_workers=False)
    threads, own = torch.get_num_threads(), max(1, torch.get_num_threads() // count)
    shared = {"MASTER_ADDR": HOST, "MASTER_PORT": str(store.port), "WORLD_SIZE": str(count), "LOCAL_RANK": "0"}
    before = {name: os.environ.get(name) for name in shared}
    os.environ.update(shared)
    logs = [tempfile.TemporaryFile() for _ in range(1, count)]  # noqa: SIM115  # they go with the process
    children = [
        subprocess.Popen(
            [sys.executable, "-m", "fairlab.run.processes"],
            env=os.environ | {"LOCAL_RANK": str(k), "RANK": str(k), "OMP_NUM_THREADS": str(own)},
            stdout=subprocess.DEVNULL,
            stderr=log,
        )
        for k, log in enumerate(logs, start=1)
    ]
    torch.set_num_threads(own)

    def connect() -> None:
        # Waiting for the others here, where it is seen when one of them does not come up.
        while store.num_keys() == 0 or int(store.add("here", 0)) < count - 1:
            _refuse_failed(children, logs)
            time.sleep(0.02)
        _distributed().init_process_group(_backend(), store=store, rank=0, world_size=count, timeout=PATIENCE)

    try:
        yield connect
        for child in children:
            child.wait(SECONDS_TO_END)
        _refuse_failed(children, logs)
    except RuntimeError as error:  # a connection is lost where another process has gone
        time.sleep(1)
        _refuse_failed(children, logs, error)
        raise
    finally:
        for child in children:
            if child.poll() is None:
                child.kill()
                child.wait()
        torch.set_num_threads(threads)
        for name, value in before.items():  # Lightning may have removed some
            os.environ.pop(name, None)
            os.environ.update({} if value is None else {name: value})


def _refuse_failed(
    children: Sequence[subprocess.Popen[bytes]], logs: Sequence[IO[bytes]], error: Exception | None = None
) -> None:
    for number, (child, log) in enumerate(zip(children, logs, strict=True), start=1):
        if child.poll():
            log.seek(0)
            text = log.read().decode(errors="replace").strip()
            if error is not None and CLOSED in text:  # it ended because this process did
                continue
            print(text, file=sys.stderr)
            last = text.splitlines()[-1] if text else f"exit status {child.returncode}"
            raise FairlabError(f"process {number} of {len(children) + 1} ended before the run did: {last}") from error


def _backend() -> str:
    import torch

    return "cpu:gloo,cuda:nccl" if torch.cuda.is_available() else "gloo"


def follow() -> None:
    """What a process other than rank 0 does: connect, and call what it is told to."""
    if elsewhere():
        _distributed().init_process_group(_backend(), timeout=PATIENCE)
    else:
        own, count = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
        threading.Thread(target=_end_with, args=(os.getppid(),), daemon=True).start()
        store = _distributed().TCPStore(HOST, int(os.environ["MASTER_PORT"]), count, is_master=False)
        store.add("here", 1)
        _distributed().init_process_group(_backend(), store=store, rank=own, world_size=count, timeout=PATIENCE)
    told: list[Any] = [None]
    _distributed().broadcast_object_list(told)
    task, arguments = told[0]
    with open(os.devnull, "w", encoding="utf-8") as nowhere, redirect_stdout(nowhere):
        task(*arguments)
    _distributed().destroy_process_group()


def _end_with(parent: int) -> None:
    """End this process when the one that started it is gone."""
    while os.getppid() == parent:
        time.sleep(1)
    os._exit(1)


if __name__ == "__main__":
    from fairlab.run import processes as module  # under its own name, which pickled functions know it by

    module.follow()
