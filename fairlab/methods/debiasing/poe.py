"""Product of experts (PoE): training that makes the classifier learn what a claim-only classifier does not know.

Source: Karimi Mahabadi et al. 2020, "End-to-End Bias Mitigation by Modelling Biases in Corpora", section 3.2; Utama et
al. 2020, "Towards Debiasing NLU Models from Unknown Biases", for a fixed bias model that is trained in advance.
"""

from __future__ import annotations

from torch import Tensor, nn

from fairlab.data.labelled_tasks import LabelledBatch
from fairlab.methods.debiasing.claim_only import ClaimOnly


class ProductOfExperts(ClaimOnly):
    """Cross-entropy of the product of the classifier's and a claim-only classifier's probabilities.

    At inference, the classifier is used without the claim-only classifier.
    """

    title = "product of experts (PoE)"
    limits = "It removes the knowledge of a claim-only classifier, including true knowledge."
    citation = """@inproceedings{karimi2020end,
  title = {End-to-End Bias Mitigation by Modelling Biases in Corpora},
  author = {Karimi Mahabadi, Rabeeh and Belinkov, Yonatan and Henderson, James},
  booktitle = {Proceedings of ACL},
  year = {2020}
}"""
    name = "poe"

    def loss(self, outputs: Tensor, batch: LabelledBatch) -> Tensor:
        """Return the loss on a batch."""
        return product_of_experts(outputs, self.bias_of(batch.positions), batch.labels)


def product_of_experts(outputs: Tensor, log_bias: Tensor, labels: Tensor) -> Tensor:
    """Return the mean cross-entropy CE(log softmax(z) + log b, y) over a batch.

    Args:
        outputs: Logits z of the classifier, (B, L).
        log_bias: Log-probabilities log b of the biased classifier, (B, L).
        labels: Indices of the true labels y, (B,).
    """
    return nn.functional.cross_entropy(outputs.log_softmax(dim=1) + log_bias, labels)
