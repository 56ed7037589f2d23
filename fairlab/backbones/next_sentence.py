"""BERT's prediction of whether one text follows another."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from fairlab.backbones.backbone import TOKENS_PER_BATCH, Backbone
from fairlab.backbones.scoring import batches_of_one_length
from fairlab.checks.progress import with_progress
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

        Args:
            pairs: Any number of pairs of texts; each distinct pair is scored once.
            progress: Title of a progress bar, shown on a terminal only.
        """
        if not pairs:
            return np.empty(0)
        backbone = self.backbone
        distinct = list(dict.fromkeys(pairs))
        first, second = map(list, zip(*distinct, strict=True))
        encoded = backbone.tokenizer(
            first, second, truncation=True, max_length=backbone.max_length, return_token_type_ids=True
        )
        token_ids, segments = encoded["input_ids"], encoded["token_type_ids"]
        self.cut += sum(backbone.is_cut(token_ids, first, second))
        found = np.empty(len(distinct))
        with backbone.measuring():
            for batch in with_progress(batches_of_one_length([len(ids) for ids in token_ids], self.budget), progress):
                input_ids = torch.tensor([token_ids[row] for row in batch], device=backbone.device)
                pooled = backbone.transformer(
                    input_ids=input_ids,
                    attention_mask=torch.ones_like(input_ids),
                    token_type_ids=torch.tensor([segments[row] for row in batch], device=backbone.device),
                ).pooler_output
                found[batch] = self.head(pooled).float().softmax(-1)[:, FOLLOWS].cpu().numpy()
        row = {pair: position for position, pair in enumerate(distinct)}
        return found[[row[pair] for pair in pairs]]
