"""Resumable augmentation of any amount of text: rows are streamed and processed in shards.

A shard consists of consecutive rows of the input, all from one split. Its results are written to ``data-NNNNN.jsonl``,
or to ``data-SPLIT-NNNNN.jsonl`` if the input has splits. Rejected rewrites are written to ``rejected-NNNNN.jsonl``, and
unreadable rows to ``shards/NNNNN.quarantine.jsonl``. Empty files are not written. ``shards/NNNNN.json`` is written last
and marks the shard as finished.

The rows of a shard depend only on the input and ``shard_rows``. The output therefore does not depend on the number of
processes, their order, or interruptions.
"""

from __future__ import annotations

import json
import os
import re
import signal
import threading
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from multiprocessing import get_context, parent_process
from pathlib import Path
from typing import Any, NotRequired, Protocol, TypedDict, TypeVar

from fairlab.data.stream.formats import BadRow
from fairlab.data.stream.parts import FinishedPart
from fairlab.files import sha256, write_whole
from fairlab.record import without_nan
from fairlab.types import FairlabError, Made, Natural, Row, need_extra

DATA, OF_SPLIT = "data-{:05}.jsonl", "data-{}-{:05}.jsonl"
NAMED = re.compile(r"data-(?:(.+)-)?\d{5,}\.jsonl")
FILES = {"rejected": "rejected-{:05}.jsonl", "quarantine": "shards/{:05}.quarantine.jsonl"}
BAD = "rows that cannot be read"
SURROGATE = re.compile("[\ud800-\udfff]")
MOST_CHARACTERS = 8_000_000  # maximum number of characters per shard, to bound memory for long texts
WAITING = 2  # number of shards per process that are read in advance
T = TypeVar("T")
_KILLED = (
    "one of {} was killed, perhaps due to a lack of memory; run the same command again to resume, with a smaller "
    "num_proc if it happens again"
)

Input = Row | BadRow


class Augmentation(Protocol):
    """Interface of an augmentation that can make shards."""

    def make(self, rows: Sequence[Row]) -> list[Made]:
        """Return the results for every row, in order."""
        ...


class CountedFile(TypedDict):
    """Entry for one file of a shard, as stored in summaries and manifests. Older manifests lack the numbers."""

    file: str
    sha256: str
    rows: NotRequired[Natural]
    bytes: NotRequired[Natural]


class ShardSummary(TypedDict):
    """Layout of the summary of a finished shard."""

    read: Natural
    files: dict[str, CountedFile]
    reasons: dict[str, Natural]
    counts: dict[str, Natural]


@dataclass(frozen=True)
class ShardTask:
    """Rows of one shard to process, all from one split."""

    number: int
    folder: Path
    items: list[Input]

    @property
    def part(self) -> FinishedPart:
        """Return the shard's part of the output."""
        return FinishedPart(self.folder, self.folder / "shards" / f"{self.number:05}.json", ShardSummary)

    def name(self, kind: str) -> str:
        """Return the name of the shard's file of the given kind."""
        return data_name(self.items[0].split, self.number) if kind == "data" else FILES[kind].format(self.number)


def data_name(split: str, number: int) -> str:
    """Return the name of a data file. The split is empty if the input has no splits."""
    return OF_SPLIT.format(split, number) if split else DATA.format(number)


def split_of(file: Path) -> str:
    """Return the split in the name of a data file, or an empty string if the name contains no split.

    Example:
        >>> split_of(Path("data-train-00003.jsonl")), split_of(Path("data-00003.jsonl"))
        ('train', '')
    """
    found = NAMED.fullmatch(file.name)
    return (found[1] or "") if found else ""


def make_shards(
    items: Iterable[Input],
    builder: Callable[[], Augmentation],
    folder: Path,
    *,
    shard_rows: int,
    num_proc: int = 1,
    engine: str = "local",
) -> Iterator[dict[str, Any]]:
    """Make all missing shards, and yield the summary of every shard, in order.

    Args:
        items: Rows of the input, including bad rows.
        builder: Function that makes the augmentation, called once in every process; must be picklable.
        folder: Folder of the output.
        shard_rows: Number of input rows in a shard, fewer if texts are very long.
        num_proc: Number of processes; 1 uses the current process.
        engine: Place where shards are made: ``local``, or ``ray`` for the cluster that this process connects to.

    Raises:
        FairlabError: A process was killed, Ray is not installed, or the augmentation failed.
            Finished shards are kept.
    """
    folder = folder.resolve()  # workers on other machines may have another working directory
    (folder / "shards").mkdir(parents=True, exist_ok=True)
    tasks = cut(items, folder, shard_rows)
    if engine == "ray":
        yield from _on_ray(tasks, builder, num_proc)
    elif num_proc == 1:
        yield from _here(tasks, builder)
    else:
        yield from _in_processes(tasks, builder, num_proc)


