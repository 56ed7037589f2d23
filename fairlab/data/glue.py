"""Labelled tasks: those of GLUE, RACE, fact checking and inference, and mixtures of them, from files or from the hub.

Source: Wang et al. 2019, "GLUE"; SST-2 in the sentence-level copy of clairett/pytorch-sentiment-classification; Lai et
al. 2017, "RACE: Large-scale ReAding Comprehension Dataset From Examinations"; Thorne et al. 2018, "FEVER"; Schuster et
al. 2019, "Towards Debiasing Fact Verification Models" (FEVER-Symmetric); Schuster et al. 2021, "Get Your Vitamin C!";
Eisenschlos et al. 2021, "Fool Me Twice"; Bowman et al. 2015 (SNLI); McCoy et al. 2019, "Right for the Wrong Reasons"
(HANS).
"""

from __future__ import annotations

import hashlib
import json
import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, zip_longest
from pathlib import Path
from typing import Any

from fairlab.data.sources import locate
from fairlab.types import DataUnavailable, FairlabError

HUB = "hub"  # in place of a path
MIXED = "+"  # between the names of tasks that are trained on together
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
        files: of every split, below ``FAIRLAB_DATA``; several where a split is published in parts.
        hub: data set on the hub, and its configuration.
        written: the labels as files have them where that is not their names.
        columns: of a file without a header.
        options: whether an answer is to be chosen; the labels are the answers' places.
        halves: whether both splits are halves of one file, no first text in both.
        spellings: other ways in which labels are written, and their names.
        left_out: labels whose rows are no examples of the task.
        gathered: whether the first text may come as a list of sentences.
        merged: labels of another classifier, and those of this task that they mean, where its labels are coarser.
        parts: the tasks of a mixture.
    """

    name: str
    labels: tuple[str, ...]
    metrics: tuple[str, ...]
    layouts: tuple[tuple[str, ...], ...]
    files: Mapping[str, str | tuple[str, ...]]
    hub: tuple[str, str]
    written: tuple[str, ...] = ()
    columns: tuple[str, ...] = ()
    options: bool = False
    halves: bool = False
    spellings: Mapping[str, str] = field(default_factory=dict)
    left_out: tuple[str, ...] = ()
    gathered: bool = False
    merged: Mapping[str, str] = field(default_factory=dict)
    parts: tuple[Task, ...] = ()

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


def _two_way(name: str, of: Task, left_out: str, **more: Any) -> Task:
    """A task's pairs that support or refute, as claims with evidence."""
    ways: dict[str, Any] = {"labels": CLAIMS, "metrics": CLAIM_METRICS, "left_out": (*of.left_out, left_out)}
    return replace(of, name=name, **ways | more)


SENTENCES = ("sentence1", "sentence2", "label")
JSON_PAIR = ("text_a", "text_b", "label")
ENTAILMENT = ("not_entailment", "entailment")
DIGITS = ("0", "1")
CLAIMS = ("REFUTES", "SUPPORTS")  # F1 is of the second
CLAIM_METRICS = ("accuracy", "macro_f1", "f1")
NOT_ENOUGH = "NOT ENOUGH INFO"
SPELLINGS = {"refutes": "REFUTES", "refuted": "REFUTES", "supports": "SUPPORTS", "supported": "SUPPORTS"}
THREE_WAY: dict[str, Any] = {
    "labels": (*CLAIMS, NOT_ENOUGH),
    "metrics": ("accuracy", "macro_f1"),
    "spellings": SPELLINGS | {"not enough info": NOT_ENOUGH},
}
EVIDENCE = ("evidence", "claim", "label")
INFERENCE = ("entailment", "neutral", "contradiction")
HYPOTHESES = [("sentence1", "sentence2", "gold_label"), ("premise", "hypothesis", "label")]

