"""Fine-tuning of a backbone on a labelled task, with or without low-rank adapters.

Source: Devlin et al. 2019, "BERT", section 4.1; hyperparameters of Qian et al. 2022, "Perturbation Augmentation for
Fairer NLP", table 12.
Shape letters: B examples, L labels.
"""

from __future__ import annotations

import copy
from functools import partial
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn

from fairlab.backbones.adapters import FILE, LoRA, add_adapters, merge_adapters, remove_adapters, save_adapters
from fairlab.backbones.backbone import Backbone
from fairlab.backbones.classification import SCORE, outputs, refuse_projection, with_classifier
from fairlab.data.labelled_tasks import LabelledBatch, LabelledTexts
from fairlab.data.published.tasks import Task
from fairlab.distributed import BatchShare, gather_over_ranks
from fairlab.methods.base import Trained
from fairlab.methods.debiasing.base import Debiasing
from fairlab.methods.optimizing import linear
from fairlab.metrics.classification import METRICS
from fairlab.text.papers import DEVLIN_2019
from fairlab.types import Count, NotAll, NotNegative, Positive


class SequenceClassifier(Trained):
    """Method that trains a backbone with a new head to predict a task's labels or scores.

    The loss is cross-entropy over the labels or answer options, without class weights. For scores, it is the squared
    error. The weights with the best value of the task's metric on the held-out training examples are kept. The
    development examples do not influence any choice.

    Args:
        encoder: Backbone to train, in place; its model becomes the sequence classifier.
        rank: Rank of adapters on the encoder's linear layers, trained together with the head while all other weights
            are frozen; None trains all weights.
        lr: Peak learning rate of AdamW; it rises linearly over ``warmup`` and decays linearly to 0.
        warmup: Share of the training steps in which the learning rate rises, from 0 to below 1.
        weight_decay: Weight decay of AdamW, on matrices only, >= 0.
        dropout: Whether the backbone's own dropout is active in training.
        epochs: Maximum number of passes over the training examples.
        steps: Maximum number of training steps; None trains for all epochs.
        patience: Number of validations without improvement after which training stops; None trains for all epochs.
        validate_every: Number of training steps between validations.
        seed: Seed of the new head and of dropout; the randomness of a step depends only on the seed and the step.
        debiasing: Debiasing strategy against shortcuts; None for plain cross-entropy.

    Raises:
        FairlabError: The backbone multiplies its embeddings by a matrix, which would be lost, or, in training, the loss
            is not finite.
    """

    title = "fine-tuning on a labelled task"
    limits = (
        "Trained and measured on one task's examples, whose labels and stereotypes it repeats; the readings do "
        "not show whether it is fair."
    )
    citation = DEVLIN_2019
    monitor = "validation/error"
    clip = 1.0
    schedule = staticmethod(partial(linear, from_zero=True))
    decayed = "matrices"
    task: Task

    def __init__(
        self,
        encoder: Backbone,
        *,
        rank: Count | None,
        lr: Positive,
        warmup: NotAll,
        weight_decay: NotNegative,
        dropout: bool,
        epochs: Count,
        patience: Count | None,
        validate_every: Count,
        seed: int,
        debiasing: Debiasing | None = None,
        steps: Count | None = None,
    ) -> None:
        super().__init__()
        refuse_projection(encoder)
        self.encoder = encoder
        self.rank = rank
        self.lr = lr
        self.warmup = warmup
        self.weight_decay = weight_decay
        self.dropout = dropout
        self.epochs = epochs
        self.steps = steps
        self.patience = patience
        self.validate_every = validate_every
        self.seed = seed
        self.debiasing = debiasing
        self.seen: list[tuple[Tensor, Tensor]] = []

    def setup(self, stage: str) -> None:
        """Prepare the debiasing strategy, and add adapters and a head for the data's task."""
        if stage != "fit":
            return
        data: LabelledTexts = self.trainer.datamodule  # type: ignore[attr-defined]
        self.task = data.task
        if self.debiasing is not None:
            self.debiasing.prepare(data, copy.deepcopy(self.encoder).to(self.trainer.strategy.root_device), self.seed)
        torch.manual_seed(self.seed)
        several = self.task.labels and not self.task.options
        self.encoder.model = with_classifier(self.encoder, self.task.labels if several else SCORE)
        if self.rank is not None:
            add_adapters(self.encoder.model, LoRA(self.rank))
        device = self.trainer.strategy.root_device
        self.encoder.to(device)
        if device.type == "cpu":  # 1.5 times as fast on short texts as the fused kernel, whose backward pass is slow
            self.encoder.model.set_attn_implementation("eager")
        self.encoder.train(self.dropout)

    def forward(self, batch: LabelledBatch) -> Tensor:
        """Return outputs (B, L), one per label or answer option, or scores (B,) if the task has scores."""
        if not len(batch.labels):
            return self.empty_share(0, len(self.task.labels)) if self.task.labels else self.empty_share(0)
        values = outputs(self.encoder.model, batch.input_ids, batch.attention_mask, batch.segments)
        return values.view(len(batch.labels), -1) if self.task.labels else values.squeeze(1)

    def loss(self, batch: LabelledBatch, found: Tensor) -> Tensor:
        """Return the mean loss over a batch, without debiasing."""
        if self.task.labels:
            return nn.functional.cross_entropy(found, batch.labels)
        return nn.functional.mse_loss(found, batch.labels)

    def training_step(self, batch: LabelledBatch, batch_idx: int) -> Tensor:
        """Return the loss on one batch."""
        found = self(batch)
        debiasing = self.debiasing
        if not len(batch.labels):
            loss = found.sum()  # for a share without examples
        elif debiasing is None:
            loss = self.loss(batch, found)
        else:
            loss = debiasing.loss(found, batch) + debiasing.penalty(found, batch, self)
        weight = len(batch.labels) if debiasing is None else debiasing.weight(batch)
        share = BatchShare(weight, self.device)
        own, loss = share.loss(loss), share.mean(loss)
        self.log_training({"loss": loss}, len(batch.labels))
        return own

    def validation_step(self, batch: LabelledBatch, batch_idx: int) -> None:
        """Compute the loss on held-out examples."""
        found = self(batch)
        loss = self.loss(batch, found) if len(batch.labels) else found.sum()
        share = BatchShare(len(batch.labels), self.device)
        self.log("validation/loss", share.mean(loss), batch_size=int(share.total))
        self.seen.append(((found.argmax(dim=1) if self.task.labels else found).cpu(), batch.labels.cpu()))

    def on_validation_epoch_end(self) -> None:
        """Log the task's metric over all held-out examples, and its distance from 1, which selects the weights."""
        seen = [pair for of_process in gather_over_ranks(self.seen) for pair in of_process]
        predicted, truth = (torch.cat(parts).double().numpy() for parts in zip(*seen, strict=True))
        self.seen.clear()
        name = self.task.metrics[0]
        value = float(np.nan_to_num(METRICS[name](predicted, truth)))  # constant scores have no correlation
        self.log_dict({f"validation/{name}": value, self.monitor: 1 - value})

    def finish(self, folder: Path) -> None:
        """Write the trained adapters and head to ``folder``, and merge the stored values into the weights."""
        model = self.encoder.model
        if self.rank is not None:
            save_adapters(model, folder / FILE)
            remove_adapters(model)
            merge_adapters(model, folder / FILE)
        if self.debiasing is not None:
            self.debiasing.finish(self.encoder)
        self.encoder.eval()

    def facts(self) -> dict[str, object]:
        """Return the facts about the trained model that the record holds in addition to the configuration."""
        facts: dict[str, object] = super().facts() | {"trained_parameters": self.trained_parameters}
        return facts if self.debiasing is None else facts | {"debiasing": self.debiasing.name}
