"""BERT's prediction of whether one text follows another."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairlab.backbones.backbone import TOKENS_PER_BATCH, Backbone
from fairlab.backbones.classification import encode
from fairlab.types import CannotScore

FOLLOWS = 0  # class isNext of BERT's next-sentence prediction (Devlin et al. 2019)


class NextSentence:
    """Scorer of the probability that one text follows another, by a next-sentence head on the pooled first token.

    Args:
        backbone: BERT with its pretrained next-sentence head, and its tokenizer.
        budget: Number of tokens per forward pass.

    Attributes:
        cut: Number of pairs so far that were longer than ``max_length``; the longer text of each pair was truncated.

    Raises:
        CannotScore: If the model has no next-sentence head.
    """

    def __init__(self, backbone: Backbone, *, budget: int = TOKENS_PER_BATCH) -> None:
        heads: Any = getattr(backbone.model, "cls", None)
        if not hasattr(heads, "seq_relationship"):
            name = type(backbone.model).__name__
            raise CannotScore(f"{name} has no next-sentence head; take BERT as pretrained (...ForPreTraining)")
        self.backbone = backbone
        self.budget = budget
        self.head = heads.seq_relationship
        self.cut = 0

    def probabilities(self, pairs: Sequence[tuple[str, str]], *, progress: str = "") -> NDArray[np.float64]:
        """Return the probability that the second text of each pair follows the first, (N,), in [0, 1].

        Each distinct pair is scored once.
        """
        if not pairs:
            return np.empty(0)
        backbone = self.backbone
        distinct = list(dict.fromkeys(pairs))
        encoded = encode(backbone, distinct)
        self.cut += encoded.cut
        found = np.empty(len(distinct))
        with backbone.measuring():
            for batch, inputs in encoded.batches(self.budget, progress, backbone.device):
                pooled = backbone.transformer(**inputs).pooler_output
                found[batch] = self.head(pooled).float().softmax(-1)[:, FOLLOWS].cpu().numpy()
        row = {pair: position for position, pair in enumerate(distinct)}
        return found[[row[pair] for pair in pairs]]
