"""Greedy continuations of many contexts by a causal LM, up to a number of characters."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor
from transformers import DynamicCache

from fairlab.backbones.backbone import TOKENS_PER_BATCH, body, shown
from fairlab.backbones.causal_lm import CausalLM
from fairlab.backbones.scoring import apply_head, batches_of_one_length
from fairlab.types import CannotScore

UNFINISHED = "\N{REPLACEMENT CHARACTER}"  # what a tokenizer gives for the first bytes of a character


def continuations(
    scorer: CausalLM, contexts: Sequence[str], *, characters: int, budget: int = TOKENS_PER_BATCH, progress: str = ""
) -> list[str]:
    """The first characters a model writes after each context, in input order.

    Greedy: the likeliest token at each step. The model sees its start token, as where it scores a text, and the
    context. Contexts of one length go through it together, with their keys and values kept, and leave the batch as soon
    as they have enough characters; nothing is padded. A continuation is shorter, and may be empty, where the model ends
    the text, or where its length or four tokens a character have run out.

    Args:
        scorer: of the model; its ``cut`` counts the contexts that lost their start to leave room.
        contexts: any number; each distinct one is continued once.
        characters: of a continuation, at least 1, leading blanks included.
        budget: tokens per forward pass.
        progress: title of a progress bar, shown on a terminal only.

    Raises:
        CannotScore: the model's length leaves no room for a context, taking a token for a character.
    """
    backbone = scorer.backbone
    room = backbone.max_length - 1 - characters
    if room < 1:
        raise CannotScore(
            f"{characters} characters leave no room for a context in backbone.max_length={backbone.max_length}; raise "
            "that"
        )
    distinct = list(dict.fromkeys(contexts))
    encoded = backbone.tokenizer(distinct, add_special_tokens=False, verbose=False)["input_ids"] if distinct else []
    scorer.cut += sum(len(ids) > room for ids in encoded)
    prompts = [[scorer.start_id, *ids[-room:]] for ids in encoded]
    written: dict[str, str] = {}
    with backbone.measuring():
        for batch in shown(batches_of_one_length([len(ids) for ids in prompts], budget), progress):
            texts = _write(scorer, [prompts[position] for position in batch], characters)
            written.update(zip((distinct[position] for position in batch), texts, strict=True))
    return [written[context] for context in contexts]


def _write(scorer: CausalLM, prompts: Sequence[list[int]], characters: int) -> list[str]:
    """Continuations of prompts of one length."""
    backbone = scorer.backbone
    ends = {scorer.start_id, backbone.tokenizer.eos_token_id}
    given = [_decoded(scorer, ids) for ids in prompts]
    texts = [""] * len(prompts)
    rows, written = list(range(len(prompts))), [list(ids) for ids in prompts]
    cache = DynamicCache(config=backbone.model.config)
    feed = torch.tensor(prompts, device=backbone.device)
    for _ in range(min(4 * characters, backbone.max_length - len(prompts[0]))):
        going = []
        for place, token in enumerate(_next_tokens(scorer, feed, cache).tolist()):
            row = rows[place]
            if token in ends:
                continue
            written[row].append(token)
            # Of context and continuation together: some tokenizers drop a blank at the start of what they decode.
            texts[row] = _decoded(scorer, written[row])[len(given[row]) :]
            if len(texts[row].rstrip(UNFINISHED)) < characters:
                going.append(place)
        if not going:
            break
        if len(going) < len(rows):
            cache.batch_select_indices(torch.tensor(going, device=backbone.device))
            rows = [rows[place] for place in going]
        feed = torch.tensor([[written[row][-1]] for row in rows], device=backbone.device)
    return [text[:characters] for text in texts]


def _decoded(scorer: CausalLM, token_ids: list[int]) -> str:
    return str(scorer.backbone.tokenizer.decode(token_ids, skip_special_tokens=True))


def _next_tokens(scorer: CausalLM, feed: Tensor, cache: DynamicCache) -> Tensor:
    """The likeliest next token of each row (B,), given what the cache holds and the tokens fed (B, T)."""
    model = scorer.backbone.model
    output = body(model)(input_ids=feed, past_key_values=cache, use_cache=True)
    return apply_head(model, output, output.last_hidden_state[:, -1]).argmax(dim=-1)
