"""Labelled tasks (GLUE, RACE, fact checking, inference, mixtures): the location of their data and their metrics.

Source: Wang et al. 2019, "GLUE"; SST-2 in the sentence-level copy of clairett/pytorch-sentiment-classification; Lai et
al. 2017, "RACE: Large-scale ReAding Comprehension Dataset From Examinations"; Thorne et al. 2018, "FEVER"; Schuster et
al. 2019, "Towards Debiasing Fact Verification Models" (FEVER-Symmetric); Schuster et al. 2021, "Get Your Vitamin C!";
Eisenschlos et al. 2021, "Fool Me Twice"; De-Arteaga et al. 2019, "Bias in Bios"; Bowman et al. 2015 (SNLI); McCoy et
al. 2019, "Right for the Wrong Reasons" (HANS).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from fairlab.types import FairlabError

HUB = "hub"  # given instead of a path
MIXED = "+"  # separates the names of tasks in a mixture


@dataclass(frozen=True)
class Example:
    """Labelled sentence, pair of sentences, or text with a question and answer options.

    Attributes:
        first, second: Texts of the example; ``second`` is None for a task of single sentences.
        label: Position of the label in the task's labels, or a score.
        options: Answer options in the order of the task's labels; empty for a task without answer options.
    """

    first: str
    second: str | None
    label: float
    options: tuple[str, ...] = ()

    @property
    def fields(self) -> list[str]:
        """Return all texts of the example: the first, the second unless it is None, and the answers."""
        return [self.first, *([] if self.second is None else [self.second]), *self.options]

    def with_fields(self, fields: Sequence[str]) -> Example:
        """Return a copy of the example with other texts. Their number must stay the same."""
        paired = self.second is not None
        return Example(fields[0], fields[1] if paired else None, self.label, tuple(fields[1 + paired :]))

    @property
    def pairs(self) -> list[tuple[str, str | None]]:
        """Return the texts that a model reads: the two texts, or one pair per answer option.

        An answer replaces the blank in the question, or follows a question without a blank.
        """
        if not self.options:
            return [(self.first, self.second)]
        question = self.second or ""
        return [
            (self.first, question.replace("_", option) if "_" in question else f"{question} {option}")
            for option in self.options
        ]


@dataclass(frozen=True)
class Task:
    """Location and layout of a task's examples, and the metrics for its predictions.

    Attributes:
        name: Name by which the task is selected.
        labels: Names of the labels, in the order of their numbers; empty for a task with scores from 0 to 5.
        metrics: Names of the task's metrics. The first one represents the task.
        layouts: Column names for each published layout of the task: first text, second text (if any), answers (if any)
            and label. The first layout whose columns are all present is used.
        files: File of each split under ``FAIRLAB_DATA``; several if a split is published in parts.
        hub: Name of the dataset on the hub, and of its configuration.
        written: Labels as spelled in the files, if they differ from ``labels``.
        columns: Names of the columns of a file without a header.
        options: Whether the task is to choose an answer. The labels are then the positions of the answers.
        halves: Whether both splits are halves of one file that have no first text in common.
        spellings: Mapping from other spellings of labels to their names.
        left_out: Labels whose rows are not examples of the task.
        gathered: Whether the first text may be given as a list of sentences.
        merged: Mapping from the labels of a more fine-grained task to the labels of this task.
        parts: Tasks of a mixture; empty for a plain task.
        title: Name of the task as its authors write it; empty for a task that is derived from another task.
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
    title: str = ""

    @property
    def words(self) -> str:
        """Return the task's display name."""
        return self.title or self.name.replace("_", " ")

    @property
    def field_names(self) -> list[str]:
        """Return the names of an example's fields: the columns of the last layout, and the answers by letter."""
        columns = self.layouts[-1][: 2 if self.options else -1]
        return [*columns, *(f"option_{label}" for label in self.labels if self.options)]

    @property
    def dev_splits(self) -> list[str]:
        """Return the splits for evaluation."""
        return [split for split in self.files if split != "train"]


def _glue(name: str, folder: str, layouts: Sequence[tuple[str, ...]], **more: Any) -> Task:
    """Return a GLUE task with default file names and metric."""
    usual = {
        "metrics": ("accuracy",),
        "files": {split: f"{folder}/{split}.tsv" for split in ("train", "dev")},
        "hub": ("nyu-mll/glue", name),
    }
    return Task(name, layouts=tuple(layouts), **usual | more)


def _two_way(name: str, of: Task, left_out: str, **more: Any) -> Task:
    """Return a version of a task with two labels, for claims that the evidence supports or refutes."""
    ways: dict[str, Any] = {
        "labels": CLAIMS,
        "metrics": CLAIM_METRICS,
        "left_out": (*of.left_out, left_out),
        "title": "",
    }
    return replace(of, name=name, **ways | more)


def _in_halves(of: Task, files: str | tuple[str, ...], **more: Any) -> Task:
    """Return a version of a task that splits its labelled files into two halves, for training and for evaluation."""
    ways: dict[str, Any] = {
        "files": dict.fromkeys(("train", "dev"), files),
        "hub": ("", ""),
        "halves": True,
        "title": "",
    }
    return replace(of, name=f"{of.name}_halves", **ways | more)


