"""Readers of the examples of labelled tasks, from files in any published layout or from the hub."""

from __future__ import annotations

import hashlib
import json
import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, zip_longest
from pathlib import Path
from typing import Any

from fairlab.data.published.download import locate
from fairlab.data.published.tasks import HUB, Example, Task, find_task
from fairlab.data.stream.formats import BadRow, found_in
from fairlab.data.stream.saved import opened, saved_folder
from fairlab.files import check_folder
from fairlab.text.labels import is_missing, label_meant
from fairlab.text.reading import read_json_file, read_json_lines, refuse_columns, text_lines
from fairlab.types import DataUnavailable, FairlabError

SUFFIXES = (".tsv", ".json", ".jsonl", ".csv", ".parquet")
LOWEST, HIGHEST = 0.0, 5.0  # scores of STS-B
Fields = Mapping[str, Any]


def read_task(name: str, split: str, path: str | None = None) -> list[Example]:
    """Read the examples of a task's split, in order. The examples of a mixture's tasks alternate.

    Args:
        name: Name of the task, one of :data:`fairlab.data.published.tasks.TASKS`.
        split: Name of the split: ``train``, or one of the task's ``dev_splits``.
        path: Folder with a file named after the split and ending in .tsv, .json, .jsonl, .csv or .parquet (for a
            mixture, in one subfolder per task); folder written by ``save_to_disk`` that contains the split; or ``hub``.
            None uses ``FAIRLAB_DATA`` or, if the file's hash is known, a download.

    Raises:
        DataUnavailable: The data is unavailable.
        FairlabError: There is no such task, or its data has the wrong layout or fewer than two labels.
    """
    task = find_task(name)
    if task.parts:
        folders = [path if path in (None, HUB) else str(Path(path) / part.name) for part in task.parts]  # type: ignore[arg-type]
        read = (read_task(part.name, split, folder) for part, folder in zip(task.parts, folders, strict=True))
        turns = zip_longest(*read)
        return [example for turn in turns for example in turn if example is not None]
    if path in (None, HUB) and split not in task.files:
        use = "it is only for evaluation" if split == "train" else f"it has: {', '.join(task.files)}"
        raise FairlabError(f"{name} has no split '{split}'; {use}")
    if path == HUB:
        examples, place = read_hub(task, "dev" if task.halves else split), f"{task.hub[0]} ({task.hub[1]}, {split})"
    elif path is not None and saved_folder(path) is not None:
        found = opened(f"{path}:{split}")[split]
        examples, place = examples_of(_named_labels(found, f"{path}:{split}"), task), path
    else:
        files = _published(task.files[split]) if path is None else [_file_in(Path(path), split)]
        examples, place = list(chain.from_iterable(parse_examples(file, task) for file in files)), str(files[0])
    if task.halves:
        examples = [example for example in examples if _in_first_half(example.first) == (split == "train")]
    refuse_one_label(examples, task, place)
    return examples


def _in_first_half(text: str) -> bool:
    """Return whether a text's hash puts it in the first half of its file. Held-out texts are chosen by another hash."""
    return hashlib.sha256(f"half {text}".encode()).digest()[0] < 128


def _published(names: str | tuple[str, ...]) -> list[Path]:
    return [locate(name) for name in ([names] if isinstance(names, str) else names)]


def _file_in(folder: Path, split: str) -> Path:
    if folder.is_dir():
        check_folder(folder)
    files = [folder / f"{split}{suffix}" for suffix in SUFFIXES]
    found = next((file for file in files if file.is_file()), None)
    if found is None:
        raise DataUnavailable(
            f"{folder} contains none of {', '.join(file.name for file in files)}; put the split there"
        )
    return found


def refuse_one_label(examples: Sequence[Example], task: Task, place: str) -> None:
    """Raise an error if all examples have the same label, which makes training and evaluation meaningless."""
    if len({example.label for example in examples}) < 2:
        label = task.labels[int(examples[0].label)] if task.labels else examples[0].label
        raise FairlabError(f"{place} has only examples of the label {label}; give examples of two or more labels")


def examples_digest(examples: Sequence[Example]) -> str:
    """Return the SHA-256 of the examples' content, independent of their source."""
    rows = [[example.first, example.second, example.label, *example.options] for example in examples]
    return hashlib.sha256(json.dumps(rows).encode()).hexdigest()


def label_counts(examples: Sequence[Example], task: Task) -> dict[str, int]:
    """Return the number of examples of each label. For a task with scores, the dictionary is empty."""
    counts = Counter(example.label for example in examples)
    return {label: counts[number] for number, label in enumerate(task.labels)}


def parse_examples(file: Path, task: Task) -> list[Example]:
    """Read the examples of a file: .json (object or list of rows), .jsonl, .csv, .parquet, or else tab-separated.

    The fields of a tab-separated file are not quoted, so lines are split at every tab.

    Raises:
        FairlabError: A row has the wrong columns or an unknown label. The message names the row.
    """
    if file.suffix in (".csv", ".parquet"):
        rows = _table_rows(file, task)
    else:
        reader = {".json": _json_rows, ".jsonl": read_json_lines}.get(file.suffix)
        rows = _tab_separated(file, task) if reader is None else reader(file)
    examples = examples_of(rows, task)
    if not examples:
        raise FairlabError(f"{file} holds no example; is it {task.name}'s?")
    return examples


