"""Selection of the likelihood scorer for a model."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fairlab.backbones.causal_lm import CausalLM
from fairlab.backbones.heads import CAUSAL_LM, head_class
from fairlab.backbones.masked_lm import MaskedLM
from fairlab.backbones.model_object import ModelObject
from fairlab.types import LIKELIHOODS, CannotScore

if TYPE_CHECKING:
    from fairlab.backbones.backbone import Backbone
    from fairlab.backbones.scoring import TextScorer


def likelihood(model: Backbone | ModelObject) -> MaskedLM | TextScorer:
    """Return the scorer for a backbone's language-modelling head, or a model object's own scorer.

    Raises:
        CannotScore: If the model has no scorer, or its head cannot score texts.
    """
    if isinstance(model, ModelObject):
        if model.scorer is None:
            raise CannotScore(f"{model.name} {model.lacks.get(LIKELIHOODS, 'gives no likelihoods')}")
        return model.scorer
    for scorer in (MaskedLM, CausalLM):
        try:
            return scorer(model)
        except CannotScore:
            if scorer is CausalLM and head_class(model.model).endswith(CAUSAL_LM):
                raise  # the error of its head is more specific
    name = type(model.model).__name__
    raise CannotScore(f"{name} has no language-modelling head; take a checkpoint saved with one")
