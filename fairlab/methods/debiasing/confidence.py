"""Confidence regularisation: training on a teacher's probabilities, flattened if the claim reveals the label.

Source: Utama et al. 2020, "Mind the Trade-off: Debiasing NLU Models without Degrading the In-distribution Performance",
section 3.
"""

from __future__ import annotations

import torch
from torch import Tensor

from fairlab.backbones.backbone import Backbone
from fairlab.data.labelled_tasks import LabelledBatch, LabelledTexts, pairs
from fairlab.methods.debiasing.bias_model import fine_tuned, log_probabilities
from fairlab.methods.debiasing.claim_only import ClaimOnly
from fairlab.methods.debiasing.reweighting import bias_weights


class ConfidenceRegularisation(ClaimOnly):
    """Cross-entropy against the scaled probabilities of a teacher trained on the same pairs without debiasing."""

    title = "confidence regularisation"
    limits = "It flattens a teacher's probabilities if the claim alone reveals the label, but sees no other shortcut."
    citation = """@inproceedings{utama2020mind,
  title = {Mind the Trade-off: Debiasing {NLU} Models without Degrading the In-distribution Performance},
  author = {Utama, Prasetya Ajie and Moosavi, Nafise Sadat and Gurevych, Iryna},
  booktitle = {Proceedings of ACL},
  year = {2020}
}"""
    name = "confidence"

    def prepare(self, data: LabelledTexts, backbone: Backbone, seed: int) -> None:
        """Train the claim-only classifiers and the teacher."""
        super().prepare(data, backbone, seed)
        read = pairs(data.examples["train"])
        labels = [int(example.label) for example in data.examples["train"]]
        teacher = fine_tuned(backbone, read, labels, data.task.labels, self.tuning, seed)
        self.log_teacher = torch.from_numpy(log_probabilities(teacher, data.task.labels, read))

    def loss(self, outputs: Tensor, batch: LabelledBatch) -> Tensor:
        """Return the loss on a batch."""
        weights = bias_weights(self.bias_of(batch.positions), batch.labels)
        log_teacher = self.log_teacher[batch.positions.cpu()].to(outputs.device)
        return confidence_regularised(outputs, log_teacher, weights)


def confidence_regularised(outputs: Tensor, log_teacher: Tensor, weights: Tensor) -> Tensor:
    """Return the mean cross-entropy over a batch, with scaled teacher probabilities as targets.

    The loss of an example is -sum_l s_l log softmax(z)_l. Its target s is the teacher's probabilities to the power w,
    renormalised.

    Args:
        outputs: Logits z of the classifier, (B, L).
        log_teacher: Logarithms of the teacher's probabilities, (B, L).
        weights: Exponents w = 1 - b(y), (B,); 0 makes the target uniform, 1 keeps the teacher's probabilities.
    """
    target = (weights[:, None] * log_teacher).softmax(dim=1)
    return -(target * outputs.log_softmax(dim=1)).sum(dim=1).mean()
