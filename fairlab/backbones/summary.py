"""Description of a model in a few lines."""

from __future__ import annotations

from typing import Any

from fairlab.backbones.heads import head_class, head_title


def summary(backbone: Any) -> str:
    """Describe a backbone in lines: family, pooling, head, weights, attention, limit, chat template and check result.

    Example:
        >>> import fairlab
        >>> print(fairlab.load("minilm"))
        BertModel of the family bert
          pooling: mean, 384 numbers per text, scaled to length 1
          head: none
          weights: 22.7 million, float32, on cpu
          attention: sdpa
          limit: 128 tokens per text; longer texts are cut and counted
          chat template: none
          gate: not checked yet
    """
    model = backbone.model
    kind = type(model).__name__
    scaled = ", scaled to length 1" if backbone.normalize and backbone.published is None else ""
    count = sum(parameter.numel() for parameter in model.parameters())
    adapted = " with adapters" if any(".lora_" in name for name, _ in model.named_parameters()) else ""
    return "\n  ".join(
        [
            f"{kind} of the family {model.config.model_type}{adapted}",
            f"pooling: {backbone.pooling}, {backbone.width} numbers per text{scaled}",
            f"head: {head_title(head_class(model))}",
            f"weights: {count / 1e6:.1f} million, {str(model.dtype).removeprefix('torch.')}, on {backbone.device}",
            f"attention: {model.config._attn_implementation or 'of the model itself'}",
            f"limit: {backbone.max_length} tokens per text; longer texts are cut and counted",
            f"chat template: {'the tokenizer has one' if backbone.tokenizer.chat_template else 'none'}",
            f"gate: {backbone.gate}",
        ]
    )
