"""Interface of debiasing strategies for classifiers: preparation, loss, and changes after training."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor, nn

from fairlab.backbones.backbone import Backbone
from fairlab.data.labelled_tasks import LabelledBatch, LabelledTexts
from fairlab.types import FairlabError


class Debiasing:
    """Base class of debiasing strategies; by itself, it is plain cross-entropy.

    Attributes:
        name: Name of the strategy, as in ``debiasing=NAME``.
    """

    title = "cross-entropy without debiasing"
    limits = "It learns any feature that separates the labels, including shortcuts."
    citation = "Plain cross-entropy, which needs no citation."
    name = "none"

    def prepare(self, data: LabelledTexts, backbone: Backbone, seed: int) -> None:
        """Prepare the loss, for example by training auxiliary models on copies of the backbone."""

    def loss(self, outputs: Tensor, batch: LabelledBatch) -> Tensor:
        """Return the loss of outputs (B, L) on a batch of training examples."""
        return nn.functional.cross_entropy(outputs, batch.labels)

    def penalty(self, outputs: Tensor, batch: LabelledBatch, forward: Callable[[LabelledBatch], Tensor]) -> Tensor:
        """Return a penalty that is added to the loss, 0 by default.

        To compute the penalty, a strategy may run the classifier, ``forward``, on additional texts. The outputs for the
        batch are (B, L).
        """
        return outputs.new_zeros(())

    def weight(self, batch: LabelledBatch) -> float:
        """Return the denominator of the mean loss on a batch: the number of examples, or the sum of their weights."""
        return len(batch.labels)

    def finish(self, backbone: Backbone) -> None:
        """Correct the outputs of the trained classifier.

        By default, the outputs stay unchanged.
        """

    def second_texts(self, data: LabelledTexts) -> list[str]:
        """Return the claim, or hypothesis, of every training example.

        Raises:
            FairlabError: The task has single texts, answer options or scores instead of labelled pairs.
        """
        task = data.task
        if not task.labels or task.options or data.examples["train"][0].second is None:
            raise FairlabError(
                f"debiasing={self.name} works on labelled pairs of texts, which {task.name} does not have"
            )
        return [str(example.second) for example in data.examples["train"]]


def weighted_cross_entropy(outputs: Tensor, labels: Tensor, weights: Tensor) -> Tensor:
    """Return the weighted mean of the cross-entropy over a batch, or 0 if all weights are 0."""
    losses = nn.functional.cross_entropy(outputs, labels, reduction="none")
    return (weights * losses).sum() / weights.sum().clamp(min=torch.finfo(weights.dtype).tiny)
