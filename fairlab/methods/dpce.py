"""DPCE: debiasing of contextualised embeddings by making neutral words orthogonal to attribute words.

Source: Kaneko and Bollegala 2021, "Debiasing Pre-trained Contextualised Embeddings", token level, all layers, and the
authors' code (kanekomasahiro/context-debias).
"""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor

from fairlab.losses.dpce import Form, orthogonality_loss
from fairlab.methods.prototypes import PrototypeDebiasing, Switches


@dataclass(frozen=True)
class DPCESwitches(Switches):
    """Settings that differ between versions of DPCE: the switches shared with ADEPT, and the form of the bias loss.

    Attributes:
        bias: Form of the bias loss, see :func:`fairlab.losses.dpce.orthogonality_loss`.
    """

    bias: Form


MODES = {
    # Equations 1 and 2 of the paper, per sentence.
    "paper": DPCESwitches(
        shifted=False, pads_in_prototypes=False, pads_in_losses=False, drift="squared_distance", bias="sum_of_squares"
    ),
    # What the authors' code computes.
    "official": DPCESwitches(
        shifted=True, pads_in_prototypes=True, pads_in_losses=True, drift="all_positions", bias="square_of_mean"
    ),
    # Intended behaviour of the code, at the same scale: a word's own subwords, no padding, and products that do not
    # cancel out.
    "fixed": DPCESwitches(
        shifted=False, pads_in_prototypes=False, pads_in_losses=False, drift="mean_square", bias="mean_of_squares"
    ),
}


class DPCE(PrototypeDebiasing):
    """Method that makes neutral words orthogonal to the prototypes of the attributes, layer by layer.

    Arguments are those of :class:`~fairlab.methods.prototypes.PrototypeDebiasing`.
    """

    title = "debiasing of contextualised embeddings (DPCE)"
    citation = """@inproceedings{kaneko2021debiasing,
  title = {Debiasing Pre-trained Contextualised Embeddings},
  author = {Kaneko, Masahiro and Bollegala, Danushka},
  booktitle = {Proceedings of EACL},
  year = {2021}
}"""
    modes = MODES
    switches: DPCESwitches

    def bias_loss(self, neutral_BLD: Tensor) -> Tensor:
        """Return the loss on inner products with the prototypes, see :func:`fairlab.losses.dpce.orthogonality_loss`."""
        return orthogonality_loss(neutral_BLD, self.prototypes, self.switches.bias)
