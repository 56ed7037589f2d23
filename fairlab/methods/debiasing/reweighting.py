"""Example reweighting: an example counts less if the claim alone predicts its label.

Source: Utama et al. 2020, "Towards Debiasing NLU Models from Unknown Biases", section 3; Clark et al. 2019, "Don't Take
the Easy Way Out", section 3.2.
"""

from __future__ import annotations

from torch import Tensor

from fairlab.data.labelled_tasks import LabelledBatch
from fairlab.methods.debiasing.base import weighted_cross_entropy
from fairlab.methods.debiasing.claim_only import ClaimOnly


class ExampleReweighting(ClaimOnly):
    """Cross-entropy with example weights 1 - b(y), where b(y) is a claim-only classifier's probability of the label."""

    title = "example reweighting"
    limits = "Examples that a claim-only classifier gets right count less, whether or not their claim is a shortcut."
    citation = """@inproceedings{utama2020towards,
  title = {Towards Debiasing {NLU} Models from Unknown Biases},
  author = {Utama, Prasetya Ajie and Moosavi, Nafise Sadat and Gurevych, Iryna},
  booktitle = {Proceedings of EMNLP},
  year = {2020}
}"""
    name = "reweighting"

    def loss(self, outputs: Tensor, batch: LabelledBatch) -> Tensor:
        """Return the loss on a batch."""
        return weighted_cross_entropy(outputs, batch.labels, bias_weights(self.bias_of(batch.positions), batch.labels))

    def weight(self, batch: LabelledBatch) -> float:
        """Return the sum of the weights of a batch."""
        return float(bias_weights(self.bias_of(batch.positions), batch.labels).sum())


def bias_weights(log_bias: Tensor, labels: Tensor) -> Tensor:
    """Return example weights (B,): 1 minus the biased classifier's probability of the label.

    The weights are in [0, 1]. They are computed from log-probabilities (B, L) and labels (B,).
    """
    return 1 - log_bias.gather(1, labels[:, None]).squeeze(1).exp()
