"""Memory that a device needs to train a model, by formula."""

from __future__ import annotations

from dataclasses import dataclass

from fairlab.run.planning.sizes import ModelSize


@dataclass(frozen=True)
class Memory:
    """Bytes on one device, without what the libraries themselves take."""

    weights: int
    gradients: int
    optimiser: int
    activations: int

    @property
    def total(self) -> int:
        """All together, as they stand side by side at the end of a forward pass."""
        return self.weights + self.gradients + self.optimiser + self.activations


def training_memory(
    size: ModelSize,
    *,
    texts: int,
    length: int,
    trained: int,
    weight_bytes: float = 4,
    activation_bytes: int = 4,
    dropout: bool = True,
    logits: float = 0.0,
    checkpointing: bool = False,
) -> Memory:
    """Weights, gradients, Adam's two moments, and what the forward pass keeps for the backward pass.

    Weights are held once in their number format; gradients and both moments are float32, 4 and 8 bytes for each trained
    parameter (Rajbhandari et al. 2020, "ZeRO", section 3.1, without its half-precision copies, as mixed precision here
    keeps weights in float32).

    Activations follow Korthikanti et al. 2022, "Reducing Activation Recomputation in Large Transformer Models",
    section 4.1, with s tokens of b texts, h dimensions and f inside the feed-forward part. A layer keeps 8 h + 2 f
    values a token: the input of the three projections, q, k, v, the attention's output, the feed-forward part's input,
    both sides of its activation function, and the inputs of two layer norms; for f = 4 h these are the 32 s b h bytes
    of equation 1 at 2 bytes a value. Dropout adds two masks of one byte a value. The matrices of attention (5 a s^2 b
    in equation 1) are left out: torch's fused attention makes them again in the backward pass.

    Args:
        size: of the model.
        texts: number of texts that a device takes at once.
        length: tokens of a text.
        trained: number of trained parameters: all of them, or those of adapters.
        weight_bytes: bytes of a weight; half a byte for 4-bit weights.
        activation_bytes: bytes of a value that is kept; 2 with mixed precision.
        dropout: whether dropout is on.
        logits: share of the tokens with a loss over the vocabulary: their logits, softmax and its gradient in float32.
        checkpointing: whether only the layers' inputs are kept, and one layer's values at a time are made again.
    """
    tokens = texts * length
    per_token = (8 * size.width + 2 * size.inner) * activation_bytes + (2 * size.width if dropout else 0)
    inputs = size.width * activation_bytes
    kept = tokens * (size.layers * inputs + per_token if checkpointing else size.layers * per_token)
    kept += tokens * 3 * inputs  # sums of embeddings, their layer norm and its dropout
    kept += round(logits * tokens) * 3 * size.vocabulary * 4
    return Memory(round(size.parameters * weight_bytes), 4 * trained, 8 * trained, kept)
