"""Check that a language model prefers sentences to shuffled words, and words in their own places to exchanged words."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator, Sequence

import numpy as np
import torch
from numpy.typing import NDArray

from fairlab.backbones.backbone import Backbone, pad
from fairlab.backbones.likelihood import likelihood
from fairlab.backbones.masked_lm import MaskedLM, MaskQuery
from fairlab.backbones.scoring import TextScorer
from fairlab.benchmarks.validity.finding import Finding, failed, not_judged
from fairlab.benchmarks.validity.texts import PLACES, SENTENCES
from fairlab.benchmarks.validity.tokens import word_embeddings
from fairlab.types import CannotScore

LEAST_LEARNED = 0.1  # minimum relative reduction of a language model's loss below the loss of a uniform guess
# share of words that are likelier in their own place: 0.5 at random, with a standard error of 0.1
CHANCE, SEPARATED = 0.7, 0.85

MOST_MASKS = 4  # maximum number of special tokens that are tried instead of the mask token
WORSE = 1.0  # nats per token; a trained mask token is better than every other token by more than this


def check_language(backbone: Backbone) -> Iterator[Finding]:
    """Yield a finding if a language model is barely better than chance. Models without an LM head are not checked."""
    if backbone.model.config.is_encoder_decoder:
        if backbone.published is None and backbone.model.get_output_embeddings() is not None:
            yield from _check_rewriting(backbone)
        return
    try:
        scorer = likelihood(backbone)
    except CannotScore:
        return
    yield from check_scorer(scorer, len(word_embeddings(backbone)))
    if isinstance(scorer, MaskedLM):
        yield from _check_mask(scorer)


def check_scorer(scorer: MaskedLM | TextScorer, vocabulary: int | None) -> Iterator[Finding]:
    """Yield a finding if a scorer of texts is barely better than chance.

    ``vocabulary`` is the number of tokens of the model, or None if it is unknown.
    """
    if text := _chance(scorer, vocabulary):
        yield failed(text)
        return
    share = _share_of_words(scorer)
    said = f"{share:.0%} of words are likelier in their place than in another's, 50% by chance"
    if share <= CHANCE:
        yield failed(f"as a language model it hardly reads the context: {said}")
    elif share < SEPARATED:
        yield not_judged(f"as a language model it is weak: {said}")


def _chance(scorer: MaskedLM | TextScorer, vocabulary: int | None) -> str:
    shuffler = random.Random(0)
    shuffled = [" ".join(shuffler.sample(text.split(), len(text.split()))) for text in SENTENCES]
    texts = [*SENTENCES, *shuffled]
    if isinstance(scorer, MaskedLM):
        found = scorer.pseudo_log_likelihoods(scorer.tokenize(texts))
    else:
        found = scorer.log_likelihoods(texts)
    half = len(SENTENCES)
    loss = -found.sums[:half].sum() / max(1, found.counts[:half].sum())
    loss_shuffled = -found.sums[half:].sum() / max(1, found.counts[half:].sum())
    guess = math.inf if vocabulary is None else math.log(vocabulary)
    if loss < (1 - LEAST_LEARNED) * guess and loss < loss_shuffled:
        return ""
    by_guessing = "" if vocabulary is None else f", {guess:.2f} by guessing"
    return (
        f"random or untrained weights: as a language model it is no better than chance (loss {loss:.2f} nats per token "
        f"on plain sentences, {loss_shuffled:.2f} with their words shuffled{by_guessing})"
    )


def _share_of_words(scorer: MaskedLM | TextScorer) -> float:
    """Return the proportion of pairs of words that are more likely in their own places than when exchanged."""
    words = [word for _, word in PLACES]
    exchanged = [words[k ^ 1] for k in range(len(words))]
    right, wrong = (_word_scores(scorer, some) for some in (words, exchanged))
    # Both words of a pair are in both sums, so that a common word has no advantage.
    pairs = right[::2] + right[1::2] > wrong[::2] + wrong[1::2]
    return float(pairs.mean())


def _word_scores(scorer: MaskedLM | TextScorer, words: Sequence[str]) -> NDArray[np.float64]:
    """Return the log-probabilities of the sentences in ``PLACES`` with words inserted.

    For a masked LM, only the inserted word is scored.
    """
    texts = [text.format(word) for (text, _), word in zip(PLACES, words, strict=True)]
    if not isinstance(scorer, MaskedLM):
        return scorer.log_likelihoods(texts).sums
    token_ids = scorer.tokenize(texts)
    return scorer.pseudo_log_likelihoods(token_ids, _positions(scorer, token_ids)).sums


def _positions(scorer: MaskedLM, token_ids: Sequence[Sequence[int]]) -> list[list[int]]:
    """Return the positions of the inserted word in each sentence of ``PLACES``."""
    without = scorer.tokenize([text.format("") for text, _ in PLACES])
    return [_inserted(ids, others) for ids, others in zip(token_ids, without, strict=True)]


def _check_mask(scorer: MaskedLM) -> Iterator[Finding]:
    """Yield a failure if words are predicted much better behind another special token than behind the mask."""
    tokenizer = scorer.backbone.tokenizer
    special = {number: str(token) for number, token in tokenizer.added_tokens_decoder.items() if token.special}
    others = [number for number in special if number != scorer.mask_id]
    others = sorted(others, key=lambda number: "mask" not in special[number].casefold())[:MOST_MASKS]
    token_ids = scorer.tokenize([text.format(word) for text, word in PLACES])
    losses = {mask: _loss_behind(scorer, mask, token_ids) for mask in (scorer.mask_id, *others)}
    best = min(losses, key=losses.__getitem__)
    if losses[scorer.mask_id] - losses[best] > WORSE:
        yield failed(
            f"its mask token {tokenizer.mask_token} hides words worse than {special[best]} does "
            f"({losses[scorer.mask_id]:.2f} nats a token, {losses[best]:.2f}); is mask_token set wrong?"
        )


def _loss_behind(scorer: MaskedLM, mask: int, token_ids: Sequence[Sequence[int]]) -> float:
    """Return the mean loss, in nats per token, of the words in ``PLACES`` when a token hides them."""
    queries = [
        MaskQuery([*ids[:place], mask, *ids[place + 1 :]], place, ids[place])
        for ids, places in zip(token_ids, _positions(scorer, token_ids), strict=True)
        for place in places
    ]
    return -float(scorer.log_probabilities(queries).mean())


def _inserted(ids: Sequence[int], others: Sequence[int]) -> list[int]:
    """Return the positions of tokens in ``ids`` between the beginning and the end shared with ``others``."""
    start = next((k for k, (one, other) in enumerate(zip(ids, others, strict=False)) if one != other), len(others))
    return list(range(start, min(len(ids), start + max(1, len(ids) - len(others)))))


def _check_rewriting(backbone: Backbone) -> Iterator[Finding]:
    """Yield a failure if an encoder-decoder predicts a sentence as well from another sentence as from itself."""
    own = _log_probabilities_given(backbone, SENTENCES)
    other = _log_probabilities_given(backbone, (*SENTENCES[1:], SENTENCES[0]))
    if not bool((own > other).float().mean() > CHANCE):
        right = int((own > other).sum())
        yield failed(
            "random or untrained weights: its output does not depend on its input "
            f"({right} of {len(SENTENCES)} sentences are likelier after themselves than after another)"
        )


def _log_probabilities_given(backbone: Backbone, sources: Sequence[str]) -> torch.Tensor:
    """Return the log-probability of each plain sentence, given another text to rewrite."""
    read, mask = pad(backbone.tokenize(sources), backbone.padding_id)
    written, written_mask = pad(backbone.tokenize(SENTENCES), backbone.padding_id)
    device, labels = backbone.device, written.to(backbone.device)
    with backbone.measuring():
        logits = backbone.model(input_ids=read.to(device), attention_mask=mask.to(device), labels=labels).logits
    scores = logits.float().log_softmax(dim=-1).gather(-1, labels[..., None])[..., 0].cpu()
    return (scores * written_mask).sum(dim=1)
