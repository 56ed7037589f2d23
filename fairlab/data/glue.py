"""Labelled tasks: those of GLUE, and RACE, from files or from the hub.

Source: Wang et al. 2019, "GLUE"; SST-2 in the sentence-level copy of clairett/pytorch-sentiment-classification; Lai et
al. 2017, "RACE: Large-scale ReAding Comprehension Dataset From Examinations".
"""

from __future__ import annotations

import hashlib
import json
import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fairlab.data.sources import locate
from fairlab.types import DataUnavailable, FairlabError

HUB = "hub"  # in place of a path
SUFFIXES = (".tsv", ".json", ".jsonl")
LOWEST, HIGHEST = 0.0, 5.0  # scores of STS-B
Fields = Mapping[str, Any]


@dataclass(frozen=True)
class Example:
    """A labelled sentence, pair of sentences, or text with a question and the answers to choose from.

    Attributes:
        first, second: the texts; ``second`` is None for a task of single sentences.
        label: position in the task's labels, or a score.
        options: the answers, in the order of the task's labels; empty where there is nothing to choose from.
    """

    first: str
    second: str | None
    label: float
    options: tuple[str, ...] = ()

    @property
    def fields(self) -> list[str]:
        """All its texts: the first, the second where there is one, the answers."""
        return [self.first, *([] if self.second is None else [self.second]), *self.options]

    def with_fields(self, fields: Sequence[str]) -> Example:
        """The example with other texts, as many as it has."""
        paired = self.second is not None
        return Example(fields[0], fields[1] if paired else None, self.label, tuple(fields[1 + paired :]))

    @property
    def pairs(self) -> list[tuple[str, str | None]]:
        """What a model reads: the texts, or one pair for each answer, which stands where the question has its blank."""
        if not self.options:
            return [(self.first, self.second)]
        question = self.second or ""
        return [
            (self.first, question.replace("_", option) if "_" in question else f"{question} {option}")
            for option in self.options
        ]


@dataclass(frozen=True)
class Task:
    """Where a task's examples lie, how they are laid out, and how predictions are scored.

    Attributes:
        name: of the task.
        labels: names of the labels, in the order of their numbers; empty for a task of scores from 0 to 5.
        metrics: names of its measures; the first one stands for the task.
        layouts: columns of the first text, the second text (where there is one), the answers (where there are any) and
            the label, for each way the task is published; the first way whose columns are all there is read.
        files: of every split, below ``FAIRLAB_DATA``.
        hub: data set on the hub, and its configuration.
        written: the labels as files have them where that is not their names.
        columns: of a file without a header.
        options: whether an answer is to be chosen; the labels are the answers' places.
        halves: whether both splits are halves of one file, no first text in both.
    """

    name: str
    labels: tuple[str, ...]
    metrics: tuple[str, ...]
    layouts: tuple[tuple[str, ...], ...]
    files: Mapping[str, str]
    hub: tuple[str, str]
    written: tuple[str, ...] = ()
    columns: tuple[str, ...] = ()
    options: bool = False
    halves: bool = False

    @property
    def field_names(self) -> list[str]:
        """Names of an example's fields: columns of its last layout, and the answers by their letters."""
        columns = self.layouts[-1][: 2 if self.options else -1]
        return [*columns, *(f"option_{label}" for label in self.labels if self.options)]

    @property
    def dev_splits(self) -> list[str]:
        """Splits to measure on."""
        return [split for split in self.files if split != "train"]


def _glue(name: str, folder: str, layouts: Sequence[tuple[str, ...]], **more: Any) -> Task:
    """A task of GLUE, with the usual names of its files and the usual measure."""
    usual = {
        "metrics": ("accuracy",),
        "files": {split: f"{folder}/{split}.tsv" for split in ("train", "dev")},
        "hub": ("nyu-mll/glue", name),
    }
    return Task(name, layouts=tuple(layouts), **usual | more)


SENTENCES = ("sentence1", "sentence2", "label")
JSON_PAIR = ("text_a", "text_b", "label")
ENTAILMENT = ("not_entailment", "entailment")
DIGITS = ("0", "1")

