"""LightningDataModule of a labelled task: texts or pairs of texts with a label or a score."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import lightning
import torch
from torch import Tensor
from torch.utils.data import DataLoader

from fairlab.augmentation.perturbation import Perturbation
from fairlab.backbones.backbone import Backbone, pad
from fairlab.backbones.classification import Encoded, encode
from fairlab.data.batching import BucketedBatches
from fairlab.data.corpus import held_out
from fairlab.data.glue import Example, digest, find_task, label_counts, read_task, refuse_one_label
from fairlab.data.perturbed import perturb_examples
from fairlab.types import FairlabError


@dataclass(frozen=True)
class LabelledBatch:
    """B examples, each of one row of token ids, or of one for every answer to choose from.

    Attributes:
        input_ids: (B * rows, T), padded, example by example.
        attention_mask: the same shape, 0 at padding.
        segments: the same shape, 1 in the second text; None where the model has no segments.
        labels: (B,), whole numbers or scores.
        positions: of the examples in their split, (B,).
    """

    input_ids: Tensor
    attention_mask: Tensor
    segments: Tensor | None
    labels: Tensor
    positions: Tensor

    def to(self, device: torch.device, non_blocking: bool = False) -> LabelledBatch:
        """The batch on another device."""
        tensors = (self.input_ids, self.attention_mask, self.segments, self.labels, self.positions)
        moved = (None if tensor is None else tensor.to(device, non_blocking=non_blocking) for tensor in tensors)
        return LabelledBatch(*moved)  # type: ignore[arg-type]


class LabelledTexts(lightning.LightningDataModule):
    """A task's training examples, part of them held out for choosing the weights, in length-bucketed batches.

    The task's development examples are not read here: they are measured on, and choose nothing.

    Args:
        task: one of :data:`fairlab.data.glue.TASKS`.
        path: as of :func:`fairlab.data.glue.read_task`.
        validation: share of the training examples held out, above 0 and below 1; which ones depends on their first
            text alone, so that examples about one text are never split.
        batch_size: examples per batch.
        limit_train: use only so many training examples, from the first; None uses all.
        encoder: whose tokenizer and maximal length are used.
        epochs: passes over the training examples.
        seed: of the order of the batches.
        augmentation: perturbs the training examples, not those held out, so that weights are chosen on the same texts
            with and without it; None leaves them as they are.

    Attributes:
        task: the task.
        examples: by split, ``train`` and ``validation``.
        perturbed: what became of the training examples; None without an augmentation.

    Raises:
        FairlabError: on bad data or values, naming file, row or key.
    """

    def __init__(
        self,
        *,
        task: str,
        path: str | None,
        validation: float,
        batch_size: int,
        limit_train: int | None,
        encoder: Backbone,
        epochs: int,
        seed: int,
        augmentation: object | None = None,
    ) -> None:
        super().__init__()
        if not 0 < validation < 1:
            raise FairlabError(f"data.validation must lie above 0 and below 1, not {validation}")
        if batch_size < 1 or (limit_train is not None and limit_train < 1):
            raise FairlabError(f"data.batch_size and data.limit_train must be at least 1: {batch_size}, {limit_train}")
        if augmentation is not None and not isinstance(augmentation, Perturbation):
            raise FairlabError(
                "this augmentation works on counterfactual groups, not on a task: augmentation=fairtuning or none"
            )
        self.task = find_task(task)
        self.path = path
        self.batch_size = batch_size
        self.encoder = encoder
        self.epochs = epochs
        self.seed = seed
        examples = read_task(task, "train", path)
        self.hash = digest(examples)
        kept = [example for example in examples if not held_out(example.first, validation)]
        self.examples = {
            "train": kept[:limit_train],
            "validation": [example for example in examples if held_out(example.first, validation)],
        }
        for split, part in self.examples.items():
            if not part:
                raise FairlabError(f"{task} has no example for {split}; give more examples or change data.validation")
            refuse_one_label(part, self.task, f"the {split} part of {task}")
        self.perturbed = perturb_examples(self.examples["train"], augmentation) if augmentation else None
        if self.perturbed:
            self.examples["train"] = self.perturbed.examples
        self.encoded = {split: encode(encoder, pairs(part)) for split, part in self.examples.items()}

    @property
    def rows(self) -> int:
        """Rows of token ids of an example."""
        return len(self.task.labels) if self.task.options else 1

    @property
    def total_batches(self) -> int:
        """Number of training batches over all epochs."""
        return len(self._batches("train", self.epochs))

    def facts(self) -> dict[str, object]:
        """What the record should hold about the data: content by hash, sizes, the balance of labels, what was cut."""
        train = self.examples["train"]
        return {
            "path": self.path or self.task.files["train"],
            "sha256": self.hash,
            "task": self.task.name,
            "trained_on": f"{len(train)} examples of {self.task.name}",
            **{f"{split}_examples": len(examples) for split, examples in self.examples.items()},
            **{f"{split}_labels": label_counts(examples, self.task) for split, examples in self.examples.items()},
            **({"perturbed": self.perturbed.counts} if self.perturbed else {}),
            "texts_cut": sum(encoded.cut for encoded in self.encoded.values()),
        }

    def sizes(self) -> dict[str, int]:
        """What one pass over the training examples goes through, padding not counted."""
        return {"examples": len(self.examples["train"]), "tokens": sum(map(len, self.encoded["train"].token_ids))}

    def train_dataloader(self) -> DataLoader[int]:
        """Batches of all epochs as one stream; a resumed run skips those it has used."""
        done = self.trainer.fit_loop.epoch_loop.batch_progress.current.ready if self.trainer else 0
        return self._loader("train", self._batches("train", self.epochs, skip=done))

    def val_dataloader(self) -> DataLoader[int]:
        """Batches of the examples held out, always in the same order."""
        return self._loader("validation", self._batches("validation", epochs=1))

    def _batches(self, split: str, epochs: int, skip: int = 0) -> BucketedBatches:
        token_ids = self.encoded[split].token_ids
        lengths = [max(map(len, token_ids[start : start + self.rows])) for start in range(0, len(token_ids), self.rows)]
        return BucketedBatches(lengths, self.batch_size, epochs=epochs, seed=self.seed, skip=skip)

    def _loader(self, split: str, batches: BucketedBatches) -> DataLoader[int]:
        def collate(positions: list[int]) -> LabelledBatch:
            rows = [self.rows * position + row for position in positions for row in range(self.rows)]
            labels = torch.tensor([self.examples[split][position].label for position in positions])
            return LabelledBatch(
                *padded(self.encoded[split], rows, self.encoder.padding_id), labels, torch.tensor(positions)
            )

        # A generator of its own keeps the loader from drawing on the global one, which a resumed run could not repeat.
        return DataLoader(
            range(len(self.examples[split])),  # type: ignore[arg-type]
            batch_sampler=batches,
            collate_fn=collate,
            generator=torch.Generator(),
        )


def pairs(examples: Sequence[Example]) -> list[tuple[str, str | None]]:
    """What a model reads of examples, one after the other."""
    return [pair for example in examples for pair in example.pairs]


def padded(encoded: Encoded, rows: Sequence[int], padding_id: int) -> tuple[Tensor, Tensor, Tensor | None]:
    """Token ids, attention mask and segments of some rows, padded to the longest; segments are 0 at padding."""
    input_ids, attention_mask = pad([encoded.token_ids[row] for row in rows], padding_id)
    if encoded.segments is None:
        return input_ids, attention_mask, None
    return input_ids, attention_mask, pad([encoded.segments[row] for row in rows], 0)[0]
