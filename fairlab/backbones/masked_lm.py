"""The masked-language-model head of a backbone: giving it one, and calling it on chosen positions alone."""

from __future__ import annotations

from torch import Tensor, nn
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
    model.pooler = None
    setattr(masked_lm, masked_lm.base_model_prefix, model)
    masked_lm.tie_weights()
    return masked_lm.to(model.device, model.dtype).train(model.training)


def vocabulary_logits(model: PreTrainedModel, hidden: Tensor) -> Tensor:
    """Logits (..., V) of a masked LM's head on last hidden states (..., D), of any positions."""
    head: nn.Module
    match model.config.model_type:
        case "bert":
            head = model.cls
        case "roberta":
            head = model.lm_head
        case _:
            hidden = model.vocab_layer_norm(model.activation(model.vocab_transform(hidden)))
            head = model.vocab_projector
    return head(hidden)