TASKS = {
    task.name: task
    for task in (
        _glue(
            "cola",
            "glue/CoLA",
            [("sentence", "label")],
            labels=("unacceptable", "acceptable"),
            written=DIGITS,
            metrics=("matthews", "accuracy"),
            columns=("source", "label", "mark", "sentence"),
        ),
        _glue(
            "sst2",
            "sst2",
            [("sentence", "label")],
            labels=("negative", "positive"),
            written=DIGITS,
            columns=("sentence", "label"),
        ),
        _glue(
            "mrpc",
            "glue/MRPC",
            [("#1 String", "#2 String", "Quality"), SENTENCES],
            labels=("not_equivalent", "equivalent"),
            written=DIGITS,
            metrics=("accuracy", "f1"),
        ),
        _glue(
            "stsb",
            "glue/STS-B",
            [("sentence1", "sentence2", "score"), SENTENCES],
            labels=(),
            metrics=("pearson", "spearman"),
        ),
        _glue(
            "qqp",
            "glue/QQP",
            [("question1", "question2", "is_duplicate"), ("question1", "question2", "label"), JSON_PAIR],
            labels=("not_duplicate", "duplicate"),
            written=DIGITS,
            metrics=("accuracy", "f1"),
            files={"train": "glue/QQP/train.json", "dev": "glue/QQP/dev.json"},
        ),
        _glue(
            "mnli",
            "glue/MNLI",
            [("sentence1", "sentence2", "gold_label"), ("premise", "hypothesis", "label"), JSON_PAIR],
            labels=("entailment", "neutral", "contradiction"),
            files={
                "train": "glue/MNLI/train.json",
                "dev": "glue/MNLI/dev.json",
                "dev_matched": "glue/MNLI_textfooler/mnli_matched",
                "dev_mismatched": "glue/MNLI_textfooler/mnli_mismatched",
            },
            columns=("label", "premise", "hypothesis"),
        ),
        _glue("qnli", "glue/QNLI", [("question", "sentence", "label")], labels=ENTAILMENT),
        _glue(  # where the training file cannot be had
            "qnli_halves",
            "glue/QNLI",
            [("question", "sentence", "label")],
            labels=ENTAILMENT,
            files=dict.fromkeys(("train", "dev"), "glue/QNLI/dev.tsv"),
            hub=("nyu-mll/glue", "qnli"),
            halves=True,
        ),
        _glue("rte", "glue/RTE", [SENTENCES], labels=ENTAILMENT),
        _glue("wnli", "glue/WNLI", [SENTENCES], labels=ENTAILMENT, written=DIGITS),
        Task(
            "race",
            labels=("A", "B", "C", "D"),
            metrics=("accuracy",),
            layouts=(("article", "question", "options", "answer"),),
            files={"train": "race/train.jsonl", "dev": "race/dev.jsonl"},
            hub=("ehovy/race", "all"),
            options=True,
        ),
    )
}


def find_task(name: str) -> Task:
    """The task of a name.

    Raises:
        FairlabError: there is no such task.
    """
    if name not in TASKS:
        raise FairlabError(f"there is no task '{name}'; there are: {', '.join(TASKS)}")
    return TASKS[name]


def read_task(name: str, split: str, path: str | None = None) -> list[Example]:
    """Examples of a task's split, in their order.

    Args:
        name: of the task.
        split: ``train``, or one of the task's ``dev_splits``.
        path: a folder with a file named as the split and ending in .tsv, .json or .jsonl; ``hub`` for the hub; None
            takes ``FAIRLAB_DATA``, or a download checked by hash where one is known.

    Raises:
        DataUnavailable: the data cannot be had.
        FairlabError: there is no such task, or its data is not laid out as its task's, or has fewer than two labels.
    """
    task = find_task(name)
    if path == HUB:
        examples, place = read_hub(task, "dev" if task.halves else split), f"{task.hub[0]} ({task.hub[1]}, {split})"
    else:
        file = locate(task.files[split]) if path is None else _file_in(Path(path), split)
        examples, place = parse(file, task), str(file)
    if task.halves:
        examples = [example for example in examples if _in_first_half(example.first) == (split == "train")]
    refuse_one_label(examples, task, place)
    return examples


def _in_first_half(text: str) -> bool:
    """A fixed choice of half of all texts, another one than of those held out for choosing weights."""
    return hashlib.sha256(f"half {text}".encode()).digest()[0] < 128


def _file_in(folder: Path, split: str) -> Path:
    files = [folder / f"{split}{suffix}" for suffix in SUFFIXES]
    found = next((file for file in files if file.is_file()), None)
    if found is None:
        raise DataUnavailable(f"{folder} holds none of {', '.join(file.name for file in files)}; put the split there")
    return found


def refuse_one_label(examples: Sequence[Example], task: Task, place: str) -> None:
    """Raise where all examples have one label: nothing can be learned from them, or said by a measure over them."""
    if len({example.label for example in examples}) < 2:
        label = task.labels[int(examples[0].label)] if task.labels else examples[0].label
        raise FairlabError(f"{place} has examples of the label {label} alone; give examples of two labels or more")


def digest(examples: Sequence[Example]) -> str:
    """SHA-256 of the examples' content, wherever they came from."""
    rows = [[example.first, example.second, example.label, *example.options] for example in examples]
    return hashlib.sha256(json.dumps(rows).encode()).hexdigest()


def label_counts(examples: Sequence[Example], task: Task) -> dict[str, int]:
    """Number of examples of each label; empty for a task of scores."""
    counts = Counter(example.label for example in examples)
    return {label: counts[number] for number, label in enumerate(task.labels)}


def parse(file: Path, task: Task) -> list[Example]:
    """Examples of a file: .json (an object of rows, or a list), .jsonl, or else tab-separated.

    Fields of a tab-separated file are not quoted, so lines are split at tabs and nothing else; a byte-order mark is no
    text.

    Raises:
        FairlabError: a row has other columns or an unknown label; the message names it.
    """
    content = file.read_text(encoding="utf-8-sig")
    reader = {".json": _json_rows, ".jsonl": _json_lines}.get(file.suffix)
    found = _tab_separated(content, file, task) if reader is None else reader(content, file)
    examples = [_example(fields, task, place) for place, fields in found]
    if not examples:
        raise FairlabError(f"{file} holds no example; is it {task.name}'s?")
    return examples


