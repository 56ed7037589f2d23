"""Suffixes of transformers' class names that identify the heads of a model."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from transformers import PreTrainedModel

MASKED_LM, CAUSAL_LM = "ForMaskedLM", ("ForCausalLM", "LMHeadModel")
CLASSIFIER = "ForSequenceClassification"
SEQ2SEQ = ("ForConditionalGeneration", "EncoderDecoderModel", "MarianMTModel")
TITLES = {
    (MASKED_LM,): "masked language model",
    ("ForPreTraining",): "masked language model, next sentence",
    CAUSAL_LM: "causal language model",
    SEQ2SEQ: "encoder-decoder language model",
    (CLASSIFIER,): "classifier",
}


def head_title(kind: str) -> str:
    """Return a description of the head of a transformers class, or ``none`` if it has no head."""
    return next((title for ends, title in TITLES.items() if kind.endswith(ends)), "none")


def head_class(model: PreTrainedModel) -> str:
    """Return the name of a model's class.

    A decoder-only model that also reads images gets the name of a causal LM.
    """
    name = type(model).__name__
    conditional, causal = SEQ2SEQ[0], CAUSAL_LM[0]
    return name if model.config.is_encoder_decoder else name.replace(conditional, causal)
