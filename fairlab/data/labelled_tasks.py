"""LightningDataModule of a labelled task: texts or pairs of texts with a label or a score."""

from __future__ import annotations

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
from fairlab.data.stream.manifest import NAME, data_files, read_manifest
from fairlab.data.stream.rows import TASK
from fairlab.data.text import held_out
from fairlab.protocols import ExampleAugmentation
from fairlab.text.fingerprints import Fingerprints
from fairlab.text.reading import read_json_lines
from fairlab.types import Count, FairlabError, Fraction

Made = tuple[Example, Example]  # an example, and the published example it was derived from (itself if it is published)


@dataclass(frozen=True)
class LabelledBatch(Batch):
    """Batch of B labelled examples. Each has one row of token ids, or one row per answer option.

    Attributes:
        input_ids: Token ids (B * rows, T), padded, example by example.
        attention_mask: Mask (B * rows, T), 0 at padding.
        segments: Segment of each token, (B * rows, T): 1 in the second text, otherwise 0. None if the model has no
            segments.
        labels: Label of each example, (B,): whole numbers or scores.
        positions: Position of each example in its split, (B,).
    """

    input_ids: Tensor
    attention_mask: Tensor
    segments: Tensor | None
    labels: Tensor
    positions: Tensor


class LabelledTexts(Streamed):
    """A task's training examples, some of them held out for model selection, in length-bucketed batches.

    The task's development examples are not read, because they are reserved for evaluation.

    Args:
        task: Name of a task in :data:`~fairlab.data.published.tasks.TASKS`, or several names joined by ``+``, whose
            examples are interleaved; or a task that a subclass describes.
        path: Path of the task's data, see :func:`~fairlab.data.published.task_files.read_task`, or an output of
            ``fairlab.augment`` with the task's examples.
        validation: Fraction of the training examples held out, above 0 and below 1. The choice depends only on an
            example's first text, so examples that share a first text are never split.
        batch_size: Number of examples in a training batch, over all processes.
        limit: Maximum number of training examples, taken from the start; None for all.
        encoder: Backbone whose tokenizer and maximum length are used.
        epochs: Number of passes over the training examples.
        seed: Seed of the order of the batches.
        augmentation: Augmentation that perturbs the training examples or adds to them. Held-out examples stay
            unchanged, so that models are selected on the same texts with and without the augmentation. None leaves all
            examples unchanged.
        unseen: Evaluation sets, as ``TASK:SPLIT``. Training examples with the same texts as an evaluation example are
            left out, and so are the examples that ``fairlab.augment`` derived from them.
        validate_on: Source of the held-out examples: ``made`` for the training data, or ``published`` for the published
            task regardless of ``path``, so that all augmentations of a task are validated on the same examples.
            Examples derived from them are excluded from training.

    Attributes:
        task: Task whose examples are read.
        examples: Examples of each split, ``train`` and ``validation``.
        perturbed: Result of perturbing the training examples; None without a perturbation.
        added: Number of examples that the augmentation added.
        left_out: Number of examples left out because of ``unseen``.

    Raises:
        FairlabError: The data or a setting is invalid. The message names the file, row or key.
    """

    applies = (ExampleAugmentation, Perturbation)
    made_key = "path"

    def __init__(
        self,
        *,
        task: str | Task,
        path: str | None,
        validation: Fraction,
        batch_size: Count,
        limit: Count | None,
        encoder: Backbone,
        epochs: int,
        seed: int,
        augmentation: Perturbation | ExampleAugmentation | None = None,
        unseen: Sequence[str] = (),
        validate_on: Literal["made", "published"] = "made",
    ) -> None:
        super().__init__()
        if augmentation is not None and not isinstance(augmentation, self.applies):
            raise FairlabError(
                "this augmentation works on counterfactual groups, not on a task; set augmentation=fairtuning, eda, "
                "crossaug or none"
            )
        self.task = task if isinstance(task, Task) else find_task(task)
        self.path = path
        self.batch_size = batch_size
        self.encoder = encoder
        self.epochs = epochs
        self.seed = seed
        examples = self.read_examples()
        self.hash = examples_digest(examples)
        named = is_made(path) and (unseen or validate_on == "published")
        published = read_task(self.task.name, "train") if named else examples
        made_of = sources_of(self.task, str(path), examples, published)
        parts = parted(made_of, published if validate_on == "published" else None, validation)
        measured = texts_unseen(unseen)
        self.examples = {
            split: [one for one, source in part if not {_texts(one), _texts(source)} & measured]
            for split, part in parts.items()
        }
        self.left_out = sum(len(parts[split]) - len(part) for split, part in self.examples.items())
        kept = self.examples["train"] = self.examples["train"][:limit]
        for split, part in self.examples.items():
            if not part:
                raise FairlabError(
                    f"{self.task.name} has no example for {split}; give more examples or change data.validation"
                )
            refuse_one_label(part, self.task, f"the {split} part of {self.task.name}")
        self.perturbed = perturb_examples(kept, augmentation) if isinstance(augmentation, Perturbation) else None
        if self.perturbed:
            self.examples["train"] = self.perturbed.examples
        elif augmentation is not None:
            self.examples["train"] = with_more(kept, self.task, augmentation)  # type: ignore[arg-type]
        self.added = len(self.examples["train"]) - len(kept)
        self.encoded = {split: encode(encoder, pairs(part)) for split, part in self.examples.items()}

    def read_examples(self) -> list[Example]:
        """Return the task's training examples."""
        return read_training(self.task, self.path)

    @classmethod
    def rows_to_augment(cls, settings: Mapping[str, Any]) -> str | None:
        """Return the source of the task's training examples, ``task:NAME:train``, or None if ``path`` is set."""
        return f"{TASK}{settings['task']}:train" if settings["path"] is None else None

    @property
    def rows(self) -> int:
        """Return the number of rows of token ids per example."""
        return len(self.task.labels) if self.task.options else 1

    def facts(self) -> dict[str, object]:
        """Return the facts for the run's record: content hash, sizes, label balance and number of truncated texts."""
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
        """Return fingerprints of the training texts as the model reads them. The two texts of a pair are joined."""
        return Fingerprints.from_texts(" ".join(filter(None, pair)) for pair in pairs(self.examples["train"]))

    def sizes(self) -> dict[str, int]:
        """Return the number of examples and tokens in one pass over the training examples, excluding padding."""
        return {"examples": len(self.examples["train"]), "tokens": sum(map(len, self.encoded["train"].token_ids))}

    def lengths(self, split: str) -> list[int]:
        """Return the number of tokens of each example's longest text."""
        token_ids = self.encoded[split].token_ids
        return [max(map(len, token_ids[start : start + self.rows])) for start in range(0, len(token_ids), self.rows)]

    def collate(self, split: str, positions: list[int]) -> LabelledBatch:
        """Return the padded texts of the examples with their labels."""
        rows = [self.rows * position + row for position in positions for row in range(self.rows)]
        labels = torch.tensor([self.examples[split][position].label for position in positions])
        texts = padded(self.encoded[split], rows, self.encoder.padding_id)
        return LabelledBatch(*texts, labels, torch.tensor(positions))


