"""Classification tasks of GLUE: labelled sentences and sentence pairs.

Source: Wang et al. 2019, "GLUE"; SST-2 in the sentence-level copy of clairett/pytorch-sentiment-classification.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from fairlab.data.sources import locate
from fairlab.types import FairlabError


@dataclass(frozen=True)
class Example:
    """A labelled sentence, or pair of sentences.

    Attributes:
        first, second: the texts; ``second`` is None for a task of single sentences.
        label: position in the task's labels.
    """

    first: str
    second: str | None
    label: int


@dataclass(frozen=True)
class Task:
    """Where a task's files lie and how they are laid out.

    Attributes:
        folder: below ``FAIRLAB_DATA``, with ``train.tsv`` and ``dev.tsv``.
        columns: of the first text, the second text (None without one) and the label.
        width: columns of a row.
        labels: as written in the file.
        header: whether the first line names the columns.
    """

    folder: str
    columns: tuple[int, int | None, int]
    width: int
    labels: tuple[str, ...]
    header: bool = True


TASKS = {
    "sst2": Task("sst2", (0, None, 1), 2, ("0", "1"), header=False),
    "mrpc": Task("glue/MRPC", (3, 4, 0), 5, ("0", "1")),
    "rte": Task("glue/RTE", (1, 2, 3), 4, ("not_entailment", "entailment")),
}


def read_task(name: str, split: str) -> list[Example]:
    """Examples of a task's ``train`` or ``dev`` split, in file order.

    Raises:
        DataUnavailable: the file cannot be had.
        FairlabError: there is no such task, or its file is not laid out as its task's.
    """
    if name not in TASKS:
        raise FairlabError(f"there is no task '{name}'; there are: {', '.join(TASKS)}")
    task = TASKS[name]
    return parse(locate(f"{task.folder}/{split}.tsv"), task)


def parse(path: Path, task: Task) -> list[Example]:
    """Examples of a file. Its fields are not quoted, so lines are split at tabs and nothing else.

    Raises:
        FairlabError: a line has other columns or an unknown label; the message names it.
    """
    lines = path.read_text(encoding="utf-8-sig").split("\n")
    examples = []
    first, second, label = task.columns
    for number, line in enumerate(lines, start=1):
        if not line.strip() or (task.header and number == 1):
            continue
        cells = line.rstrip("\r").split("\t")
        if len(cells) != task.width:
            raise FairlabError(
                f"{path} line {number} has {len(cells)} columns, not {task.width}; is it {task.folder}'s?"
            )
        if cells[label] not in task.labels:
            raise FairlabError(
                f"{path} line {number} has the label '{cells[label]}'; {task.folder} has {', '.join(task.labels)}"
            )
        pair = None if second is None else cells[second]
        examples.append(Example(cells[first], pair, task.labels.index(cells[label])))
    if not examples:
        raise FairlabError(f"{path} holds no example; is it {task.folder}'s?")
    return examples
