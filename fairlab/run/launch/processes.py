"""Several processes (ranks) per run, started by torch's elastic launcher or, on several machines, by ``torchrun``.

All processes call the same function and are connected by ``torch.distributed``; see :mod:`fairlab.distributed`.
"""

from __future__ import annotations

import logging
import os
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from contextlib import redirect_stdout
from datetime import timedelta
from typing import Any

from fairlab.checks.escapes import print_escaped
from fairlab.distributed import rank, torch_distributed
from fairlab.types import FairlabError

HOST = "127.0.0.1"
PATIENCE = timedelta(days=7)  # a benchmark in one process may keep the others waiting
SECONDS_TO_END = "600"  # time after SIGTERM for the current step, possibly a validation, and a checkpoint
TOLD_TO_END = 128 + signal.SIGTERM  # exit status


def count_of(trainer: Any) -> int:
    """Return the total number of processes, over all machines, that a trainer's configuration requests.

    Raises:
        FairlabError: ``devices`` does not give a number of processes.
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


def started_by_torchrun() -> bool:
    """Return whether ``torchrun`` started this process."""
    return "TORCHELASTIC_RUN_ID" in os.environ


def refuse_other_count(count: int) -> None:
    """Raise an error if ``torchrun`` did not start the configured number of processes."""
    if started_by_torchrun() and int(os.environ["WORLD_SIZE"]) != count:
        raise FairlabError(
            f"torchrun started {os.environ['WORLD_SIZE']} processes, but trainer.devices and trainer.num_nodes ask for "
            f"{count}; give the same number to both"
        )


def run_in_processes(count: int, task: Callable[..., None], *arguments: Any) -> None:
    """Call ``task(*arguments)`` in several connected processes, and wait for all of them.

    Under ``torchrun``, this process calls the task as well, and all others wait in :func:`work_for_rank_0`.

    Args:
        count: Number of processes.
        task: Function in a module that the other processes can import.
        arguments: Picklable arguments of the task.

    Raises:
        FairlabError: A process ended before its task was done; all other processes are then ended.
    """
    if started_by_torchrun():
        _connect()
        torch_distributed().broadcast_object_list([(task, arguments)])
        task(*arguments)
        torch_distributed().destroy_process_group()
        return
    from torch.distributed.elastic.multiprocessing import DefaultLogsSpecs, Std
    from torch.distributed.elastic.multiprocessing.errors import ChildFailedError
    from torch.distributed.launcher.api import LaunchConfig, elastic_launch

    os.environ.setdefault("TORCH_ELASTIC_SHUTDOWN_TIMEOUT", SECONDS_TO_END)
    with tempfile.TemporaryDirectory() as logs:
        config = LaunchConfig(
            min_nodes=1,
            max_nodes=1,
            nproc_per_node=count,
            max_restarts=0,
            run_id="fairlab",
            rdzv_backend="c10d",
            rdzv_endpoint=f"{HOST}:0",
            local_addr=HOST,
            signals_to_handle="",  # Ctrl-C and SIGTERM raise here as usual, and the launcher sends SIGTERM
            logs_specs=DefaultLogsSpecs(logs, redirects=dict.fromkeys(range(1, count), Std.ALL)),
        )
        sys.stdout.flush()
        logging.disable(logging.CRITICAL)  # silences the launcher, because the user gets one sentence instead
        try:
            elastic_launch(config, _run_task)(task, arguments, os.getpid())
        except ChildFailedError as error:
            raise FairlabError(_why_it_ended(*error.get_first_failure(), count)) from None
        finally:
            logging.disable(logging.NOTSET)


def _run_task(task: Callable[..., None], arguments: tuple[Any, ...], launcher: int) -> None:
    """Run the task in a process started by the launcher."""
    import torch

    threading.Thread(target=_end_with, args=(launcher,), daemon=True).start()
    # a terminal sends SIGINT to all processes; the launcher responds with SIGTERM
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(TOLD_TO_END))
    torch.set_num_threads(max(1, torch.get_num_threads() // int(os.environ["LOCAL_WORLD_SIZE"])))
    _connect()
    try:
        task(*arguments)
    except Exception as error:
        # The launcher reports the process that ends first. Therefore rank 0 must end before others with the same error,
        # and a process that broke a connection must end before both.
        if rank() or isinstance(error, RuntimeError):
            time.sleep(1)
        raise
    torch_distributed().destroy_process_group()


def _why_it_ended(number: int, failure: Any, count: int) -> str:
    """Return an error message about the process that failed first.

    The traceback is printed unless the user can fix the error.
    """
    said = failure.message
    if isinstance(said, dict):  # an exception, in the launcher's format
        kind, _, text = said["message"].partition(": ")
        if kind != FairlabError.__name__:
            print_escaped(said["extraInfo"]["py_callstack"], error=True)
            text = f"{kind}: {text}"
        elif number == 0:
            return text
        said = " ".join(text.split())
    elif failure.exitcode > 0:
        said = f"exit status {failure.exitcode}"
    return f"process {number} of {count} ended before the run did: {said}"


def work_for_rank_0() -> None:
    """Receive a task from rank 0 and run it without output, in one of the other processes that ``torchrun`` started."""
    _connect()
    said: list[Any] = [None]
    torch_distributed().broadcast_object_list(said)
    task, arguments = said[0]
    with open(os.devnull, "w", encoding="utf-8") as nowhere, redirect_stdout(nowhere):
        task(*arguments)
    torch_distributed().destroy_process_group()


def _connect() -> None:
    import torch

    backend = "cpu:gloo,cuda:nccl" if torch.cuda.is_available() else "gloo"
    torch_distributed().init_process_group(backend, timeout=PATIENCE)


def _end_with(launcher: int) -> None:
    """Wait until the parent process is gone, then end this process."""
    while os.getppid() == launcher:
        time.sleep(0.5)
    os._exit(1)