def _table_rows(file: Path, task: Task) -> Iterator[tuple[str, Fields]]:
    for item in found_in(str(file))[""]:
        if isinstance(item, BadRow):
            raise FairlabError(f"{file} {item.place}: {item.reason}; is it {task.name}'s?")
        yield f"{file} {item[0]}", item[1]


def examples_of(rows: Iterable[tuple[str, Fields]], task: Task) -> list[Example]:
    """Convert rows to examples, and skip rows with a label that the task leaves out."""
    found = (_example(fields, task, place) for place, fields in rows)
    return [example for example in found if example is not None]


def _tab_separated(file: Path, task: Task) -> Iterator[tuple[str, Fields]]:
    lines = [line.split("\t") for line in text_lines(file)] or [[""]]
    has_header = any(set(layout) <= set(lines[0]) for layout in task.layouts)
    columns = lines[0] if has_header else list(task.columns)
    refuse_columns(columns, str(file))
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


def _json_rows(file: Path) -> Iterator[tuple[str, Fields]]:
    rows = read_json_file(file, "write it as JSON, or as .tsv")
    if not isinstance(rows, dict | list):
        raise FairlabError(f"{file} is neither a JSON object nor a list; write a row as an object of named fields")
    for key, row in rows.items() if isinstance(rows, dict) else enumerate(rows, start=1):
        yield f"{file} row {key}", row


def read_hub(task: Task, split: str) -> list[Example]:
    """Read the examples of a hub dataset, and convert numbered labels to the dataset's label names.

    Raises:
        DataUnavailable: The hub or the dataset is unavailable.
        FairlabError: A row has the wrong columns or an unknown label.
    """
    from datasets import load_dataset

    name, configuration = task.hub
    if not name:
        raise DataUnavailable(f"{task.name} is not on the hub; leave data.path out, or set it to a folder of its files")
    remote = split.replace("dev", "validation")
    try:
        rows = load_dataset(name, configuration, split=remote)
    except (OSError, ValueError) as error:
        reason = " ".join(str(error).split())[:200]
        raise DataUnavailable(
            f"the hub does not provide {name} ({configuration}, {remote}): {reason}; "
            "set data.path to a folder of its files"
        ) from error
    return examples_of(_named_labels(rows, f"{name} ({configuration}, {remote})"), task)


def _named_labels(rows: Any, place: str) -> Iterator[tuple[str, Fields]]:
    """Yield the rows of a ``datasets`` dataset with their locations, and with label names instead of numbers."""
    names = {column: feature.names for column, feature in rows.features.items() if hasattr(feature, "names")}
    for number, row in enumerate(rows, start=1):
        named = {c: names[c][v] if c in names and 0 <= v < len(names[c]) else v for c, v in row.items()}
        yield f"{place} row {number}", named


def _example(fields: Fields, task: Task, place: str) -> Example | None:
    """Convert a row's fields to an example, or to None if the task leaves out its label."""
    if not isinstance(fields, dict):
        raise FairlabError(f"{place} is not an object of named fields; {_wanted(task)}")
    layout = next((layout for layout in task.layouts if set(layout) <= set(fields)), None)
    if layout is None:
        raise FairlabError(f"{place} has the columns {_shown(list(fields))}; {_wanted(task)}")
    written = _spelled(fields[layout[-1]], task, place)
    if written in task.left_out:
        return None
    texts = [fields[column] for column in layout[: 2 if task.options else -1]]
    if task.gathered and isinstance(texts[0], list):
        texts[0] = _join_evidence(texts[0])
    answers = fields[layout[2]] if task.options else []
    if not isinstance(answers, list) or not all(isinstance(text, str) for text in (*texts, *answers)):
        raise FairlabError(
            f"{place} has a cell that is not text in one of {', '.join(layout[:-1])}; write every text as text"
        )
    if task.options and len(answers) != len(task.labels):
        raise FairlabError(f"{place} has {len(answers)} answers, not {len(task.labels)}; {_wanted(task)}")
    label = (_label if task.labels else _score)(written, task, place)
    return Example(texts[0], texts[1] if len(texts) > 1 else None, label, tuple(answers))


def _join_evidence(sentences: Sequence[Any]) -> str | None:
    """Join evidence sentences, each given as a string, an object's ``text``, or the last entry of a list."""
    texts = [
        one.get("text") if isinstance(one, dict) else one[-1] if isinstance(one, list) and one else one
        for one in sentences
    ]
    return " ".join(map(str, texts)) if texts and all(isinstance(text, str) for text in texts) else None


def _spelled(value: object, task: Task, place: str) -> str:
    """Return the label of a cell in the task's spelling, or the cell unchanged.

    A missing label is treated as a label that the task leaves out. If the task uses all labels, a missing label is an
    error.
    """
    if task.labels and is_missing(value):
        if task.left_out:
            return task.left_out[0]
        raise FairlabError(f"{place} has no label; {_labels(task)}, so fill it in or remove the row")
    if isinstance(value, bool) and len(task.labels) != 2:
        return str(value)  # a Boolean cannot express three labels or scores
    known = label_meant(value, (*task.spellings, *task.left_out, *task.written, *task.labels)) or str(value)
    return task.spellings.get(known, known)


def _label(written: str, task: Task, place: str) -> int:
    """Return the number of a label, given by its name or by its spelling in the files."""
    for known in (task.written, task.labels):
        if written in known:
            return known.index(written)
    raise FairlabError(f"{place} has the label '{written}'; {_labels(task)}")


def _labels(task: Task) -> str:
    return f"{task.name} has {', '.join(task.written or task.labels)}"


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