MNLI = _glue(
    "mnli",
    "glue/MNLI",
    [*HYPOTHESES, JSON_PAIR],
    labels=INFERENCE,
    metrics=("accuracy", "macro_f1"),
    files={
        "train": "glue/MNLI/train.json",
        "dev": "glue/MNLI/dev.json",
        "dev_matched": "glue/MNLI_textfooler/mnli_matched",
        "dev_mismatched": "glue/MNLI_textfooler/mnli_mismatched",
    },
    columns=("label", "premise", "hypothesis"),
)
SNLI = Task(
    "snli",
    metrics=("accuracy", "macro_f1"),
    labels=INFERENCE,
    layouts=tuple(HYPOTHESES),
    files={"train": "glue/SNLI/train.tsv", "dev": "glue/SNLI/validation.tsv", "test": "glue/SNLI/test.tsv"},
    hub=("stanfordnlp/snli", "plain_text"),
    written=("0", "1", "2"),
    left_out=("-", "-1"),  # the annotators did not agree
)
FEVER = Task(  # the data folder has its claims, but no evidence in words
    "fever",
    layouts=(EVIDENCE,),
    files={"train": "fever/train.jsonl", "dev": "fever/dev.jsonl", "test": "fever/test.jsonl"},
    hub=("copenlu/fever_gold_evidence", "default"),
    gathered=True,
    **THREE_WAY,
)
VITAMINC = Task(
    "vitaminc",
    layouts=(EVIDENCE,),
    files={
        "train": tuple(f"vitaminc/train_{number}.jsonl" for number in range(5)),
        "test": "vitaminc/test.jsonl",
    },
    hub=("tals/vitaminc", "default"),
    **THREE_WAY,
)
FEVER_SYMMETRIC = Task(
    "fever_symmetric",
    labels=CLAIMS,
    metrics=CLAIM_METRICS,
    layouts=(("evidence_sentence", "claim", "label"), EVIDENCE),
    files={split: f"fever_symmetric/symmetric_v0.2/fever_symmetric_{split}.jsonl" for split in ("dev", "test")},
    hub=("", ""),
)

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
        MNLI,
        _two_way("mnli_two_way", MNLI, "neutral", spellings={"entailment": "SUPPORTS", "contradiction": "REFUTES"}),
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
        SNLI,
        replace(  # where the training file cannot be had
            SNLI, name="snli_validation", files={"train": SNLI.files["dev"], "test": SNLI.files["test"]}
        ),
        Task(
            "hans",
            labels=("non-entailment", "entailment"),
            metrics=("accuracy", "macro_f1"),
            layouts=tuple(HYPOTHESES),
            files={"dev": "hans/heuristics_evaluation_set.txt"},
            hub=("jhu-cogsci/hans", "plain_text"),
            merged={"entailment": "entailment", "neutral": "non-entailment", "contradiction": "non-entailment"},
        ),
        Task(  # training examples of MNLI
            "hans_mnli",
            labels=INFERENCE,
            metrics=("accuracy",),
            layouts=(("premise", "hypothesis", "label"),),
            files={"test": "hans/mnli_contradicting_examples"},
            hub=("", ""),
            columns=("premise", "hypothesis", "label"),
        ),
        FEVER,
        _two_way("fever_two_way", FEVER, NOT_ENOUGH),
        Task(  # claims alone, to ask what they give away
            "fever_claims",
            layouts=(("text", "label"), ("claim", "label")),
            files=dict.fromkeys(("train", "dev"), "fever/paper_dev.jsonl"),
            hub=("", ""),
            halves=True,
            **THREE_WAY,
        ),
        VITAMINC,
        _two_way("vitaminc_two_way", VITAMINC, NOT_ENOUGH),
        Task(
            "fool_me_twice",
            labels=CLAIMS,
            metrics=CLAIM_METRICS,
            layouts=(("gold_evidence", "text", "label"), EVIDENCE),
            files={"train": "fool_me_twice/dev.first500.jsonl"},
            hub=("tasksource/fool-me-twice", "default"),
            gathered=True,
        ),
        FEVER_SYMMETRIC,
        replace(
            FEVER_SYMMETRIC,
            name="fever_symmetric_v01",
            files={  # the second without the pairs of FEVER itself
                "full": "fever_symmetric/symmetric_v0.1/fever_symmetric_full.jsonl",
                "generated": "fever_symmetric/symmetric_v0.1/fever_symmetric_generated.jsonl",
            },
        ),
    )
}


def find_task(name: str) -> Task:
    """The task of a name, or the mixture of several: ``fool_me_twice+vitaminc_two_way``.

    Raises:
        FairlabError: there is no such task, or those of a mixture have other labels or other kinds of texts.
    """
    if MIXED in name:
        return _mixture([find_task(part) for part in name.split(MIXED)])
    if name not in TASKS:
        raise FairlabError(f"there is no task '{name}'; there are: {', '.join(TASKS)}")
    return TASKS[name]


def _mixture(parts: Sequence[Task]) -> Task:
    """A task to train on whose examples are those of several, one of each in turn."""
    first = parts[0]
    for part in parts[1:]:
        if (part.labels, len(part.field_names)) != (first.labels, len(first.field_names)):
            raise FairlabError(
                f"{first.name} and {part.name} cannot be mixed: they have the fields and labels "
                f"{', '.join((*first.field_names, *first.labels))} and {', '.join((*part.field_names, *part.labels))}"
            )
    layouts = tuple(dict.fromkeys(layout for part in (*parts[1:], first) for layout in part.layouts))
    return Task(
        MIXED.join(part.name for part in parts), first.labels, first.metrics, layouts, {}, ("", ""), parts=tuple(parts)
    )


