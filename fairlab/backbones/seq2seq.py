"""A small encoder-decoder that begins with the words of a pretrained encoder, and with copying.

Shape letters: V vocabulary, W dimensions of a word's embedding, T positions.
"""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor, nn
from transformers import AutoModel, AutoTokenizer, BartConfig, BartForConditionalGeneration, PreTrainedTokenizerBase

from fairlab.backbones.backbone import Backbone
from fairlab.backbones.loading import find_weights, held_weights
from fairlab.files import sha256
from fairlab.types import FairlabError

HEAD = 64  # dimensions of an attention head
# What the dimensions of a state hold at the start.
WORD, PLACE, CONTEXT = slice(0, 2 * HEAD), slice(2 * HEAD, 3 * HEAD), slice(3 * HEAD, 4 * HEAD)
WIDTH = 4 * HEAD
LONGEST = 2 * HEAD  # places that can be told apart
REACH = 3  # tokens of context
SHARPNESS = 1.0  # of the search for an equal context
COPIED = 3.0  # weight of the word that is found, beside the one just given


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
    """An untrained model of BART's architecture with the tokenizer of an encoder, and its words' main components.

    Training on few pairs would not teach it to copy, which most of rewriting is. So its first layers begin with it: in
    the encoder, three heads of the first layer write into each token's context which tokens stand before it; in the
    decoder, three heads do the same up to the token just given, and two heads of the attention to the encoder look for
    an equal context and hand on the word that stands there. All of this is trained on; the other weights are small and
    random.

    Args:
        name: folder in transformers format, or hub name, of the encoder whose tokenizer and words are used.
        layers: number of encoder layers, and of decoder layers.
        max_length: number of tokens of a text and of its rewriting at most, 4 to 128.
        seed: seed of the random weights.
        package: installed Python package that carries the encoder.
        weights_sha256: expected hash of the encoder's weights; a mismatch is an error.
        stands_for: the model this one stands in for at quickstart scale, for the run's first line; not used here.

    Raises:
        FairlabError: the weights cannot be had or have another hash, or a value is out of range.
    """
    if layers < 1 or not 4 <= max_length <= LONGEST:
        raise FairlabError(
            f"backbone.layers must be at least 1 and backbone.max_length lie in 4..{LONGEST}: {layers}, {max_length}"
        )
    folder = find_weights(name, package=package)
    if weights_sha256 and (found := sha256(*held_weights(folder))) != weights_sha256:
        raise FairlabError(f"the weights of {name} have SHA-256 {found}, not {weights_sha256}; reinstall {package}")
    tokenizer = AutoTokenizer.from_pretrained(folder)
    tokenizer.model_max_length = max_length
    words_VW = main_components(AutoModel.from_pretrained(folder).get_input_embeddings().weight.detach(), 2 * HEAD)
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
    """Embeddings (V, D) in their first ``width`` principal components, each scaled to unit length, (V, width)."""
    centred = embeddings - embeddings.mean(dim=0)
    _, vectors = torch.linalg.eigh(centred.T @ centred)
    return nn.functional.normalize(centred @ vectors[:, -width:].flip(1), dim=1)


def place_vectors(count: int) -> Tensor:
    """Vectors of unit length of places, (count, HEAD): orthogonal for up to 64 places, opposite for two 64 apart."""
    angles_TF = torch.arange(count)[:, None] * _frequencies()
    return torch.cat([angles_TF.sin(), angles_TF.cos()], dim=1) / math.sqrt(HEAD / 2)


def _frequencies() -> Tensor:
    return math.pi * (torch.arange(HEAD // 2) + 0.5) / (HEAD / 2)


def _moved(steps: int) -> Tensor:
    """The rotation (HEAD, HEAD) that takes every place's vector to that of the place so many before."""
    cos, sin = (torch.diag(turn(steps * _frequencies())) for turn in (torch.cos, torch.sin))
    return torch.cat([torch.cat([cos, -sin], dim=1), torch.cat([sin, cos], dim=1)])


def begin_by_copying(model: BartForConditionalGeneration) -> None:
    """Set the weights that make a fresh model copy; see :func:`new_seq2seq`."""
    encoder, decoder = model.model.encoder, model.model.decoder
    for side in (encoder, decoder):
        table = side.embed_positions.weight  # BART leaves the first two rows empty
        table.zero_()
        table[2:, PLACE] = place_vectors(len(table) - 2)
    # One rotation for each place of the context, so that their sum tells which token stood where.
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
    """Let a head read the words ``steps`` before, and write their rotated first components into the context."""
    rows = slice(head * HEAD, (head + 1) * HEAD)
    for projection in (attention.q_proj, attention.k_proj, attention.v_proj):
        projection.weight[rows] = 0
    attention.q_proj.weight[rows, PLACE] = _moved(steps)
    attention.k_proj.weight[rows, PLACE] = torch.eye(HEAD)
    attention.v_proj.weight[rows, :HEAD] = torch.eye(HEAD)
    attention.out_proj.weight[:, rows] = 0
    attention.out_proj.weight[CONTEXT, rows] = mix
