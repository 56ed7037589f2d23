"""Dropout probabilities of an existing model."""

from __future__ import annotations

from torch import nn
from transformers import PreTrainedModel

from fairlab.types import FairlabError

OF_ATTENTION = ("attention.self.dropout", "attention.dropout", "attention.attention_dropout")  # module name endings


def set_dropout(model: PreTrainedModel, *, hidden: float, attention: float) -> None:
    """Set the probabilities of an encoder's dropout layers.

    The configuration, and therefore an export, stays unchanged.

    Args:
        model: Encoder, changed in place.
        hidden: Dropout probability of hidden states, in [0, 1).
        attention: Dropout probability of attention weights, in [0, 1).

    Raises:
        FairlabError: If a probability is out of range, or the attention of this architecture is unknown.
    """
    if not (0 <= hidden < 1 and 0 <= attention < 1):
        raise FairlabError(
            f"method.dropout.hidden and method.dropout.attention must be at least 0 and below 1: {hidden}, {attention}"
        )
    layers = {name: module for name, module in model.base_model.named_modules() if isinstance(module, nn.Dropout)}
    if not any(name.endswith(OF_ATTENTION) for name in layers):
        raise FairlabError(
            f"the dropout of {type(model).__name__} cannot be set by its layers' names; set method.dropout=null"
        )
    for name, module in layers.items():
        module.p = attention if name.endswith(OF_ATTENTION) else hidden
