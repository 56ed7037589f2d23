"""Greedy continuations of contexts, written by a causal LM up to a number of characters."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from inspect import signature

import torch
from torch import Tensor
from transformers import DynamicCache

from fairlab.backbones.backbone import RAISE_LENGTH, TOKENS_PER_BATCH, Backbone, batches_by_tokens, body
from fairlab.backbones.causal_lm import CausalLM
from fairlab.backbones.scoring import apply_head
from fairlab.checks.progress import with_progress
from fairlab.types import CannotScore

UNFINISHED = "\N{REPLACEMENT CHARACTER}"  # decoded form of an incomplete character


def continuations(
    scorer: CausalLM, contexts: Sequence[str], *, characters: int, budget: int = TOKENS_PER_BATCH, progress: str = ""
) -> list[str]:
    """Return the first characters that a model writes after each context, in input order.

    Decoding is greedy: each step takes the most likely token. The model sees the context after its start token, as when
    it scores a text. Contexts of similar length share a batch, with masked padding at their start and cached keys and
    values, and leave the batch when they have enough characters. A continuation is shorter, and may be empty, if the
    model ends the text, or if the maximum length or the limit of four tokens per character is reached.

    Args:
        scorer: Scorer of the causal LM that writes; its ``cut`` counts the contexts whose start was removed to make
            room.
        contexts: Any number of texts to continue; each distinct context is continued once.
        characters: Length of a continuation in characters, at least 1, including leading spaces.
        budget: Number of padded tokens per forward pass.
        progress: Title of a progress bar, shown on a terminal only.

    Raises:
        CannotScore: If the model's maximum length leaves no room for a context, assuming one token per character.
    """
    backbone = scorer.backbone
    room = backbone.max_length - 1 - characters
    if room < 1:
        raise CannotScore(
            f"{characters} characters leave no room for a context in max_length={backbone.max_length}; {RAISE_LENGTH}"
        )
    distinct = list(dict.fromkeys(contexts))
    encoded = backbone.tokenizer(distinct, add_special_tokens=False, verbose=False)["input_ids"] if distinct else []
    scorer.cut += sum(len(ids) > room for ids in encoded)
    prompts = [[scorer.start_id, *ids[-room:]] for ids in encoded]
    written: dict[str, str] = {}
    with backbone.measuring():
        for batch in with_progress(list(batches_by_tokens([len(ids) for ids in prompts], budget)), progress):
            texts = _write(scorer, [prompts[position] for position in batch], characters)
            written.update(zip((distinct[position] for position in batch), texts, strict=True))
    return [written[context] for context in contexts]


def _write(scorer: CausalLM, prompts: Sequence[list[int]], characters: int) -> list[str]:
    """Return the continuations of prompts, which are sorted by length in descending order."""
    backbone = scorer.backbone
    ends = {scorer.start_id, backbone.tokenizer.eos_token_id}
    given = [_decode(scorer, ids) for ids in prompts]
    texts = [""] * len(prompts)
    most = [len(ids) + min(4 * characters, backbone.max_length - len(ids)) for ids in prompts]
    written = [list(ids) for ids in prompts]

    def take(row: int, logits: Tensor) -> int | None:
        token = int(logits.argmax())
        if token in ends:
            return None
        written[row].append(token)
        # Decode context and continuation together: some tokenizers drop a space at the start of the decoded text.
        texts[row] = _decode(scorer, written[row])[len(given[row]) :]
        unfinished = len(texts[row].rstrip(UNFINISHED)) < characters and len(written[row]) < most[row]
        return token if unfinished else None

    continue_rows(backbone, prompts, scorer.start_id, take)
    return [text[:characters] for text in texts]


def continue_rows(
    backbone: Backbone, prompts: Sequence[list[int]], padding_id: int, take: Callable[[int, Tensor], int | None]
) -> None:
    """Continue prompts token by token, with cached keys and values, until every text has ended.

    Args:
        backbone: Causal LM that continues the prompts.
        prompts: Token ids of each prompt; shorter ones are padded at their start, with a mask.
        padding_id: Token id of the padding.
        take: Function that receives a prompt's position and the logits of its next token (V,), and returns the token to
            continue with, or None if the text has ended.
    """
    longest = max(map(len, prompts))
    rows = list(range(len(prompts)))
    cache = DynamicCache(config=backbone.model.config)
    feed = torch.tensor([[padding_id] * (longest - len(ids)) + ids for ids in prompts])
    mask = torch.tensor([[0] * (longest - len(ids)) + [1] * len(ids) for ids in prompts])
    while rows:
        logits = next_logits(backbone, feed, mask, cache)
        tokens = [take(row, of_row) for row, of_row in zip(rows, logits, strict=True)]
        going = [place for place, token in enumerate(tokens) if token is not None]
        if len(going) < len(rows):
            cache.batch_select_indices(torch.tensor(going, dtype=torch.long, device=backbone.device))
            rows, mask = [rows[place] for place in going], mask[going]
        feed = torch.tensor([[tokens[place]] for place in going])
        mask = torch.cat([mask, mask.new_ones(len(rows), 1)], dim=1)


def _decode(scorer: CausalLM, token_ids: list[int]) -> str:
    return str(scorer.backbone.tokenizer.decode(token_ids, skip_special_tokens=True))


def next_logits(backbone: Backbone, feed: Tensor, mask: Tensor, cache: DynamicCache) -> Tensor:
    """Return the logits of each row's next token (B, V), given the cache and the input tokens (B, T).

    The mask (B, S) is 1 at the row's cached tokens and input tokens, and 0 at padding.
    """
    model, device = backbone.model, backbone.device
    places = {}
    if "position_ids" in signature(body(model).forward).parameters:  # others use relative positions or the mask
        places["position_ids"] = (mask.cumsum(dim=1) - 1).clamp(min=0)[:, -feed.shape[1] :].to(device)
    output = body(model)(
        input_ids=feed.to(device), attention_mask=mask.to(device), past_key_values=cache, use_cache=True, **places
    )
    return apply_head(model, output, output.last_hidden_state[:, -1])
