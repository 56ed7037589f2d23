"""Small encoder-decoder initialised with the word embeddings of a pretrained encoder and with a copying mechanism.

Shape letters: V vocabulary, W dimensions of a word's embedding, T positions.
"""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor, nn
from transformers import AutoModel, AutoTokenizer, BartConfig, BartForConditionalGeneration, PreTrainedTokenizerBase

from fairlab.backbones.backbone import Backbone
from fairlab.backbones.loading import find_weights, held_weights, refuse_other_weights
from fairlab.backbones.trust import is_safe
from fairlab.types import FairlabError

HEAD = 64  # dimensions of an attention head
# Initial contents of the dimensions of a state.
WORD, PLACE, CONTEXT = slice(0, 2 * HEAD), slice(2 * HEAD, 3 * HEAD), slice(3 * HEAD, 4 * HEAD)
WIDTH = 4 * HEAD
LONGEST = 2 * HEAD  # number of distinguishable positions
REACH = 3  # tokens of context
SHARPNESS = 1.0  # factor of the search for an equal context
COPIED = 3.0  # weight of the word that is found, relative to the latest input token


def new_seq2seq(
    name: str,
    *,
    layers: int,
    max_length: int,
    seed: int,
    package: str | None = None,
    weights_sha256: str | None = None,
    stands_for: str | None = None,
) -> Backbone:
    """Return an untrained BART model with an encoder's tokenizer and the principal components of its embeddings.

    Most of a rewrite is copied, but training on few pairs would not teach a model to copy. The first layers are
    therefore initialised to copy. In the encoder, three heads of the first layer write the preceding tokens into each
    token's context. In the decoder, three heads do the same up to the previous token, and two cross-attention heads
    search for an equal context and return the word at its position. All of these weights are trained further; the other
    weights are small and random.

    Args:
        name: Folder in transformers format, or hub name, of the encoder whose tokenizer and embeddings are used.
        layers: Number of encoder layers, and of decoder layers.
        max_length: Maximum number of tokens in a text and in its rewrite, from 4 to 128.
        seed: Seed of the random weights.
        package: Installed Python package that contains the encoder.
        weights_sha256: Expected hash of the encoder's weights; a mismatch is an error.
        stands_for: Name of the model that is replaced by this model at quickstart scale, for the first line of a run's
            output; not used here.

    Raises:
        FairlabError: If the weights are unavailable or have another hash, or if a value is out of range.
    """
    if layers < 1 or not 4 <= max_length <= LONGEST:
        raise FairlabError(
            f"backbone.layers must be at least 1 and backbone.max_length in 4..{LONGEST}: {layers}, {max_length}"
        )
    folder = find_weights(name, package=package)
    refuse_other_weights(name, folder, weights_sha256, package)
    tokenizer = AutoTokenizer.from_pretrained(folder, trust_remote_code=False)
    tokenizer.model_max_length = max_length
    encoder = AutoModel.from_pretrained(folder, use_safetensors=is_safe(held_weights(folder)), trust_remote_code=False)
    words_VW = main_components(encoder.get_input_embeddings().weight.detach(), 2 * HEAD)
    config = _configuration(tokenizer, len(words_VW), layers, max_length)
    torch.manual_seed(seed)
    model = BartForConditionalGeneration(config).eval()
    with torch.no_grad():
        embeddings = model.get_input_embeddings().weight
        embeddings.zero_()
        embeddings[:, WORD] = words_VW
        begin_by_copying(model)
    return Backbone(model, tokenizer, pooling="mean", max_length=max_length, normalize=False)


