"""Hidden states of every layer, for all tokens or for the target words of a text.

Shape letters: B texts, T tokens, L layers (including the embedding layer, which is first), D width.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from fairlab.backbones.backbone import Backbone
from fairlab.types import FairlabError


def hidden_states(transformer: nn.Module, input_ids: Tensor, attention_mask: Tensor) -> Tensor:
    """Return hidden states (B, T, L, D) of token ids (B, T), as float32."""
    states = transformer(input_ids=input_ids, attention_mask=attention_mask, output_hidden_states=True).hidden_states
    return torch.stack(states, dim=2).float()


def target_vectors(hidden_BTLD: Tensor, targets_BT: Tensor, *, shifted: bool) -> Tensor:
    """Return the mean hidden state (B, L, D) of each text's target, which may have several subwords.

    Args:
        hidden_BTLD: Hidden states of every token in each of L layers.
        targets_BT: Mask that is True at the target's tokens, with at least one per row.
        shifted: Whether to read the states as the official code of DPCE and ADEPT does. If every target of the batch is
            one subword, the states are the same. Otherwise, every state is read one position to the left, and the sum
            over the subwords of a target is divided by the length of the longest target in the batch.
    """
    weights_BT = targets_BT.to(hidden_BTLD.dtype)
    counts_B1 = weights_BT.sum(dim=1, keepdim=True)
    longest = counts_B1.max()
    if shifted and longest > 1:
        weights_BT = nn.functional.pad(weights_BT[:, 1:], (0, 1)) / longest
    else:
        weights_BT = weights_BT / counts_B1
    return torch.einsum("bt,btld->bld", weights_BT, hidden_BTLD)


def train_only_the_encoder(encoder: Backbone, last_layers: int | None = None) -> None:
    """Freeze parameters that do not affect embeddings, such as a masked LM's head or a pooler.

    Tied embeddings stay trainable.

    Args:
        encoder: Backbone to train.
        last_layers: Number of layers to train, counted from the last, or None to train all layers and the embeddings.

    Raises:
        FairlabError: If the encoder has fewer than ``last_layers`` layers.
    """
    pooler = getattr(encoder.transformer, "pooler", None)
    unused = {id(parameter) for parameter in pooler.parameters()} if pooler is not None else set()
    parts = [encoder.transformer] if last_layers is None else _last(encoder, last_layers)
    trained = {id(parameter) for part in parts for parameter in part.parameters()} - unused
    for parameter in encoder.model.parameters():
        parameter.requires_grad_(id(parameter) in trained)


def _last(encoder: Backbone, number: int) -> list[nn.Module]:
    """Return the modules of the last ``number`` layers of an encoder."""
    depth = int(encoder.transformer.config.num_hidden_layers)  # type: ignore[union-attr,arg-type]
    if not 1 <= number <= depth:
        raise FairlabError(f"method.last_layers must be from 1 to {depth}, the layers of this encoder, not {number}")
    stacks = [part for part in encoder.transformer.modules() if isinstance(part, nn.ModuleList) and len(part) == depth]
    if not stacks:
        raise FairlabError("the layers of this encoder cannot be found; train all of it with method.last_layers=null")
    return list(stacks[0][-number:])
