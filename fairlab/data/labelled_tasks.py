"""LightningDataModule of a labelled task: texts or pairs of texts with a label or a score."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import torch
from torch import Tensor

from fairlab.augmentation.perturbation import Perturbation
from fairlab.backbones.backbone import Backbone, pad
from fairlab.backbones.classification import Encoded, encode
from fairlab.data.batch import Batch
from fairlab.data.batch_stream import Streamed
from fairlab.data.published.task_files import (
    examples_digest,
    examples_of,
    label_counts,
    read_task,
    refuse_one_label,
)
from fairlab.data.published.tasks import HUB, Example, Task, find_task
from fairlab.data.stream.choices import perturb_examples
from fairlab.data.stream.manifest import NAME, data_files
from fairlab.data.stream.rows import TASK
from fairlab.data.text import held_out
from fairlab.protocols import ExampleAugmentation
from fairlab.text.fingerprints import Fingerprints
from fairlab.text.reading import read_json_lines
from fairlab.types import FairlabError

Made = tuple[Example, Example]  # an example with the published one that it was made of, or itself


@dataclass(frozen=True)
class LabelledBatch(Batch):
    """B examples, each of one row of token ids, or of one for every answer to choose from.

    Attributes:
        input_ids: token ids (B * rows, T), padded, example by example.
        attention_mask: mask (B * rows, T), 0 at padding.
        segments: segment of each token, (B * rows, T), 1 in the second text; None where the model has no segments.
        labels: label of each example, (B,): whole numbers or scores.
        positions: position of each example in its split, (B,).
    """

    input_ids: Tensor
    attention_mask: Tensor
    segments: Tensor | None
    labels: Tensor
    positions: Tensor


class LabelledTexts(Streamed):
    """A task's training examples, part of them held out for choosing the weights, in length-bucketed batches.

    The task's development examples are not read here: they are measured on, and choose nothing.

    Args:
        task: a name in :data:`~fairlab.data.published.tasks.TASKS`, or several joined by ``+``: their examples come in
            turn.
        path: where the task lies, see :func:`~fairlab.data.published.task_files.read_task`, or an output of
            ``fairlab.augment`` with the task's examples.
        validation: share of the training examples held out, above 0 and below 1; which ones depends on their first
            text alone, so that examples about one text are never split.
        batch_size: number of examples in a training batch, over all processes.
        limit: number of training examples at most, from the first; None uses all.
        encoder: the backbone whose tokenizer and maximal length are used.
        epochs: number of passes over the training examples.
        seed: seed of the order of the batches.
        augmentation: an augmentation that perturbs the training examples or adds to them, not those held out, so that
            weights are chosen on the same texts with and without it; None leaves examples as they are.
        unseen: sets that are measured on, as ``TASK:SPLIT``; a training example with the texts of one of their examples
            is left out, and with it what ``fairlab.augment`` made of it.
        validate_on: where the examples held out come from: ``made``, from what is trained on; or ``published``, those
            of the published task whatever ``path`` holds, so that every augmentation of a task is validated on the same
            examples. Nothing that was made of these is trained on.

    Attributes:
        task: the task whose examples are read.
        examples: the examples of each split, ``train`` and ``validation``.
        perturbed: what became of the training examples; None without a perturbation.
        added: how many examples the augmentation added.
        left_out: how many examples of a set of ``unseen`` were left out.

    Raises:
        FairlabError: on bad data or values, naming file, row or key.
    """

    applies = (ExampleAugmentation, Perturbation)
    made_key = "path"

    def __init__(
        self,
        *,
        task: str,
        path: str | None,
        validation: float,
        batch_size: int,
        limit: int | None,
        encoder: Backbone,
        epochs: int,
        seed: int,
        augmentation: Perturbation | ExampleAugmentation | None = None,
        unseen: Sequence[str] = (),
        validate_on: Literal["made", "published"] = "made",
    ) -> None:
        super().__init__()
        if not 0 < validation < 1:
            raise FairlabError(f"data.validation must lie above 0 and below 1, not {validation}")
        if validate_on not in ("made", "published"):
            raise FairlabError(f"data.validate_on must be made or published, not {validate_on}")
        if batch_size < 1 or (limit is not None and limit < 1):
            raise FairlabError(f"data.batch_size and data.limit must be at least 1: {batch_size}, {limit}")
        if augmentation is not None and not isinstance(augmentation, self.applies):
            raise FairlabError(
                "this augmentation works on counterfactual groups, not on a task: augmentation=fairtuning, eda, "
                "crossaug or none"
            )
        self.task = find_task(task)
        self.path = path
        self.batch_size = batch_size
        self.encoder = encoder
        self.epochs = epochs
        self.seed = seed
        examples = read_training(self.task, path)
        self.hash = examples_digest(examples)
        published = read_task(task, "train") if is_made(path) and (unseen or validate_on == "published") else examples
        made_of = sources_of(self.task, str(path), examples, published)
        parts = parted(made_of, published if validate_on == "published" else None, validation)
        measured = texts_unseen(unseen)
        self.examples = {split: _without(part, measured) for split, part in parts.items()}
        self.left_out = sum(len(parts[split]) - len(part) for split, part in self.examples.items())
        kept = self.examples["train"] = self.examples["train"][:limit]
        for split, part in self.examples.items():
            if not part:
                raise FairlabError(f"{task} has no example for {split}; give more examples or change data.validation")
            refuse_one_label(part, self.task, f"the {split} part of {task}")
        self.perturbed = perturb_examples(kept, augmentation) if isinstance(augmentation, Perturbation) else None
        if self.perturbed:
            self.examples["train"] = self.perturbed.examples
        elif augmentation is not None:
            self.examples["train"] = with_more(kept, self.task, augmentation)  # type: ignore[arg-type]
        self.added = len(self.examples["train"]) - len(kept)
        self.encoded = {split: encode(encoder, pairs(part)) for split, part in self.examples.items()}

    @classmethod
    def rows_to_augment(cls, settings: Mapping[str, Any]) -> str | None:
        """The training examples of the task, as ``input=task:NAME:train`` of ``fairlab.augment``."""
        return f"{TASK}{settings['task']}:train" if settings["path"] is None else None

    @property
    def rows(self) -> int:
        """Rows of token ids of an example."""
        return len(self.task.labels) if self.task.options else 1

    def facts(self) -> dict[str, object]:
        """What the record should hold about the data: content by hash, sizes, the balance of labels, what was cut."""
        train = self.examples["train"]
        return {
            "path": self.path or ", ".join(published(self.task)),
            "sha256": self.hash,
            "task": self.task.name,
            "trained_on": f"{len(train)} examples of {self.task.name}",
            **{f"{split}_examples": len(examples) for split, examples in self.examples.items()},
            **{f"{split}_labels": label_counts(examples, self.task) for split, examples in self.examples.items()},
            **({"perturbed": self.perturbed.counts} if self.perturbed else {}),
            **({"added": self.added} if self.added else {}),
            **({"left_out": self.left_out} if self.left_out else {}),
            "texts_cut": sum(encoded.cut for encoded in self.encoded.values()),
        }

    def fingerprints(self) -> Fingerprints:
        """Of what a model reads of the training examples: of a pair, both texts together."""
        found = Fingerprints()
        found.add(" ".join(filter(None, pair)) for pair in pairs(self.examples["train"]))
        return found

    def sizes(self) -> dict[str, int]:
        """What one pass over the training examples goes through, padding not counted."""
        return {"examples": len(self.examples["train"]), "tokens": sum(map(len, self.encoded["train"].token_ids))}

    def lengths(self, split: str) -> list[int]:
        """Of the longest text of every example."""
        token_ids = self.encoded[split].token_ids
        return [max(map(len, token_ids[start : start + self.rows])) for start in range(0, len(token_ids), self.rows)]

    def collate(self, split: str, positions: list[int]) -> LabelledBatch:
        """The texts of the examples, padded, with their labels."""
        rows = [self.rows * position + row for position in positions for row in range(self.rows)]
        labels = torch.tensor([self.examples[split][position].label for position in positions])
        texts = padded(self.encoded[split], rows, self.encoder.padding_id)
        return LabelledBatch(*texts, labels, torch.tensor(positions))


def published(task: Task) -> list[str]:
    """Names of the training files of a task, or of all tasks of a mixture, below ``FAIRLAB_DATA``."""
    if task.parts:
        return [name for part in task.parts for name in published(part)]
    names = task.files["train"]
    return [names] if isinstance(names, str) else list(names)


def read_training(task: Task, path: str | None) -> list[Example]:
    """The examples to train on: a published task's, or those that ``fairlab.augment`` made of it."""
    if not is_made(path):
        return read_task(task.name, "train", path)
    examples = examples_of(_made_rows(str(path)), task)
    if not examples:
        raise FairlabError(f"{path} holds no example of {task.name}; run fairlab.augment on that task")
    refuse_one_label(examples, task, str(path))
    return examples


