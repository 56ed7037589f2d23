"""Base class of debiasing strategies that use a classifier of the claim or hypothesis alone.

Source: Karimi Mahabadi et al. 2020, "End-to-End Bias Mitigation by Modelling Biases in Corpora", section 3.
"""

from __future__ import annotations

import torch
from torch import Tensor

from fairlab.backbones.backbone import Backbone
from fairlab.data.labelled_tasks import LabelledTexts
from fairlab.methods.debiasing.base import Debiasing
from fairlab.methods.debiasing.bias_model import Tuning, out_of_sample
from fairlab.types import Count, Positive


class ClaimOnly(Debiasing):
    """Debiasing strategy that uses a claim-only classifier's prediction for every training example.

    Args:
        epochs: Number of passes of the claim-only classifier over its half of the claims.
        lr: Peak learning rate of the claim-only classifier.
        batch_size: Batch size of the claim-only classifier.

    Attributes:
        log_bias: Out-of-sample log-probabilities (N, L) of the claim-only classifier for the training examples; see
            :mod:`fairlab.methods.debiasing.bias_model`.
    """

    log_bias: Tensor

    def __init__(self, *, epochs: Count, lr: Positive, batch_size: Count) -> None:
        self.tuning = Tuning(epochs, lr, batch_size)

    def prepare(self, data: LabelledTexts, backbone: Backbone, seed: int) -> None:
        """Train the claim-only classifier on each half of the claims, and apply it to the other half."""
        claims = [(claim, None) for claim in self.second_texts(data)]
        labels = [int(example.label) for example in data.examples["train"]]
        self.log_bias = torch.from_numpy(out_of_sample(backbone, claims, labels, data.task.labels, self.tuning, seed))

    def bias_of(self, positions: Tensor) -> Tensor:
        """Return the claim-only classifier's log-probabilities (B, L) for the training examples at ``positions``."""
        return self.log_bias[positions.cpu()].to(positions.device)
