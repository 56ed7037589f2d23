"""Counterfactual logit pairing (CLP): training that keeps the logits of a text and its counterfactual close.

Source: Garg et al. 2019, "Counterfactual Fairness in Text Classification through Robustness", section 4.3.
Shape letters: B examples, L labels.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Literal

import torch
from torch import Tensor, nn

from fairlab.augmentation.perturbation import Perturbation
from fairlab.backbones.backbone import Backbone
from fairlab.backbones.classification import encode
from fairlab.data.labelled_tasks import LabelledBatch, LabelledTexts, padded, pairs
from fairlab.data.stream.choices import perturb_examples
from fairlab.methods.debiasing.base import Debiasing
from fairlab.types import FairlabError, NotNegative


class LogitPairing(Debiasing):
    """Task loss plus a penalty on the distance between the logits of a text and its counterfactual.

    In the counterfactual of a training example, one person is rewritten to another attribute, as in fairtuning. Each
    counterfactual is drawn once. The penalty does not use its label.

    Args:
        factor: Weight of the penalty, lambda in the paper.
        axes: Axes along which people are rewritten: names of lexicons, or paths of lexicon files.
        mode: Method of finding people, ``syntax`` or ``lexical``; see
            :class:`fairlab.augmentation.perturbation.Perturbation`.

    Attributes:
        pair_of: Index of each training example's counterfactual among the encoded counterfactuals, (N,); -1 if it has
            none.
    """

    title = "counterfactual logit pairing (CLP)"
    limits = "It removes the influence of people on the label even if the label depends on the person."
    citation = """@inproceedings{garg2019counterfactual,
  title = {Counterfactual Fairness in Text Classification through Robustness},
  author = {Garg, Sahaj and Perot, Vincent and Limtiaco, Nicole and Taly, Ankur and Chi, Ed H. and Beutel, Alex},
  booktitle = {Proceedings of the AAAI/ACM Conference on AI, Ethics, and Society},
  year = {2019}
}"""
    name = "logit_pairing"

    def __init__(self, *, factor: NotNegative, axes: Sequence[str], mode: Literal["syntax", "lexical"]) -> None:
        self.factor = factor
        self.axes = list(axes)
        self.mode: Literal["syntax", "lexical"] = mode

    def prepare(self, data: LabelledTexts, backbone: Backbone, seed: int) -> None:
        """Make and encode the counterfactuals of the training examples.

        Raises:
            FairlabError: The task has answer options, or no example mentions a person who can be rewritten along the
                axes.
        """
        if data.task.options:
            raise FairlabError(f"debiasing={self.name} works on texts or pairs, but {data.task.name} has answers")
        perturbation = Perturbation(axes=self.axes, sampling="uniform", mode=self.mode, seed=seed)
        made = perturb_examples(data.examples["train"], perturbation)
        if not made.changed:
            raise FairlabError(
                f"no training example names people whose {', '.join(self.axes)} the rules can change, so there is "
                "no pair to train on; give texts about people, or debiasing.axes"
            )
        self.pair_of = torch.full((len(made.examples),), -1)
        self.pair_of[made.changed] = torch.arange(len(made.changed))
        self.encoded = encode(backbone, pairs([made.examples[k] for k in made.changed]))
        self.padding = data.encoder.padding_id

    def loss(self, outputs: Tensor, batch: LabelledBatch) -> Tensor:
        """Return the cross-entropy or, for scores, the mean squared error."""
        return super().loss(outputs, batch) if outputs.ndim > 1 else nn.functional.mse_loss(outputs, batch.labels)

    def penalty(self, outputs: Tensor, batch: LabelledBatch, forward: Callable[[LabelledBatch], Tensor]) -> Tensor:
        """Return ``factor`` times the mean logit distance, which is 0 for examples without a counterfactual."""
        places = self.pair_of[batch.positions.cpu()]
        held = places >= 0
        if not held.any():
            return outputs.new_zeros(())
        device = batch.input_ids.device
        input_ids, mask, segments = padded(self.encoded, places[held].tolist(), self.padding)
        kept = held.to(device)
        others = replace(
            batch,
            input_ids=input_ids.to(device),
            attention_mask=mask.to(device),
            segments=None if segments is None else segments.to(device),
            labels=batch.labels[kept],
            positions=batch.positions[held.to(batch.positions.device)],
        )
        return self.factor * logit_distance(outputs[kept], forward(others)) * held.sum() / len(held)


def logit_distance(first: Tensor, second: Tensor) -> Tensor:
    """Return the absolute difference between logits, averaged over labels and examples.

    Args:
        first: Logits of the texts, (B, L), or scores (B,).
        second: Logits of their counterfactuals, of the same shape.

    Example:
        >>> logit_distance(torch.tensor([[1.0, -1.0]]), torch.tensor([[0.0, 2.0]])).item()
        2.0
    """
    return (first - second).abs().mean()