def _tab_separated(content: str, file: Path, task: Task) -> Iterator[tuple[str, Fields]]:
    lines = [line.rstrip("\r").split("\t") for line in content.split("\n")]
    has_header = any(set(layout) <= set(lines[0]) for layout in task.layouts)
    columns = lines[0] if has_header else list(task.columns)
    if not columns:
        raise FairlabError(f"{file} line 1 names the columns {_shown(lines[0])}; {_wanted(task)}")
    for number, cells in enumerate(lines, start=1):
        if cells == [""] or (has_header and number == 1):
            continue
        if len(cells) != len(columns):
            raise FairlabError(
                f"{file} line {number} has {len(cells)} columns, not {len(columns)}; is it {task.name}'s?"
            )
        yield f"{file} line {number}", dict(zip(columns, cells, strict=True))


def _json_rows(content: str, file: Path) -> Iterator[tuple[str, Fields]]:
    rows = _loaded(content, str(file))
    for key, row in rows.items() if isinstance(rows, dict) else enumerate(rows, start=1):
        yield f"{file} row {key}", row


def _json_lines(content: str, file: Path) -> Iterator[tuple[str, Fields]]:
    for number, line in enumerate(content.split("\n"), start=1):
        if line.strip():
            yield f"{file} line {number}", _loaded(line, f"{file} line {number}")


def _loaded(content: str, place: str) -> Any:
    try:
        found = json.loads(content)
    except (json.JSONDecodeError, RecursionError) as error:
        raise FairlabError(f"{place} is not JSON ({error}); write it as JSON, or as .tsv") from error
    if not isinstance(found, dict | list):
        raise FairlabError(f"{place} is neither a JSON object nor a list; write a row as an object of named fields")
    return found


def read_hub(task: Task, split: str) -> list[Example]:
    """Examples of a data set of the hub; numbered labels are read by the names it gives them.

    Raises:
        DataUnavailable: the hub, or the data set there, cannot be had.
        FairlabError: a row has other columns or an unknown label.
    """
    from datasets import load_dataset

    name, configuration = task.hub
    remote = split.replace("dev", "validation")
    try:
        rows = load_dataset(name, configuration, split=remote)
    except (OSError, ValueError) as error:
        reason = " ".join(str(error).split())[:200]
        raise DataUnavailable(
            f"the hub does not give {name} ({configuration}, {remote}): {reason}; "
            "set data.path to a folder of its files"
        ) from error
    names = {column: feature.names for column, feature in rows.features.items() if hasattr(feature, "names")}
    examples = []
    for number, row in enumerate(rows, start=1):
        fields = {c: names[c][v] if c in names and 0 <= v < len(names[c]) else v for c, v in row.items()}
        examples.append(_example(fields, task, f"{name} ({configuration}, {remote}) row {number}"))
    return examples


def _example(fields: Fields, task: Task, place: str) -> Example:
    """The example that a row's fields hold."""
    if not isinstance(fields, dict):
        raise FairlabError(f"{place} is no object of named fields; {_wanted(task)}")
    layout = next((layout for layout in task.layouts if set(layout) <= set(fields)), None)
    if layout is None:
        raise FairlabError(f"{place} has the columns {_shown(list(fields))}; {_wanted(task)}")
    texts = [fields[column] for column in layout[: 2 if task.options else -1]]
    answers = fields[layout[2]] if task.options else []
    if not isinstance(answers, list) or not all(isinstance(text, str) for text in (*texts, *answers)):
        raise FairlabError(f"{place} lacks text in one of {', '.join(layout[:-1])}; write every text as text")
    if task.options and len(answers) != len(task.labels):
        raise FairlabError(f"{place} has {len(answers)} answers, not {len(task.labels)}; {_wanted(task)}")
    label = (_label if task.labels else _score)(str(fields[layout[-1]]), task, place)
    return Example(texts[0], texts[1] if len(texts) > 1 else None, label, tuple(answers))


def _label(written: str, task: Task, place: str) -> int:
    """Number of a label, by its name or as files write it."""
    for known in (task.written, task.labels):
        if written in known:
            return known.index(written)
    raise FairlabError(f"{place} has the label '{written}'; {task.name} has {', '.join(task.written or task.labels)}")


def _score(written: str, task: Task, place: str) -> float:
    try:
        score = float(written)
    except ValueError:
        score = math.nan
    if not LOWEST <= score <= HIGHEST:
        raise FairlabError(f"{place} has the score '{written}'; {task.name} has numbers from {LOWEST:g} to {HIGHEST:g}")
    return score


def _shown(columns: Sequence[str]) -> str:
    return ", ".join(column[:30] for column in columns[:12])


def _wanted(task: Task) -> str:
    return f"{task.name} has {' or '.join(', '.join(layout) for layout in task.layouts)}"