def published(task: Task) -> list[str]:
    """Return the names of a task's training files under ``FAIRLAB_DATA``. A mixture has the files of all its tasks."""
    if task.parts:
        return [name for part in task.parts for name in published(part)]
    names = task.files["train"]
    return [names] if isinstance(names, str) else list(names)


def read_training(task: Task, path: str | None) -> list[Example]:
    """Read the training examples of a task, as published or as an output of ``fairlab.augment`` for the task."""
    if not is_made(path):
        return read_task(task.name, "train", path)
    examples = examples_of(_made_rows(str(path)), task)
    if not examples:
        raise FairlabError(f"{path} holds no example of {task.name}; run fairlab.augment on that task")
    refuse_one_label(examples, task, str(path))
    return examples


def is_made(path: str | None) -> bool:
    """Return whether a path is an output of ``fairlab.augment``."""
    return path not in (None, HUB) and (Path(str(path)) / NAME).is_file()


def sources_of(task: Task, path: str, examples: list[Example], published: list[Example]) -> list[Made]:
    """Pair each example with the published example it was derived from, as recorded in ``fairlab.augment``'s output.

    Args:
        task: Task of the examples.
        path: Path from which the examples were read.
        examples: Examples read from ``path``. Each is its own source if they are the published examples, or if they
            were derived from something other than the task, such as another output.
        published: Published examples of the task, in the order in which they were augmented.

    Raises:
        FairlabError: A row was derived from an example that the task does not have.
    """
    if published is examples or _source(path) != f"{TASK}{task.name}:train":
        return [(example, example) for example in examples]
    by_number = {str(number): one for number, one in enumerate(published, start=1)}
    found = []
    for place, row in _made_rows(path):
        number = str(row.get("source_id", row["id"]))
        if number not in by_number:
            raise FairlabError(
                f"{place} comes from example {number} of {task.name}, which has {len(published)} examples here; run "
                "fairlab.augment again on the present data"
            )
        found += [(example, by_number[number]) for example in examples_of([(place, row)], task)]
    return found


