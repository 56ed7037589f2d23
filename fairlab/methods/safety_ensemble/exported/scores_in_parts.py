"""Resumable scoring of any number of rows in parts; finished parts are kept, so no row is scored twice.

A part consists of consecutive rows of the input. While scoring is in progress, the parts are in a folder next to the
output. ``NNNNN.jsonl`` holds the scores of a part's rows; ``NNNNN.json``, written last, marks the part as finished and
identifies its rows. Once all parts are finished, they are combined into the output and the folder is removed.
"""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any, TypedDict

from filelock import FileLock, Timeout

from fairlab.data.stream.formats import BadRow
from fairlab.data.stream.parts import FinishedPart, changed_facts
from fairlab.data.stream.shards import CountedFile, Input, ShardTask, cut, json_line
from fairlab.files import check_folder, gather, no_space_is_one_sentence, remove_unfinished, sha256, write_whole
from fairlab.methods.safety_ensemble.exported.columns import MISSING
from fairlab.methods.safety_ensemble.exported.scoring import Scorer, Scores, score_batches
from fairlab.text.naming import listed_names
from fairlab.types import FairlabError, Natural, Row

FACTS = "facts.json"


class Finished(TypedDict):
    """Summary of a finished part of an output file.

    Attributes:
        number: Number of the part.
        of: Hash of the part's rows.
        rows: Number of rows in the part.
        bad: Number of rows that could not be read.
        missing: Number of rows that at least one source did not score.
        files: File of the scores, by kind.
    """

    number: Natural
    of: str
    rows: Natural
    bad: Natural
    missing: Natural
    files: dict[str, CountedFile]


class Parts:
    """Parts in which an output file is computed.

    Args:
        output: File for the scores.
        facts: JSON values that determine the scores in addition to the rows. If scoring was started with other values,
            an error is raised.
        keep: Input columns that are copied to the output.
        part_rows: Maximum number of rows in a part.
    """

    def __init__(self, output: Path, facts: Mapping[str, Any], *, keep: Sequence[str], part_rows: int) -> None:
        self.output = output
        self.folder = output.with_name(f"{output.name}.parts")
        self.facts = json.loads(json.dumps({**facts, "keep": list(keep), "part_rows": part_rows}))
        self.keep, self.part_rows = keep, part_rows
        self.went_on = 0  # number of parts finished by an earlier run

    def finish(self, rows: Iterable[Input], load: Callable[[], Scorer], *, num_proc: int) -> list[Finished]:
        """Score all rows that are not in a finished part, and combine all parts into the output.

        Raises:
            FairlabError: Rows differ from the rows of a finished part, the scores were begun with other settings,
                another process is working on them, a row lacks a column to keep, or scoring failed.
        """
        with self._lock(), no_space_is_one_sentence(self.output):
            finished: dict[int, Finished] = {}
            missing = self._missing_parts(rows, finished)
            for task, scores in score_batches(missing, _texts, load, num_proc=num_proc):
                finished[task.number] = self._write(task, scores)
            if (self.folder / f"{len(finished):05}.json").exists():
                raise self._changed_error(f"there are only {sum(one['rows'] for one in finished.values()):,} rows left")
            gather(self.output, [self._file(number) for number in range(len(finished))])
        shutil.rmtree(self.folder, ignore_errors=True)
        return [finished[number] for number in range(len(finished))]

    def clear(self) -> bool:
        """Remove parts that remain next to a complete output, and return whether any were found."""
        left = self.folder.is_dir()
        shutil.rmtree(self.folder, ignore_errors=True)
        return left

    @contextmanager
    def _lock(self) -> Iterator[None]:
        """Lock the folder for this process, and remove it on exit if no part is finished."""
        self.folder.mkdir(parents=True, exist_ok=True)
        if self.folder.is_symlink():
            raise FairlabError(f"{self.folder} is a link; remove it, because scores are written under that name")
        check_folder(self.folder)
        try:
            with FileLock(self.folder / ".lock", timeout=0):
                remove_unfinished(self.folder)
                self._refuse_other_facts()
                try:
                    yield
                finally:
                    if not self._any_finished():
                        shutil.rmtree(self.folder, ignore_errors=True)
        except Timeout as error:
            raise FairlabError(
                f"another process is writing {self.output}; wait until it is done, or give another output"
            ) from error

    def _any_finished(self) -> bool:
        """Return whether any part is finished."""
        return any(self.folder.glob("[0-9]*.json"))

    def _refuse_other_facts(self) -> None:
        file = self.folder / FACTS
        if not self._any_finished():
            write_whole(file, json.dumps(self.facts, indent=1) + "\n")
        if others := changed_facts(file, self.facts):
            raise FairlabError(
                f"{self.folder} holds scores that were started with another {others[0]}; give another output, or "
                "remove that folder to start over"
            )

    def _missing_parts(self, rows: Iterable[Input], finished: dict[int, Finished]) -> Iterator[ShardTask]:
        """Yield the parts that have not been scored, and add the scored parts to ``finished``."""
        for task in cut(rows, self.folder, self.part_rows):
            before: Any = self._part(task.number).read()
            if before is None:
                yield task
                continue
            if before["of"] != _hash(task):
                raise self._changed_error(f"from {task.items[0].place} on there are other rows")
            finished[task.number] = before
            self.went_on += 1

    def _changed_error(self, how: str) -> FairlabError:
        return FairlabError(
            f"the input has changed since its scores were started ({how}); give another output, or remove "
            f"{self.folder} to start over"
        )

    def _write(self, task: ShardTask, scores: list[Scores]) -> Finished:
        made = iter(scores)
        lines = [self._line(item, made) for item in task.items]
        file = self._file(task.number)
        write_whole(file, "".join(map(json_line, lines)))
        bad, missing = (sum(name in line for line in lines) for name in ("error", MISSING))
        done: Finished = {
            "number": task.number,
            "of": _hash(task),
            "rows": len(lines),
            "bad": bad,
            "missing": missing,
            "files": {"scores": {"file": file.name, "bytes": file.stat().st_size, "sha256": sha256(file)}},
        }
        self._part(task.number).write(done)
        return done

    def _line(self, item: Input, scores: Iterator[Scores]) -> dict[str, Any]:
        if isinstance(item, BadRow):
            return {"id": item.place, "error": item.reason}
        if absent := [name for name in self.keep if name not in item.extra]:
            has = listed_names(item.extra)
            raise FairlabError(f"{item.place} has no column '{absent[0]}' to keep; next to text and id it has: {has}")
        return {"id": item.id, **{name: item.extra[name] for name in self.keep}, **next(scores)}

    def _file(self, number: int) -> Path:
        return self.folder / f"{number:05}.jsonl"

    def _part(self, number: int) -> FinishedPart:
        return FinishedPart(self.folder, self.folder / f"{number:05}.json", Finished)


def _texts(task: ShardTask) -> list[str]:
    return [item.text for item in task.items if isinstance(item, Row)]


def _hash(task: ShardTask) -> str:
    """Return a hash of a part's rows with all their columns."""
    digest = hashlib.sha256()
    for item in task.items:
        digest.update(json_line(asdict(item)).encode("utf-8", "surrogatepass"))
    return digest.hexdigest()