SENTENCES = ("sentence1", "sentence2", "label")
JSON_PAIR = ("text_a", "text_b", "label")
ENTAILMENT = ("not_entailment", "entailment")
DIGITS = ("0", "1")
CLAIMS = ("REFUTES", "SUPPORTS")  # F1 is computed for the second label
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
BIOS = (  # one file per profession
    "accountant_complete",
    *("architect", "attorney", "chiropractor", "comedian", "composer", "dentist", "dietitian", "dj", "filmmaker"),
    *("interior_designer", "journalist", "model", "nurse", "painter", "paralegal", "pastor", "personal_trainer"),
    *("photographer", "physician", "poet", "professor", "psychologist", "rapper", "software_engineer", "surgeon"),
    *("teacher", "yoga_teacher"),
)

SST2 = _glue(
    "sst2",
    "sst2",
    [("sentence", "label")],
    title="SST-2",
    labels=("negative", "positive"),
    written=DIGITS,
    columns=("sentence", "label"),
)
QQP = _glue(
    "qqp",
    "glue/QQP",
    [("question1", "question2", "is_duplicate"), ("question1", "question2", "label"), JSON_PAIR],
    labels=("not_duplicate", "duplicate"),
    written=DIGITS,
    metrics=("accuracy", "f1"),
    files={"train": "glue/QQP/train.json", "dev": "glue/QQP/dev.json"},
    title="QQP",
)
QNLI = _glue("qnli", "glue/QNLI", [("question", "sentence", "label")], labels=ENTAILMENT, title="QNLI")
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
    title="MNLI",
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
    title="SNLI",
)
FEVER = Task(  # the data folder has the claims, but not the text of the evidence
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
    title="VitaminC",
    **THREE_WAY,
)
FEVER_SYMMETRIC = Task(
    "fever_symmetric",
    labels=CLAIMS,
    metrics=CLAIM_METRICS,
    layouts=(("evidence_sentence", "claim", "label"), EVIDENCE),
    files={split: f"fever_symmetric/symmetric_v0.2/fever_symmetric_{split}.jsonl" for split in ("dev", "test")},
    title="FEVER-Symmetric",
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
            title="CoLA",
        ),
        SST2,
        _in_halves(SST2, ("sst2/train.tsv", "sst2/dev.tsv", "sst2/test.tsv")),  # larger than SST-2's development file
        _glue(
            "mrpc",
            "glue/MRPC",
            [("#1 String", "#2 String", "Quality"), SENTENCES],
            labels=("not_equivalent", "equivalent"),
            title="MRPC",
            written=DIGITS,
            metrics=("accuracy", "f1"),
        ),
        _glue(
            "stsb",
            "glue/STS-B",
            [("sentence1", "sentence2", "score"), SENTENCES],
            labels=(),
            metrics=("pearson", "spearman"),
            title="STS-B",
        ),
        QQP,
        _in_halves(QQP, ("glue/QQP/train.json", "glue/QQP/dev.json"), layouts=(JSON_PAIR,)),
        MNLI,
        _two_way("mnli_two_way", MNLI, "neutral", spellings={"entailment": "SUPPORTS", "contradiction": "REFUTES"}),
        QNLI,
        _in_halves(QNLI, "glue/QNLI/dev.tsv", hub=QNLI.hub),  # for use when the training file is unavailable
        _glue("rte", "glue/RTE", [SENTENCES], labels=ENTAILMENT, title="RTE"),
        _glue("wnli", "glue/WNLI", [SENTENCES], labels=ENTAILMENT, written=DIGITS, title="WNLI"),
        Task(  # whether a biography is an accountant's
            "bios",
            labels=("other", "accountant"),
            metrics=("macro_f1", "accuracy"),
            layouts=(("hard_text", "profession"),),
            files=dict.fromkeys(("train", "dev"), tuple(f"bias_in_bios/{name}.csv" for name in BIOS)),
            hub=("", ""),
            halves=True,
            spellings=dict.fromkeys(BIOS[1:], "other"),
        ),
        Task(
            "race",
            labels=("A", "B", "C", "D"),
            metrics=("accuracy",),
            layouts=(("article", "question", "options", "answer"),),
            files={"train": "race/train.jsonl", "dev": "race/dev.jsonl"},
            hub=("ehovy/race", "all"),
            title="RACE",
            options=True,
        ),
        SNLI,
        replace(  # for use when the training file is unavailable
            SNLI, name="snli_validation", title="", files={"train": SNLI.files["dev"], "test": SNLI.files["test"]}
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
            title="HANS",
            hub=("", ""),
            columns=("premise", "hypothesis", "label"),
        ),
        FEVER,
        _two_way("fever_two_way", FEVER, NOT_ENOUGH),
        Task(  # claims without evidence, to measure how much they reveal by their wording
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
            title="FEVER-Symmetric v0.1",
            files={  # the second file excludes the pairs from FEVER itself
                "full": "fever_symmetric/symmetric_v0.1/fever_symmetric_full.jsonl",
                "generated": "fever_symmetric/symmetric_v0.1/fever_symmetric_generated.jsonl",
            },
        ),
    )
}


def find_task(name: str) -> Task:
    """Return the task with the given name, or a mixture of tasks such as ``fool_me_twice+vitaminc_two_way``.

    Raises:
        FairlabError: There is no such task, or the tasks of a mixture differ in their labels or in their number of
            fields.
    """
    if MIXED in name:
        return _mixture([find_task(part) for part in name.split(MIXED)])
    if name not in TASKS:
        raise FairlabError(f"there is no task '{name}'; there are: {', '.join(TASKS)}")
    return TASKS[name]


def _mixture(parts: Sequence[Task]) -> Task:
    """Return a training task whose examples alternate between several tasks."""
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