def cut(items: Iterable[Input], folder: Path, shard_rows: int) -> Iterator[ShardTask]:
    """Divide rows into consecutive shards, each with at most ``shard_rows`` rows from one split."""
    number, shard, characters = 0, list[Input](), 0
    for item in items:
        length = len(item.text) if isinstance(item, Row) else 0
        full = len(shard) == shard_rows or characters + length > MOST_CHARACTERS
        if shard and (full or item.split != shard[0].split):
            yield ShardTask(number, folder, shard)
            number, shard, characters = number + 1, [], 0
        shard.append(item)
        characters += length
    if shard:
        yield ShardTask(number, folder, shard)


def make_shard(task: ShardTask, augmentation: Augmentation) -> dict[str, Any]:
    """Make one shard, write its files, and return its summary: number of rows read, files, reasons and counts."""
    made = iter(augmentation.make([item for item in task.items if isinstance(item, Row)]))
    lines: dict[str, list[str]] = {"data": [], "rejected": [], "quarantine": []}
    reasons, counts = Counter[str](), Counter[str]()
    for item in task.items:
        if isinstance(item, BadRow):
            counts[BAD] += 1
            about = asdict(item)
            lines["quarantine"].append(
                json_line({name: about[name] for name in about if name != "split" or item.split})
            )
            continue
        outcome = next(made)
        counts.update(outcome.counts)
        lines["data"] += map(json_line, outcome.rows)
        if outcome.reason:
            reasons[outcome.reason] += 1
            named = {"id": item.id, "place": item.place, "reason": outcome.reason, "detail": outcome.detail}
            lines["rejected"].append(
                json_line({**item.extra, **named, "text": item.text, "versions": outcome.versions})
            )
    summary = {
        "read": len(task.items),
        "files": {kind: _write(task.folder, task.name(kind), some) for kind, some in lines.items() if some},
        "reasons": dict(sorted(reasons.items())),
        "counts": {name: count for name, count in sorted(counts.items()) if count},
    }
    task.part.write(summary)
    return summary


def _write(folder: Path, name: str, lines: list[str]) -> dict[str, Any]:
    file = folder / name
    write_whole(file, "".join(lines))
    return {"file": name, "rows": len(lines), "bytes": file.stat().st_size, "sha256": sha256(file)}


def json_line(row: dict[str, Any]) -> str:
    """Convert a row with cells of any content to a line of JSON."""
    try:
        line = json.dumps(row, ensure_ascii=False, default=str, allow_nan=False) + "\n"
    except ValueError:  # an empty table cell may be nan, which JSON does not allow
        return json_line(without_nan(row))
    # Half a surrogate pair, in a field other than the text, can only be written escaped.
    return line if line.isascii() or not SURROGATE.search(line) else json.dumps(row, default=str) + "\n"


def _here(tasks: Iterable[ShardTask], builder: Callable[[], Augmentation]) -> Iterator[dict[str, Any]]:
    augmentation: Augmentation | None = None
    for task in tasks:
        summary = task.part.read()
        if summary is None:
            augmentation = augmentation or builder()
            summary = make_shard(task, augmentation)
        yield summary


_built: Any = None  # set in a worker process


def _start_worker(build: Callable[[], Any]) -> None:
    global _built
    end_with_parent()
    _built = build()


def _work(function: Callable[[Any, Any], Any], task: Any) -> Any:
    return function(task, _built)


