"""Whether a model's numbers can mean anything: looked at before the first of them is taken.

A broken model must never look fair. One that embeds every text alike has no gap between any two groups.
"""

from __future__ import annotations

import math
import random
from dataclasses import dataclass
from itertools import combinations

import torch
from torch import Tensor

from fairlab.backbones.backbone import Backbone
from fairlab.backbones.likelihood import likelihood
from fairlab.backbones.masked_lm import MaskedLM
from fairlab.types import CannotScore

# Plain sentences of common words, which any tokenizer knows in part and any language model finds likely.
SENTENCES = (
    "The children went to school in the morning.",
    "She opened the door and looked into the room.",
    "He said that he would be back before the end of the week.",
    "There was a small house on the other side of the river.",
    "The president of the United States was born in New York.",
    "I do not know what you want me to do about it.",
)
MOST_UNKNOWN = 0.5  # share of tokens
LEAST_DISTANCE = 1e-6  # of two embeddings, in lengths of the longer one; arithmetic in float32 errs by a tenth of it
LEAST_LEARNED = 0.1  # by which share the loss of a language model must lie below that of a uniform guess


@dataclass(frozen=True)
class Validity:
    """What was found.

    Attributes:
        reason: why no number of the model may be taken; empty where there is none.
        note: what must stand at every number of it; empty where there is nothing.
    """

    reason: str = ""
    note: str = ""


def validity(backbone: Backbone) -> Validity:
    """Look at weights, tokenizer, embeddings, and the language model where there is one; in this order.

    Weights that are not finite, a tokenizer of another model and texts that cannot be told apart are a reason. A
    language model that is no better than chance is a note: its numbers are those of chance, which may be wanted as a
    baseline, and what is pretrained from random weights is measured before and after.
    """
    reason = _weights(backbone) or _vocabulary(backbone) or _unknown(backbone) or _embeddings(backbone)
    return Validity(reason) if reason else Validity(note=_chance(backbone))


def _weights(backbone: Backbone) -> str:
    for name, parameter in backbone.named_parameters():
        if parameter.is_floating_point() and not bool(torch.isfinite(parameter).all()):
            return f"the weights {name} hold values that are not finite; the model is damaged or its training diverged"
    return ""


def _vocabulary(backbone: Backbone) -> str:
    rows, highest = len(_word_embeddings(backbone)), max(backbone.tokenizer.get_vocab().values(), default=-1)
    if highest >= rows:
        return f"the tokenizer gives token {highest} to a model of {rows} tokens; take the tokenizer of the model"
    return ""


def _word_embeddings(backbone: Backbone) -> Tensor:
    return backbone.model.get_input_embeddings().weight  # type: ignore[union-attr,return-value]


def _unknown(backbone: Backbone) -> str:
    tokenizer = backbone.tokenizer
    special = set(tokenizer.all_special_ids) - {tokenizer.unk_token_id}
    ids = [token for text in backbone.tokenize(SENTENCES) for token in text if token not in special]
    unknown = sum(token == tokenizer.unk_token_id for token in ids)
    if not ids or unknown > MOST_UNKNOWN * len(ids):
        share = "all" if not ids else f"{unknown} of {len(ids)}"
        return (
            f"{share} tokens of plain English are unknown to the tokenizer, which has {len(tokenizer):,}; is its file "
            "(tokenizer.json) missing from the model's folder?"
        )
    return ""


def _embeddings(backbone: Backbone) -> str:
    if backbone.model.config.is_encoder_decoder:  # made to rewrite, not to embed
        return ""
    embeddings = backbone.embed(SENTENCES)
    if not bool(torch.isfinite(embeddings).all()):
        return "embeddings of plain sentences are not finite; the model is damaged or its dtype too narrow"
    least = LEAST_DISTANCE * float(embeddings.norm(dim=1).max())
    for first, second in combinations(range(len(SENTENCES)), 2):
        if float((embeddings[first] - embeddings[second]).norm()) <= least:
            return f"'{SENTENCES[first]}' and '{SENTENCES[second]}' have the same embedding; every gap would be 0"
    return ""


def _chance(backbone: Backbone) -> str:
    """What stands at the numbers of a language model that knows no language; empty for all others."""
    try:
        scorer = likelihood(backbone)
    except CannotScore:
        return ""
    rng = random.Random(0)
    shuffled = [" ".join(rng.sample(text.split(), len(text.split()))) for text in SENTENCES]
    texts = [*SENTENCES, *shuffled]
    if isinstance(scorer, MaskedLM):
        found = scorer.pseudo_log_likelihoods(scorer.tokenize(texts))
    else:
        found = scorer.log_likelihoods(texts)
    half = len(SENTENCES)
    loss = -found.sums[:half].sum() / max(1, found.counts[:half].sum())
    loss_shuffled = -found.sums[half:].sum() / max(1, found.counts[half:].sum())
    guess = math.log(len(_word_embeddings(backbone)))
    if loss < (1 - LEAST_LEARNED) * guess and loss < loss_shuffled:
        return ""
    return (
        f"random or untrained weights: as a language model it is no better than chance (loss {loss:.2f} nats a token "
        f"on plain sentences, {loss_shuffled:.2f} with their words shuffled, {guess:.2f} by guessing)"
    )