def parted(made_of: Sequence[Made], published: Sequence[Example] | None, validation: float) -> dict[str, list[Made]]:
    """Divide examples with their sources into training and validation examples, by the first text of the source.

    Args:
        made_of: Examples with their sources.
        published: Published examples from which the held-out examples are taken; None takes them from ``made_of``.
        validation: Fraction of the examples held out.

    Raises:
        FairlabError: ``published`` is given and the first text of a source is not among its first texts, so that the
            examples derived from a held-out example cannot be identified.
    """
    validated_on = made_of
    if published is not None:
        known = {one.first for one in published}
        if other := next((source for _, source in made_of if source.first not in known), None):
            raise FairlabError(
                f"data.validate_on=published cannot find the original of '{other.first}' of data.path; "
                "run fairlab.augment on the task, or set data.validate_on=made"
            )
        validated_on = [(one, one) for one in published]
    return {
        "train": [made for made in made_of if not held_out(made[1].first, validation)],
        "validation": [made for made in validated_on if held_out(made[1].first, validation)],
    }


def _source(path: str) -> str:
    source = read_manifest(Path(path) / NAME).get("source", {})
    return str(source.get("name", ""))


def _made_rows(path: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
    for file in data_files(Path(path)):
        yield from read_json_lines(file)


def texts_unseen(unseen: Sequence[str]) -> set[tuple[str, ...]]:
    """Return the texts of the evaluation sets, normalized for case and white space.

    Raises:
        FairlabError: An entry of ``unseen`` does not have the form ``TASK:SPLIT``, or its data is invalid.
    """
    if wrong := [name for name in unseen if name.count(":") != 1]:
        raise FairlabError(f"data.unseen names sets as TASK:SPLIT, such as fever_symmetric:test, not '{wrong[0]}'")
    return {_texts(example) for name in unseen for example in read_task(*name.split(":"))}


def _texts(example: Example) -> tuple[str, ...]:
    return tuple(" ".join(field.split()).casefold() for field in example.fields)


def with_more(examples: Sequence[Example], task: Task, augmentation: ExampleAugmentation) -> list[Example]:
    """Return the examples, each followed by the examples that the augmentation derives from it.

    Raises:
        FairlabError: The task has scores, or answer options to choose from.
    """
    if not task.labels or task.options:
        raise FairlabError(
            f"this augmentation adds labelled texts, but {task.name} has no labels; use augmentation=none"
        )
    made = []
    for example in examples:
        made.append(example)
        for fields, label in augmentation.more(example.fields, task.labels[int(example.label)]):
            made.append(replace(example.with_fields(fields), label=task.labels.index(label)))
    return made


def pairs(examples: Sequence[Example]) -> list[tuple[str, str | None]]:
    """Return the texts or pairs of texts that a model reads, example by example."""
    return [pair for example in examples for pair in example.pairs]


def padded(encoded: Encoded, rows: Sequence[int], padding_id: int) -> tuple[Tensor, Tensor, Tensor | None]:
    """Return token ids, attention mask and segments of rows, padded to the longest row.

    Segments are 0 at padding, and None if the model has no segments.
    """
    input_ids, attention_mask = pad([encoded.token_ids[row] for row in rows], padding_id)
    if encoded.segments is None:
        return input_ids, attention_mask, None
    return input_ids, attention_mask, pad([encoded.segments[row] for row in rows], 0)[0]
