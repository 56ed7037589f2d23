"""CLEVER: subtraction of claim-only outputs from the outputs for claim and evidence at inference.

Source: Xu et al. 2023, "Counterfactual Debiasing for Fact Verification", section 3. The available parts of the paper
specify neither the scale nor the space of the subtraction, so both are settings.
"""

from __future__ import annotations

from typing import Literal

from fairlab.backbones.backbone import Backbone
from fairlab.backbones.subtraction import subtract
from fairlab.data.labelled_tasks import LabelledTexts
from fairlab.methods.debiasing.base import Debiasing
from fairlab.methods.debiasing.bias_model import Tuning, fine_tuned
from fairlab.types import Count, NotNegative, Positive


class Clever(Debiasing):
    """Debiasing strategy that subtracts a claim-only classifier's outputs from a plain classifier's outputs.

    The exported model contains both classifiers. The weights are selected by the plain classifier's metric, because the
    subtraction begins only after training.

    Args:
        epochs: Number of passes of the claim-only classifier over the claims.
        lr: Peak learning rate of the claim-only classifier.
        batch_size: Batch size of the claim-only classifier.
        scale: Factor applied to the subtracted outputs, >= 0.
        space: Kind of outputs to subtract: ``logits`` or ``probabilities``.
    """

    title = "counterfactual inference (CLEVER)"
    limits = "Only predictions from the claim alone are subtracted; shortcuts that need both claim and evidence remain."
    citation = """@inproceedings{xu2023counterfactual,
  title = {Counterfactual Debiasing for Fact Verification},
  author = {Xu, Weizhi and Liu, Qiang and Wu, Shu and Wang, Liang},
  booktitle = {Proceedings of ACL},
  year = {2023}
}"""
    name = "clever"

    def __init__(
        self,
        *,
        epochs: Count,
        lr: Positive,
        batch_size: Count,
        scale: NotNegative,
        space: Literal["logits", "probabilities"],
    ) -> None:
        self.tuning = Tuning(epochs, lr, batch_size)
        self.scale = scale
        self.space = space

    def prepare(self, data: LabelledTexts, backbone: Backbone, seed: int) -> None:
        """Train the claim-only classifier on all claims."""
        claims = [(claim, None) for claim in self.second_texts(data)]
        labels = [int(example.label) for example in data.examples["train"]]
        self.claim_only = fine_tuned(backbone, claims, labels, data.task.labels, self.tuning, seed)

    def finish(self, backbone: Backbone) -> None:
        """Make the backbone subtract the claim-only classifier's outputs from its own."""
        subtract(backbone, self.claim_only.model, scale=self.scale, space=self.space)
