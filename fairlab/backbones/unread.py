"""Weights in a model's file that its configuration does not use."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from transformers import PreTrainedModel

OF_LAYER = re.compile(r"(.*?\.)\d+\.")  # prefix of layer names, as in encoder.layer.0.
BUFFER = re.compile(r"(inv_freq|masked_bias|position_ids|(attn|attention)\.bias)$")  # in older files; not trained


def unread_weights(model: PreTrainedModel, unexpected: Iterable[str]) -> tuple[str, ...]:
    """Return the names of weights that belong in a model's layers but are not used by them.

    The result does not include heads that a body omits, or buffers of older files.
    """
    prefix = f"{model.base_model_prefix}."
    layers = {match[1] for name, _ in model.base_model.named_parameters() if (match := OF_LAYER.match(name))}
    found = ((name, OF_LAYER.match(name.removeprefix(prefix))) for name in unexpected if not BUFFER.search(name))
    return tuple(sorted(name for name, match in found if match and match[1] in layers))
