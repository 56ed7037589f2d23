"""Auxiliary classifiers for debiasing, trained on claims alone or on the same pairs as the main classifier.

A classifier that is trained on 2,000 claims memorises these after a few passes, so all of them would look biased. Each
training example is therefore scored by a classifier that was trained on the other half of the examples. Shape letters:
N examples, L labels.
"""

from __future__ import annotations

import copy
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn
from transformers import get_linear_schedule_with_warmup

from fairlab.backbones.backbone import Backbone, pad
from fairlab.backbones.classification import Classifier, Pair, encode, outputs, with_classifier
from fairlab.data.batching import BucketedBatches

CLIP = 1.0  # norm of the gradient


@dataclass(frozen=True)
class Tuning:
    """Training settings of an auxiliary classifier: number of epochs, peak learning rate of AdamW, batch size."""

    epochs: int
    lr: float
    batch_size: int


def fine_tuned(
    backbone: Backbone, pairs: Sequence[Pair], labels: Sequence[int], names: Sequence[str], tuning: Tuning, seed: int
) -> Backbone:
    """Train a copy of the backbone with a new head on texts or pairs.

    The linear warm-up takes a twentieth of the steps.
    """
    torch.manual_seed(seed)
    found = copy.deepcopy(backbone)
    found.model = with_classifier(found, names)
    encoded = encode(found, pairs)
    batches = BucketedBatches(list(map(len, encoded.token_ids)), tuning.batch_size, epochs=tuning.epochs, seed=seed)
    optimizer = torch.optim.AdamW(found.model.parameters(), lr=tuning.lr, fused=True)
    schedule = get_linear_schedule_with_warmup(optimizer, len(batches) // 20, len(batches))
    found.train()
    with torch.enable_grad():
        for batch in batches:
            input_ids, mask = pad([encoded.token_ids[row] for row in batch], found.padding_id)
            segments = pad([encoded.segments[row] for row in batch], 0)[0] if encoded.segments else None
            inputs = [None if one is None else one.to(found.device) for one in (input_ids, mask, segments)]
            truth = torch.tensor([int(labels[row]) for row in batch], device=found.device)
            nn.functional.cross_entropy(outputs(found.model, *inputs), truth).backward()  # type: ignore[arg-type]
            nn.utils.clip_grad_norm_(found.model.parameters(), CLIP)
            optimizer.step()
            schedule.step()
            optimizer.zero_grad()
    found.model.requires_grad_(False)
    return found.eval()


def log_probabilities(classifier: Backbone, names: Sequence[str], pairs: Sequence[Pair]) -> NDArray[np.float32]:
    """Return a classifier's log-probabilities for texts or pairs, (N, L)."""
    found = torch.tensor(Classifier(classifier, names).outputs(pairs))
    return found.log_softmax(dim=1).numpy()


def out_of_sample(
    backbone: Backbone, pairs: Sequence[Pair], labels: Sequence[int], names: Sequence[str], tuning: Tuning, seed: int
) -> NDArray[np.float32]:
    """Return log-probabilities (N, L) for texts or pairs; each half is scored by a classifier trained on the other.

    The halves do not depend on the seed. Examples with the same last text are in the same half.
    """
    first_half = np.array([in_first_half(pair[-1] or pair[0]) for pair in pairs])
    found = np.full((len(pairs), len(names)), -np.log(len(names)), dtype=np.float32)  # kept if the other half is empty
    for half in (first_half, ~first_half):
        asked, learned = np.flatnonzero(half).tolist(), np.flatnonzero(~half).tolist()
        if asked and learned:
            model = fine_tuned(backbone, [pairs[k] for k in learned], [labels[k] for k in learned], names, tuning, seed)
            found[asked] = log_probabilities(model, names, [pairs[k] for k in asked])
    return found


def in_first_half(text: str) -> bool:
    """Return whether a text belongs to the fixed first half of all texts."""
    return hashlib.sha256(f"bias {text}".encode()).digest()[0] < 128
