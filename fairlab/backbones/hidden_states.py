"""Hidden states of every layer, and of the words a text is read for.

Shape letters: B texts, T tokens, L layers (the embedding layer is the first), D width.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from fairlab.backbones.backbone import Backbone
from fairlab.types import FairlabError


def hidden_states(transformer: nn.Module, input_ids: Tensor, attention_mask: Tensor) -> Tensor:
    """Hidden states (B, T, L, D) of token ids (B, T), as float32."""
    states = transformer(input_ids=input_ids, attention_mask=attention_mask, output_hidden_states=True).hidden_states
    return torch.stack(states, dim=2).float()


def target_vectors(hidden_BTLD: Tensor, targets_BT: Tensor, *, shifted: bool) -> Tensor:
    """Mean hidden state (B, L, D) of each text's target, which may be several subwords.

    Args:
        hidden_BTLD: hidden states of every token in each of L layers.
        targets_BT: True at the target's tokens; at least one in every row.
        shifted: whether to read them as the official code of DPCE and ADEPT does. Where every target of the batch is
            one subword there is no difference. Else every state is taken from one position to the left, and the sum
            over a target's subwords is divided by the number of the longest target of the batch.
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
    """Freeze what embeddings do not reach: a masked LM's head, a pooler. Tied embeddings belong to the encoder.

    Args:
        encoder: the backbone.
        last_layers: number of layers that are trained, from the last one back; None trains all, and the embeddings.

    Raises:
        FairlabError: the encoder has fewer layers.
    """
    pooler = getattr(encoder.transformer, "pooler", None)
    unused = {id(parameter) for parameter in pooler.parameters()} if pooler is not None else set()
    parts = [encoder.transformer] if last_layers is None else _last(encoder, last_layers)
    trained = {id(parameter) for part in parts for parameter in part.parameters()} - unused
    for parameter in encoder.model.parameters():
        parameter.requires_grad_(id(parameter) in trained)


def _last(encoder: Backbone, number: int) -> list[nn.Module]:
    """The last layers of an encoder."""
    depth = int(encoder.transformer.config.num_hidden_layers)  # type: ignore[union-attr,arg-type]
    if not 1 <= number <= depth:
        raise FairlabError(f"method.last_layers must be from 1 to {depth}, the layers of this encoder, not {number}")
    stacks = [part for part in encoder.transformer.modules() if isinstance(part, nn.ModuleList) and len(part) == depth]
    if not stacks:
        raise FairlabError("this encoder's layers cannot be told apart; train all of it with method.last_layers=null")
    return list(stacks[0][-number:])