def is_made(path: str | None) -> bool:
    """Whether a path is an output of ``fairlab.augment``."""
    return path not in (None, HUB) and (Path(str(path)) / NAME).is_file()


def sources_of(task: Task, path: str, examples: list[Example], published: list[Example]) -> list[Made]:
    """Examples with the published one that each was made of, as the rows of an output of ``fairlab.augment`` say.

    Args:
        task: the task.
        path: where the examples were read.
        examples: what was read there. They are their own sources where they are the published ones, or were made of
            something else than the task, such as another output.
        published: the task's own examples, in the order in which they were augmented.

    Raises:
        FairlabError: a row was made of an example that the task does not have.
    """
    if published is examples or _source(path) != f"{TASK}{task.name}:train":
        return [(example, example) for example in examples]
    by_number = {str(number): one for number, one in enumerate(published, start=1)}
    found = []
    for place, row in _made_rows(path):
        number = str(row.get("source_id", row["id"]))
        if number not in by_number:
            raise FairlabError(
                f"{place} was made of example {number} of {task.name}, which has {len(published)} here; run "
                "fairlab.augment again on the data that is at hand"
            )
        found += [(example, by_number[number]) for example in examples_of([(place, row)], task)]
    return found


def parted(made_of: Sequence[Made], published: Sequence[Example] | None, validation: float) -> dict[str, list[Made]]:
    """Examples to train on and examples held out, which their source's first text decides, each with its source.

    Args:
        made_of: examples with their sources.
        published: what examples are held out of; None holds out of those that were made.
        validation: share held out.

    Raises:
        FairlabError: examples are to be held out of the published ones, and the first text of a source is none of
            theirs, so that it cannot be told what was made of them.
    """
    validated_on = made_of
    if published is not None:
        known = {one.first for one in published}
        if other := next((source for _, source in made_of if source.first not in known), None):
            raise FairlabError(
                f"data.validate_on=published cannot tell which example '{other.first}' of data.path was made of; "
                "run fairlab.augment on the task, or take data.validate_on=made"
            )
        validated_on = [(one, one) for one in published]
    return {
        "train": [made for made in made_of if not held_out(made[1].first, validation)],
        "validation": [made for made in validated_on if held_out(made[1].first, validation)],
    }


