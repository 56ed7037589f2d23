"""Check whether an encoder interprets words by context, compared with its twin, a copy with shuffled weights.

Shape letters: N sentences, T tokens, H width of a hidden state.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.functional import normalize
from transformers.pytorch_utils import Conv1D

from fairlab.backbones.backbone import Backbone, pad
from fairlab.benchmarks.validity.embeddings import paraphrase_strength, word_means
from fairlab.benchmarks.validity.finding import Finding, failed, not_judged
from fairlab.benchmarks.validity.texts import PARAPHRASES, SENSES

LEAST = 0.15  # minimum position between the twin (0) and a perfect encoder (1)
JUDGED = 0.25  # any encoder above this passes
OF_SENTENCES = 0.5  # minimum for an encoder whose embeddings show that it was trained for sentences; these reach 0.66
LEAST_DIFFERENCE = 1e-5  # difference between states, relative to their length
# ratio of the separation of paraphrases by sentence embeddings and by word means, if trained for sentences
STRONGER = 1.2


def check_senses(backbone: Backbone) -> Iterator[Finding]:
    """Yield a finding if an encoder's layers separate the senses of a word barely better than those of its twin.

    In every layer, the hidden states of a word in one sense should be nearer to each other than to its states in the
    other sense. The proportion of such cases is averaged over layers, and rescaled to 0 for the twin and 1 for a
    perfect encoder. An encoder whose sentence embeddings separate paraphrases much better than its word embeddings was
    trained for sentences, and must reach a higher value. If the encoder's folder defines a pooling but its sentence
    embeddings do not separate paraphrases better, it is either damaged or not trained for sentences; the check does not
    decide which. Models that read from left to right are skipped, because the context may come later. So are models
    with fewer states than tokens in some layers (Funnel).
    """
    places = _places(backbone)
    if places is None or not _keeps_length(backbone):
        return
    if not _differ(backbone, ["The cow gives milk every day.", "The sun shone brightly every day."], place=-2):
        yield failed("its layers do not read the context: a word has the same state in every sentence")
        return
    of_sentences = _is_of_sentences(backbone)
    if backbone.published is not None and not of_sentences:
        yield not_judged(
            "its sentence embeddings hardly separate paraphrases better than its word embeddings do, so it was not "
            "trained for sentences, or its layers or pooling are damaged"
        )
    if not _differ(backbone, ["The plant needs water and light.", "The plant needs workers and a roof."], place=1):
        return
    own = _share(backbone, places)
    with shuffled_twin(backbone):
        twin = _share(backbone, places)
    lift = (own - twin) / max(1 - twin, 1e-6)
    least = OF_SENTENCES if of_sentences else LEAST
    said = f"({own:.0%} of comparisons right, {twin:.0%} with its weights shuffled)"
    if not lift >= least:
        yield failed(f"its layers rarely distinguish word senses {said}, as if weights and settings did not fit")
    elif lift < JUDGED:
        yield not_judged(f"its layers hardly distinguish the senses of a word {said}")


def _is_of_sentences(backbone: Backbone) -> bool:
    sentences = backbone.embed([text for pair in PARAPHRASES for text in pair])
    return paraphrase_strength(sentences) > STRONGER * paraphrase_strength(word_means(backbone))


def _texts() -> list[str]:
    return [text for _, first, second in SENSES for text in (*first, *second)]


def _places(backbone: Backbone) -> list[int] | None:
    """Return the position of the ambiguous word's first token in each text, or None if it is unknown."""
    words = [word for word, *_ in SENSES for _ in range(4)]
    if not backbone.tokenizer.is_fast:
        return None
    found = []
    for text, word in zip(_texts(), words, strict=True):
        tokens = backbone.tokenizer(text, truncation=True, max_length=backbone.max_length)
        place = tokens.char_to_token(text.lower().index(word))
        if place is None:
            return None
        found.append(place)
    return found


def _differ(backbone: Backbone, texts: list[str], place: int) -> bool:
    """Return whether the last state of a token depends on the tokens in which two texts differ.

    Args:
        backbone: Model.
        texts: Two texts, read in one batch, because batches of different shapes are rounded differently.
        place: Position of the token in both texts, counted from the end if negative.
    """
    states = _states(backbone, texts)[-1]
    lengths = map(len, backbone.tokenize(texts))
    first, second = (row[place % length] for row, length in zip(states, lengths, strict=True))
    return float((first - second).norm()) > LEAST_DIFFERENCE * float(first.norm())


def _keeps_length(backbone: Backbone) -> bool:
    """Return whether every layer has one state per token."""
    return len({states.shape[1] for states in _states(backbone, _texts()[:1])}) == 1


def _share(backbone: Backbone, places: list[int]) -> float:
    """Return how often uses with one sense are nearer than uses with different senses, averaged over layers."""
    rows = torch.arange(len(places))
    shares = []
    for layer in _states(backbone, _texts())[1:]:
        found = normalize(layer[rows, torch.tensor(places)], dim=1).view(len(SENSES), 4, -1)
        table = found @ found.transpose(1, 2)
        same = torch.stack([table[:, 0, 1], table[:, 2, 3]])
        others = torch.stack([table[:, first, second] for first in (0, 1) for second in (2, 3)])
        shares.append(float((same[:, None] > others[None]).float().mean()))
    return sum(shares) / len(shares)


def _states(backbone: Backbone, texts: list[str]) -> list[Tensor]:
    """Return the hidden states (N, T, H) of the word embeddings and of every layer, as float32 on the CPU."""
    input_ids, attention_mask = pad(backbone.tokenize(texts), backbone.padding_id)
    with backbone.measuring():
        found = backbone.reader(
            input_ids=input_ids.to(backbone.device),
            attention_mask=attention_mask.to(backbone.device),
            output_hidden_states=True,
        )
    return [states.float().cpu() for states in found.hidden_states]


@contextmanager
def shuffled_twin(backbone: Backbone) -> Iterator[None]:
    """Permute the outputs of every linear layer inside the context, as if the rows of its weights were shuffled.

    The model with shuffled weights (twin) keeps the embeddings, norms and sizes of weights, but not the knowledge
    learned in its layers.
    """
    random = torch.Generator().manual_seed(0)
    hooks = []
    for module in backbone.reader.modules():
        if isinstance(module, nn.Linear | Conv1D):
            width = module.out_features if isinstance(module, nn.Linear) else module.nf
            hooks.append(module.register_forward_hook(_reordering(torch.randperm(width, generator=random))))
    try:
        yield
    finally:
        for hook in hooks:
            hook.remove()


def _reordering(order: Tensor) -> Any:
    def hook(module: nn.Module, inputs: Any, output: Tensor) -> Tensor:
        return output[..., order.to(output.device)]

    return hook