def read_task(name: str, split: str, path: str | None = None) -> list[Example]:
    """Examples of a task's split, in their order.

    Args:
        name: of the task.
        split: ``train``, or one of the task's ``dev_splits``.
        path: a folder with a file named as the split and ending in .tsv, .json or .jsonl, of a mixture in a folder
            named as each task; ``hub`` for the hub; None takes ``FAIRLAB_DATA``, or a download checked by hash where
            one is known.

    Raises:
        DataUnavailable: the data cannot be had.
        FairlabError: there is no such task, or its data is not laid out as its task's, or has fewer than two labels.
    """
    task = find_task(name)
    if task.parts:
        folders = [path if path in (None, HUB) else str(Path(path) / part.name) for part in task.parts]  # type: ignore[arg-type]
        read = (read_task(part.name, split, folder) for part, folder in zip(task.parts, folders, strict=True))
        turns = zip_longest(*read)
        return [example for turn in turns for example in turn if example is not None]
    if path in (None, HUB) and split not in task.files:
        use = "it is measured on, never trained on" if split == "train" else f"it has: {', '.join(task.files)}"
        raise FairlabError(f"{name} has no split '{split}'; {use}")
    if path == HUB:
        examples, place = read_hub(task, "dev" if task.halves else split), f"{task.hub[0]} ({task.hub[1]}, {split})"
    else:
        files = _published(task.files[split]) if path is None else [_file_in(Path(path), split)]
        examples, place = list(chain.from_iterable(parse(file, task) for file in files)), str(files[0])
    if task.halves:
        examples = [example for example in examples if _in_first_half(example.first) == (split == "train")]
    refuse_one_label(examples, task, place)
    return examples


def _in_first_half(text: str) -> bool:
    """A fixed choice of half of all texts, another one than of those held out for choosing weights."""
    return hashlib.sha256(f"half {text}".encode()).digest()[0] < 128


def _published(names: str | tuple[str, ...]) -> list[Path]:
    return [locate(name) for name in ([names] if isinstance(names, str) else names)]


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
    reader = {".json": _json_rows, ".jsonl": json_lines}.get(file.suffix)
    found = _tab_separated(content, file, task) if reader is None else reader(content, file)
    examples = examples_of(found, task)
    if not examples:
        raise FairlabError(f"{file} holds no example; is it {task.name}'s?")
    return examples


def examples_of(rows: Iterable[tuple[str, Fields]], task: Task) -> list[Example]:
    """Examples of a task's rows, each with its place for messages; rows of a label that is left out give none."""
    found = (_example(fields, task, place) for place, fields in rows)
    return [example for example in found if example is not None]


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


def json_lines(content: str, file: Path) -> Iterator[tuple[str, Fields]]:
    """Rows of JSON lines, each with its place."""
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
    if not name:
        raise DataUnavailable(f"{task.name} is not on the hub; leave data.path out, or set it to a folder of its files")
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
    named = ({c: names[c][v] if c in names and 0 <= v < len(names[c]) else v for c, v in row.items()} for row in rows)
    place = f"{name} ({configuration}, {remote})"
    return examples_of(((f"{place} row {number}", fields) for number, fields in enumerate(named, start=1)), task)


def _example(fields: Fields, task: Task, place: str) -> Example | None:
    """The example that a row's fields hold; None where its label is left out."""
    if not isinstance(fields, dict):
        raise FairlabError(f"{place} is no object of named fields; {_wanted(task)}")
    layout = next((layout for layout in task.layouts if set(layout) <= set(fields)), None)
    if layout is None:
        raise FairlabError(f"{place} has the columns {_shown(list(fields))}; {_wanted(task)}")
    written = str(fields[layout[-1]])
    if task.spellings.get(written, written) in task.left_out:
        return None
    texts = [fields[column] for column in layout[: 2 if task.options else -1]]
    if task.gathered and isinstance(texts[0], list):
        texts[0] = _joined(texts[0])
    answers = fields[layout[2]] if task.options else []
    if not isinstance(answers, list) or not all(isinstance(text, str) for text in (*texts, *answers)):
        raise FairlabError(f"{place} lacks text in one of {', '.join(layout[:-1])}; write every text as text")
    if task.options and len(answers) != len(task.labels):
        raise FairlabError(f"{place} has {len(answers)} answers, not {len(task.labels)}; {_wanted(task)}")
    label = (_label if task.labels else _score)(written, task, place)
    return Example(texts[0], texts[1] if len(texts) > 1 else None, label, tuple(answers))


def _joined(sentences: Sequence[Any]) -> str | None:
    """Sentences of evidence as one text: written out, each the ``text`` of an object, or the last entry of a list."""
    texts = [
        one.get("text") if isinstance(one, dict) else one[-1] if isinstance(one, list) and one else one
        for one in sentences
    ]
    return " ".join(map(str, texts)) if texts and all(isinstance(text, str) for text in texts) else None


def _label(written: str, task: Task, place: str) -> int:
    """Number of a label, by its name or as files write it."""
    written = task.spellings.get(written, written)
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
