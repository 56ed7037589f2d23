"""ADEPT-F: finetuning that moves the neutral words of an encoder equally close to all attributes.

Source: Yang et al. 2023, "ADEPT: A DEbiasing PrompT Framework", the variant that finetunes the encoder instead of a
prompt, and the authors' code (EmpathYang/ADEPT).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

from fairlab.backbones.backbone import Backbone
from fairlab.losses.adept import divergence_loss, scaled_bandwidth
from fairlab.methods.prototypes import PrototypeDebiasing, Switches
from fairlab.types import Count, NotNegative, Positive


@dataclass(frozen=True)
class ADEPTSwitches(Switches):
    """Settings that differ between versions of ADEPT: the switches shared with DPCE, and the bandwidth.

    Attributes:
        rho: Bandwidth of the kernel, in units of the distance between hidden states (all layers concatenated).
    """

    rho: float


MODES = {
    # rho of the authors' script; divergence of hidden states, which their code enables with a flag
    "paper": ADEPTSwitches(shifted=False, pads_in_prototypes=False, pads_in_losses=False, drift="divergence", rho=15.0),
    # What the authors' code computes: the script's rho never reaches the function, whose own default is 10.
    "official": ADEPTSwitches(
        shifted=True, pads_in_prototypes=True, pads_in_losses=False, drift="all_positions", rho=10.0
    ),
    # Intended behaviour of the code: a word's own subwords, no padding, and the script's rho.
    "fixed": ADEPTSwitches(
        shifted=False, pads_in_prototypes=False, pads_in_losses=False, drift="mean_square", rho=15.0
    ),
}


class ADEPT(PrototypeDebiasing):
    """Method that aligns the attributes' distributions over the neutral words of a batch.

    The distributions are normalised over a batch. If the bias loss is accumulated over several small batches, the
    objective therefore differs from that of one large batch.

    Arguments other than ``rho`` are those of :class:`~fairlab.methods.prototypes.PrototypeDebiasing`.

    Args:
        rho: Bandwidth of the kernel, > 0, in units of the distance between hidden states (all layers concatenated).
            None uses the value of ``compat``, which is meant for BERT-large. ``scaled`` fits the bandwidth to the
            encoder on the first batch, see :func:`fairlab.losses.adept.scaled_bandwidth`.
    """

    title = "finetuning with the criterion of ADEPT (ADEPT-F)"
    citation = """@inproceedings{yang2023adept,
  title = {{ADEPT}: A {DEbiasing} {PrompT} Framework},
  author = {Yang, Ke and Yu, Charles and Fung, Yi R. and Li, Manling and Ji, Heng},
  booktitle = {Proceedings of AAAI},
  year = {2023}
}"""
    modes = MODES
    switches: ADEPTSwitches
    rho: Tensor

    def __init__(
        self,
        encoder: Backbone,
        *,
        compat: Literal["paper", "official", "fixed"],
        rho: Positive | Literal["scaled"] | None,
        alpha: NotNegative,
        beta: NotNegative,
        lr: Positive,
        dropout: bool,
        epochs: Count,
        validate_every: Count,
        seed: int,
    ) -> None:
        super().__init__(
            encoder,
            compat=compat,
            alpha=alpha,
            beta=beta,
            lr=lr,
            dropout=dropout,
            epochs=epochs,
            validate_every=validate_every,
            seed=seed,
        )
        if rho is None:
            rho = self.switches.rho
        scaled = isinstance(rho, str)
        self.register_buffer("rho", torch.tensor(float("nan") if scaled else rho), persistent=scaled)

    def bias_loss(self, neutral_BLD: Tensor) -> Tensor:
        """Return the divergence of the attributes' distributions, see :func:`fairlab.losses.adept.divergence_loss`."""
        prototypes_AF, neutral_BF = self.prototypes.flatten(1), neutral_BLD.flatten(1)
        if self.rho.isnan() and (found := scaled_bandwidth(prototypes_AF.detach(), neutral_BF.detach())) > 0:
            self.rho.fill_(found)
        # With a single word, or if all words are equally near, the loss is 0 at any bandwidth.
        return divergence_loss(prototypes_AF, neutral_BF, self.rho.nan_to_num(nan=1.0))

    def facts(self) -> dict[str, object]:
        """Return the facts about the trained model that the record holds in addition to the configuration."""
        return super().facts() | {"rho": float(self.rho)}
