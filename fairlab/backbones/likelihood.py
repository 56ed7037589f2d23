"""Selection of the likelihood scorer for a backbone."""

from __future__ import annotations

from fairlab.backbones.backbone import Backbone
from fairlab.backbones.causal_lm import CausalLM
from fairlab.backbones.masked_lm import MaskedLM
from fairlab.types import CannotScore


def likelihood(backbone: Backbone) -> MaskedLM | CausalLM:
    """Return the scorer for the backbone's language-modelling head.

    Raises:
        CannotScore: If the backbone has no language-modelling head.
    """
    for scorer in (MaskedLM, CausalLM):
        try:
            return scorer(backbone)
        except CannotScore:
            continue
    name = type(backbone.model).__name__
    raise CannotScore(f"{name} has no language-modelling head; take a checkpoint saved with one")