def _configuration(tokenizer: PreTrainedTokenizerBase, words: int, layers: int, max_length: int) -> BartConfig:
    return BartConfig(
        vocab_size=words,
        d_model=WIDTH,
        encoder_layers=layers,
        decoder_layers=layers,
        encoder_attention_heads=WIDTH // HEAD,
        decoder_attention_heads=WIDTH // HEAD,
        encoder_ffn_dim=4 * WIDTH,
        decoder_ffn_dim=4 * WIDTH,
        max_position_embeddings=max_length,
        pad_token_id=tokenizer.pad_token_id,
        bos_token_id=tokenizer.cls_token_id,
        eos_token_id=tokenizer.sep_token_id,
        decoder_start_token_id=tokenizer.sep_token_id,
        forced_eos_token_id=None,
    )


def main_components(embeddings: Tensor, width: int) -> Tensor:
    """Return the first ``width`` principal components of embeddings (V, D), scaled to unit length, (V, width)."""
    centred = embeddings - embeddings.mean(dim=0)
    _, vectors = torch.linalg.eigh(centred.T @ centred)
    return nn.functional.normalize(centred @ vectors[:, -width:].flip(1), dim=1)


def place_vectors(count: int) -> Tensor:
    """Return a unit vector for each position, (count, HEAD).

    Up to 64 consecutive positions have orthogonal vectors; two positions that are 64 apart have opposite vectors.
    """
    angles_TF = torch.arange(count)[:, None] * _frequencies()
    return torch.cat([angles_TF.sin(), angles_TF.cos()], dim=1) / math.sqrt(HEAD / 2)


def _frequencies() -> Tensor:
    return math.pi * (torch.arange(HEAD // 2) + 0.5) / (HEAD / 2)


def _rotation(steps: int) -> Tensor:
    """Return the rotation (HEAD, HEAD) from every position's vector to the vector ``steps`` positions before."""
    cos, sin = (torch.diag(turn(steps * _frequencies())) for turn in (torch.cos, torch.sin))
    return torch.cat([torch.cat([cos, -sin], dim=1), torch.cat([sin, cos], dim=1)])


def begin_by_copying(model: BartForConditionalGeneration) -> None:
    """Initialise a new model so that it copies; see :func:`new_seq2seq`."""
    encoder, decoder = model.model.encoder, model.model.decoder
    for side in (encoder, decoder):
        table = side.embed_positions.weight  # BART does not use the first two rows
        table.zero_()
        table[2:, PLACE] = place_vectors(len(table) - 2)
    # One rotation per context position, so that their sum encodes the position of each token.
    mixes = [nn.init.orthogonal_(torch.empty(HEAD, HEAD)) for _ in range(REACH)]
    for head, mix in enumerate(mixes):
        _look_back(encoder.layers[0].self_attn, head, head + 1, mix)
        _look_back(decoder.layers[0].self_attn, head, head, mix)
    attention = decoder.layers[0].encoder_attn
    for head in range(2):
        rows = slice(head * HEAD, (head + 1) * HEAD)
        for projection in (attention.q_proj, attention.k_proj):
            projection.weight[rows] = 0
            projection.weight[rows, CONTEXT] = SHARPNESS * torch.eye(HEAD)
        attention.v_proj.weight[rows] = 0
        attention.v_proj.weight[rows, rows] = torch.eye(HEAD)
        attention.out_proj.weight[:, rows] = 0
        attention.out_proj.weight[rows, rows] = COPIED * torch.eye(HEAD)


def _look_back(attention: Any, head: int, steps: int, mix: Tensor) -> None:
    """Set an attention head to write the first components of the token ``steps`` positions back into the context.

    The components are rotated by ``mix``.
    """
    rows = slice(head * HEAD, (head + 1) * HEAD)
    for projection in (attention.q_proj, attention.k_proj, attention.v_proj):
        projection.weight[rows] = 0
    attention.q_proj.weight[rows, PLACE] = _rotation(steps)
    attention.k_proj.weight[rows, PLACE] = torch.eye(HEAD)
    attention.v_proj.weight[rows, :HEAD] = torch.eye(HEAD)
    attention.out_proj.weight[:, rows] = 0
    attention.out_proj.weight[CONTEXT, rows] = mix