def _source(path: str) -> str:
    return str(json.loads((Path(path) / NAME).read_text(encoding="utf-8"))["source"]["name"])


def _made_rows(path: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
    for file in data_files(Path(path)):
        yield from read_json_lines(file)


def texts_unseen(unseen: Sequence[str]) -> set[tuple[str, ...]]:
    """Texts of the sets that are measured on, but for case and blanks.

    Raises:
        FairlabError: an entry of ``unseen`` is not ``TASK:SPLIT``, or its data is bad.
    """
    if wrong := [name for name in unseen if name.count(":") != 1]:
        raise FairlabError(f"data.unseen names sets as TASK:SPLIT, such as fever_symmetric:test, not '{wrong[0]}'")
    return {_texts(example) for name in unseen for example in read_task(*name.split(":"))}


def _without(part: Sequence[Made], measured: set[tuple[str, ...]]) -> list[Example]:
    """Examples that are measured on neither themselves nor by what they were made of."""
    return [one for one, source in part if not {_texts(one), _texts(source)} & measured]


def _texts(example: Example) -> tuple[str, ...]:
    return tuple(" ".join(field.split()).casefold() for field in example.fields)


def with_more(examples: Sequence[Example], task: Task, augmentation: ExampleAugmentation) -> list[Example]:
    """Examples, each followed by what the augmentation makes of it.

    Raises:
        FairlabError: the task is one of scores, or of answers to choose from.
    """
    if not task.labels or task.options:
        raise FairlabError(f"this augmentation adds labelled texts, and {task.name} has none; use augmentation=none")
    made = []
    for example in examples:
        made.append(example)
        for fields, label in augmentation.more(example.fields, task.labels[int(example.label)]):
            made.append(replace(example.with_fields(fields), label=task.labels.index(label)))
    return made


def pairs(examples: Sequence[Example]) -> list[tuple[str, str | None]]:
    """What a model reads of examples, one after the other."""
    return [pair for example in examples for pair in example.pairs]


def padded(encoded: Encoded, rows: Sequence[int], padding_id: int) -> tuple[Tensor, Tensor, Tensor | None]:
    """Token ids, attention mask and segments of some rows, padded to the longest; segments are 0 at padding."""
    input_ids, attention_mask = pad([encoded.token_ids[row] for row in rows], padding_id)
    if encoded.segments is None:
        return input_ids, attention_mask, None
    return input_ids, attention_mask, pad([encoded.segments[row] for row in rows], 0)[0]
