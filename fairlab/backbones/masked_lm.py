"""The masked-language-model head of a backbone: giving it one, and calling it on chosen positions alone."""

from __future__ import annotations

from typing import Any

from torch import Tensor
from transformers import AutoModelForMaskedLM, PreTrainedModel

from fairlab.types import FairlabError

HEADS = ("bert", "distilbert", "roberta")


def with_head(model: PreTrainedModel) -> PreTrainedModel:
    """The model inside a masked LM: itself where it is one, else with a new, untrained head and without its pooler.

    The decoder of the new head is tied to the input embeddings.

    Raises:
        FairlabError: fairlab does not know this architecture's head.
    """
    if model.config.model_type not in HEADS:
        raise FairlabError(
            f"masked-language-model training knows the heads of {', '.join(HEADS)}, not of {model.config.model_type}; "
            "choose another backbone"
        )
    if model.get_output_embeddings() is not None:
        return model
    masked_lm = AutoModelForMaskedLM.from_config(model.config)
    model.register_module("pooler", None)
    setattr(masked_lm, masked_lm.base_model_prefix, model)
    masked_lm.tie_weights()
    return masked_lm.to(model.device, model.dtype).train(model.training)


def vocabulary_logits(model: PreTrainedModel, hidden: Tensor) -> Tensor:
    """Logits (..., V) of a masked LM's head on last hidden states (..., D), of any positions."""
    parts: Any = model  # the names of a head's parts differ between architectures
    match model.config.model_type:
        case "bert":
            return parts.cls(hidden)
        case "roberta":
            return parts.lm_head(hidden)
        case _:
            hidden = parts.vocab_layer_norm(parts.activation(parts.vocab_transform(hidden)))
            return parts.vocab_projector(hidden)
