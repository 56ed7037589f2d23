"""Estimated memory that a device needs to train a model."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from fairlab.run.planning.sizes import ModelSize

if TYPE_CHECKING:  # torch is imported lazily so that --help is fast
    from fairlab.backbones.blocks import Recomputation

Numbers = Literal["float32", "bfloat16", "autocast"]

# Bytes that a layer keeps per token for each dimension of its width and of its feed-forward part, without and with a
# gate there. Counted in transformers' BERT and Llama from what autograd saves.
KEPT: dict[tuple[Numbers, bool], tuple[int, int]] = {
    ("float32", False): (32, 8),
    ("bfloat16", False): (16, 4),
    ("autocast", False): (24, 4),
    ("float32", True): (40, 16),
    ("bfloat16", True): (24, 8),
    ("autocast", True): (34, 8),
}


@dataclass(frozen=True)
class Memory:
    """Bytes on one device, excluding the memory of the libraries.

    Attributes:
        weights, gradients, optimiser: This device's share of weights, gradients and optimizer state.
        activations: Values kept for the backward pass.
        gathered: Whole weights and gradients of the parts of a sharded model that are in use at the same time; 0 if the
            model is not sharded.
    """

    weights: int
    gradients: int
    optimiser: int
    activations: int
    gathered: int

    @property
    def total(self) -> int:
        """Return the sum of all parts, which are in memory together at the end of a forward pass."""
        return self.weights + self.gradients + self.optimiser + self.activations + self.gathered


def training_memory(
    size: ModelSize,
    *,
    texts: int,
    length: int,
    trained: int,
    weight_bytes: float = 4,
    numbers: Numbers = "float32",
    dropout: bool = True,
    logits: float = 0.0,
    recompute: Recomputation = "none",
    shards: int = 1,
) -> Memory:
    """Estimate the memory for weights, gradients, Adam's two moments, and values kept for the backward pass.

    Weights are stored once in their number format. Gradients and both moments are float32 and take 4 and 8 bytes per
    trained parameter (Rajbhandari et al. 2020, "ZeRO", section 3.1). Unlike in that paper, there are no half-precision
    copies, because mixed precision in fairlab keeps weights in float32.

    With a sharded model, each process stores its share of weights, gradients and moments. The parameters outside the
    blocks, such as the embeddings, are gathered for the whole step. Blocks are gathered two at a time: the current one
    and the next. Their whole gradients are kept until they have been summed over the processes ("stage 3" in that
    paper).

    Activations follow Korthikanti et al. 2022, "Reducing Activation Recomputation in Large Transformer Models", section
    4.1, with h dimensions, and f dimensions inside the feed-forward part. A layer keeps 8 h + 2 f values per token: the
    input of the three projections, q, k, v, the attention's output, the feed-forward part's input, both sides of its
    activation function, and the inputs of two layer norms; for f = 4 h these are the 32 s b h bytes of equation 1 at 2
    bytes per value. A gate in the feed-forward part and norms in float32 add further values. Autocast also keeps the
    sums before the norms in float32, a copy of the input for each projection, and a copy of the weights. Dropout adds
    two masks of one byte per value. The matrices of attention (5 a s^2 b in equation 1) are excluded: torch's fused
    attention recomputes them in the backward pass.

    Args:
        size: Size of the model.
        texts: Number of texts that a device processes at once.
        length: Tokens per text.
        trained: Number of trained parameters: all parameters, or only the adapters' parameters.
        weight_bytes: Bytes per weight; half a byte for 4-bit weights.
        numbers: Number format of the computation: the format of the weights, or ``autocast``, in which float32 weights
            are multiplied in bfloat16.
        dropout: Whether dropout is on.
        logits: Proportion of tokens with a loss over the vocabulary, for which logits, softmax and its gradient are
            kept in float32.
        recompute: Values that are recomputed one layer at a time. With ``full``, a layer keeps only its input of h
            values per token; with ``selective``, also the results of products and attention, 6 h + f values (6 h + 2 f
            with a gate).
        shards: Number of processes over which weights, gradients and moments are sharded.
    """
    tokens = texts * length
    of_width, of_inner = KEPT[numbers, size.gated]
    layer = of_width * size.width + of_inner * size.inner + (2 * size.width if dropout else 0)
    product_bytes = 4 if numbers == "float32" else 2
    inputs = size.width * (2 if numbers == "bfloat16" else 4)
    products = (6 * size.width + (2 if size.gated else 1) * size.inner) * product_bytes
    each = {"none": layer, "full": inputs, "selective": inputs + products}[recompute]
    kept = tokens * (size.layers * each + (0 if recompute == "none" else layer - (each - inputs)))
    kept += tokens * 3 * inputs  # sums of embeddings, layer norm and dropout
    kept += round(logits * tokens) * 3 * size.vocabulary * 4
    gathered = 0
    if numbers == "autocast" and shards == 1:
        kept += product_bytes * size.multiplied
    if shards > 1:
        block = size.multiplied / max(1, size.layers)
        at_work = size.embeddings + 2 * block
        share = trained / size.parameters
        gathered = round(at_work * min(weight_bytes, product_bytes) + 4 * share * (size.embeddings + block))
    weights = size.parameters * weight_bytes
    return Memory(round(weights / shards), 4 * trained // shards, 8 * trained // shards, kept, gathered)
