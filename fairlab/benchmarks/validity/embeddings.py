"""Checks of sentence embeddings: finite, spread, and sensitive to changes of meaning.

Shape letters: N texts, D dimensions.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations

import torch
from torch import Tensor
from torch.nn.functional import normalize

from fairlab.backbones.backbone import Backbone
from fairlab.backbones.model_object import ModelObject
from fairlab.benchmarks.validity.finding import Finding, failed, not_judged, refused
from fairlab.benchmarks.validity.texts import ONE_WORD, ORDERS, PARAPHRASES, SENTENCES
from fairlab.benchmarks.validity.tokens import word_embeddings

# distance between two embeddings relative to the longer one; the float32 error is a tenth of this
LEAST_DISTANCE = 1e-6
LEAST_SPREAD = 2e-3  # spread of embeddings around their mean, relative to their length; real models reach 0.17 and more
# change of an embedding due to another order or word, relative to the distance of different sentences
LEAST_CHANGE = 1e-3
MOST_BY_PADDING = 0.1  # change of an embedding by padding, relative to the distance of different sentences
CHANCE, SEPARATED = 0.62, 0.75  # share of correct orders: 0.5 at random, with a standard error of 0.06
TWINS = 20  # number of shuffles of the word embeddings
MOST_TOKENS = 2.0  # tokens per word; finer tokens are letters, which have little meaning alone


def check_embeddings(backbone: Backbone | ModelObject) -> Iterator[Finding]:
    """Yield defects in the embeddings of plain sentences.

    Embeddings are rejected if they are not finite or are the same for different sentences. They fail if they barely
    depend on the sentence, if a different word order or a different word does not change them, if padding changes them,
    or if paraphrases without a common word are no nearer to each other than other sentences.
    """
    found = backbone.embed(SENTENCES)
    if not bool(torch.isfinite(found).all()):
        yield refused("embeddings of plain sentences are not finite; the model is damaged or its dtype too narrow")
        return
    least = LEAST_DISTANCE * float(found.norm(dim=1).max())
    for first, second in combinations(range(len(SENTENCES)), 2):
        if float((found[first] - found[second]).norm()) <= least:
            yield refused(
                f"'{SENTENCES[first]}' and '{SENTENCES[second]}' have the same embedding; every gap would be 0"
            )
            return
    sentences = backbone.embed([text for pair in PARAPHRASES for text in pair])
    centred = sentences - sentences.mean(dim=0)
    typical = float(centred.norm(dim=1).mean())
    spread = typical / float(sentences.norm(dim=1).mean())
    if spread < LEAST_SPREAD:
        yield failed(f"its embeddings are nearly constant: different sentences differ by {spread:.1e} of their length")
        return
    yield from _check_changes(backbone, typical)
    share = paraphrase_share(sentences)
    if share < CHANCE:
        yield failed(
            f"paraphrases are no closer to each other than other sentences ({share:.0%} by order, 50% by chance)"
        )
    elif share < SEPARATED:
        yield not_judged(f"paraphrases are hardly closer than other sentences ({share:.0%} by order, 50% by chance)")


def _check_changes(backbone: Backbone | ModelObject, typical: float) -> Iterator[Finding]:
    for pairs, what in ((ORDERS, "the order of words makes no difference"), (ONE_WORD, "another word makes none")):
        found = backbone.embed([text for pair in pairs for text in pair]).view(len(pairs), 2, -1)
        changes = (found[:, 0] - found[:, 1]).norm(dim=1)
        if float(changes.max()) < LEAST_CHANGE * typical:
            said = f"'{pairs[0][0]}' and '{pairs[0][1]}'"
            yield failed(f"to its embeddings {what}: {said} have the same embedding")
    shortest, longest = min(SENTENCES, key=len), max(SENTENCES, key=len)
    apart, padded = (_embed_padded(backbone, texts) for texts in ([shortest], [shortest, longest]))
    if float((apart - padded).norm()) > MOST_BY_PADDING * typical:
        yield failed(f"padding changes its embeddings: '{shortest}' has another one in a batch with a longer sentence")


def _embed_padded(backbone: Backbone | ModelObject, texts: Sequence[str]) -> Tensor:
    """Return the embedding (D,) of the first text when all texts are padded to the same length."""
    with backbone.remembering():
        return backbone.embed(texts)[0]


def check_words(backbone: Backbone) -> Iterator[Finding]:
    """Yield a finding if the word embeddings separate paraphrases no better than their shuffled rows do.

    Every trained model whose tokens are words or parts of words passes. The check therefore detects shuffled rows,
    a vocabulary in the wrong order, and random weights.
    """
    texts = [text for pair in PARAPHRASES for text in pair]
    special = set(backbone.tokenizer.all_special_ids)
    token_ids = [[token for token in ids if token not in special] for ids in backbone.tokenize(texts)]
    words = sum(len(text.split()) for text in texts)
    if sum(map(len, token_ids)) > MOST_TOKENS * words or not all(token_ids):
        yield not_judged("its tokens are parts of words, so its word embeddings cannot be judged")
        return
    rows = word_embeddings(backbone).detach()
    share = paraphrase_share(_means(rows, token_ids))
    random = torch.Generator().manual_seed(0)
    used = sorted({token for ids in token_ids for token in ids})
    twins = []
    for _ in range(TWINS):
        drawn = torch.randperm(len(rows), generator=random)[: len(used)].tolist()
        other = dict(zip(used, drawn, strict=True))
        twins.append(paraphrase_share(_means(rows, [[other[token] for token in ids] for ids in token_ids])))
    if share <= max(*twins, CHANCE):
        yield failed(
            "its word embeddings hold no meaning: paraphrases are no nearer by them than by shuffled ones "
            f"({share:.0%} by order, 50% by chance), as with a tokenizer of another model or with random weights"
        )


def _means(rows: Tensor, token_ids: Sequence[Sequence[int]]) -> Tensor:
    return torch.stack([rows[list(ids)].float().mean(dim=0) for ids in token_ids]).cpu()


def paraphrase_share(sentences: Tensor) -> float:
    """Return the proportion of comparisons in which a sentence is nearer to its paraphrase than to another sentence.

    Args:
        sentences: Embeddings (N, D), each followed by the embedding of its paraphrase.
    """
    similarities = _similarities(sentences)
    own = similarities.diag()
    others = ~torch.eye(len(own), dtype=torch.bool)
    shares = [(own[:, None] > table)[others].float().mean() for table in (similarities, similarities.T)]
    return float(sum(shares) / 2)


def paraphrase_strength(sentences: Tensor) -> float:
    """Return the number of standard deviations by which paraphrases are nearer than other sentences."""
    similarities = _similarities(sentences)
    others = similarities[~torch.eye(len(similarities), dtype=torch.bool)]
    return float((similarities.diag().mean() - others.mean()) / others.std().clamp_min(1e-12))


def _similarities(sentences: Tensor) -> Tensor:
    """Return the cosine similarities (N/2, N/2) of sentences and paraphrases, centred on the mean of all."""
    lengths = normalize(sentences, dim=1)
    centred = normalize(lengths - lengths.mean(dim=0), dim=1)
    return centred[::2] @ centred[1::2].T


def word_means(backbone: Backbone) -> Tensor:
    """Return the mean word embeddings (N, D) of the paraphrases, without special tokens."""
    special = set(backbone.tokenizer.all_special_ids)
    texts = [text for pair in PARAPHRASES for text in pair]
    token_ids = [[token for token in ids if token not in special] or ids for ids in backbone.tokenize(texts)]
    return _means(word_embeddings(backbone).detach(), token_ids)