def end_with_parent() -> None:
    """Set up a worker process to end without a traceback on Ctrl-C, and to end when its parent ends."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    threading.Thread(target=_wait_for_parent, daemon=True).start()


def _wait_for_parent() -> None:
    """Exit when the parent process ends, because a worker would otherwise wait forever after its parent is killed."""
    parent = parent_process()
    assert parent is not None
    parent.join()
    os._exit(1)


def _in_processes(
    tasks: Iterable[ShardTask], builder: Callable[[], Augmentation], num_proc: int
) -> Iterator[dict[str, Any]]:
    """Yield summaries in order, with a bounded number of shards in memory."""
    builder()  # reports invalid settings before any process starts
    with process_pool(num_proc, builder) as submit:
        begun = (task.part.read() or submit(make_shard, task) for task in tasks)
        for entry in drawn_ahead(begun, num_proc):
            yield entry if isinstance(entry, dict) else entry.result()


def drawn_ahead(items: Iterable[T], num_proc: int) -> Iterator[T]:
    """Yield items in order, and prefetch at most ``WAITING`` items per process."""
    waiting: deque[T] = deque()
    for item in items:
        waiting.append(item)
        if len(waiting) > WAITING * num_proc:
            yield waiting.popleft()
    while waiting:
        yield waiting.popleft()


@contextmanager
def process_pool(num_proc: int, build: Callable[[], Any]) -> Iterator[Callable[..., Future[Any]]]:
    """Yield a function that submits work to newly started processes.

    ``submit(function, task)`` calls ``function(task, built)`` in one of them, where ``built`` is what the process got
    from ``build`` when it started. At the end, running tasks are finished and pending tasks are dropped.

    Raises:
        FairlabError: A process was killed.
    """
    pool = ProcessPoolExecutor(num_proc, get_context("spawn"), _start_worker, (build,))
    try:
        yield lambda function, task: pool.submit(_work, function, task)
    except BrokenProcessPool as error:
        raise FairlabError(_KILLED.format(f"the num_proc={num_proc} processes")) from error
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


class _RayWorker:
    """Ray actor that holds the augmentation."""

    def __init__(self, builder: Callable[[], Augmentation]) -> None:
        self.augmentation = builder()

    def ready(self) -> None:
        """Do nothing; returns when the actor has been started."""

    def make(self, task: ShardTask) -> tuple[int, dict[str, Any]]:
        return task.number, make_shard(task, self.augmentation)


class _RayPool:
    """Ray actors that make one shard at a time each. An actor gets its next shard as soon as it is free.

    Args:
        builder: Function that makes the augmentation.
        num_proc: Number of actors.

    Attributes:
        made: Summaries of the shards made so far, by number.
    """

    def __init__(self, builder: Callable[[], Augmentation], num_proc: int) -> None:
        import ray

        self.ray, self.num_proc = ray, num_proc
        worker = ray.remote(num_cpus=1)(_RayWorker)
        actors = [worker.remote(builder) for _ in range(num_proc)]
        self.running = {actor.ready.remote(): actor for actor in actors}  # an actor without a processor gets no shard
        self.made: dict[int, dict[str, Any]] = {}

    def submit(self, task: ShardTask) -> None:
        """Wait for a free actor, and let it make a shard."""
        actor = self.collect()
        self.running[actor.make.remote(task)] = actor

    def collect(self) -> Any:
        """Wait for an actor to finish, keep the summary of its shard, and return the actor.

        Raises:
            FairlabError: The augmentation failed, or the actor was killed.
        """
        (finished,), _ = self.ray.wait(list(self.running))
        actor = self.running.pop(finished)
        try:
            found = self.ray.get(finished)
        except self.ray.exceptions.RayTaskError as error:
            raise error.cause if isinstance(error.cause, FairlabError) else error from None
        except self.ray.exceptions.RayActorError as error:
            raise FairlabError(_KILLED.format(f"Ray's num_proc={self.num_proc} workers")) from error
        if found is not None:
            number, self.made[number] = found
        return actor


def _on_ray(tasks: Iterable[ShardTask], builder: Callable[[], Augmentation], num_proc: int) -> Iterator[dict[str, Any]]:
    """Make shards on Ray, and yield their summaries in order. All nodes must share the output folder."""
    need_extra("ray", "engine=ray", "ray")
    builder()  # reports invalid settings before any actor starts
    pool = _RayPool(builder, num_proc)
    begun = yielded = 0
    for task in tasks:
        begun += 1
        summary = task.part.read()
        if summary is None:
            pool.submit(task)
        else:
            pool.made[task.number] = summary
        while yielded in pool.made:
            yield pool.made.pop(yielded)
            yielded += 1
    while yielded < begun:
        while yielded not in pool.made:
            pool.collect()
        yield pool.made.pop(yielded)
        yielded += 1
