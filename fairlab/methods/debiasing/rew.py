"""ReW: example weights that reduce the association between n-grams in claims and labels.

Source: Schuster et al. 2019, "Towards Debiasing Fact Verification Models", section 4 (learned weights), with the
constants of its authors' code; the training loss follows Lee et al. 2021 (CrossAug). The weights based on local mutual
information (LMI) are ours.
Shape letters: N examples, G n-grams, L labels.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from itertools import pairwise
from typing import Literal

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.sparse import coo_array, csr_array
from torch import Tensor

from fairlab.backbones.backbone import Backbone
from fairlab.data.labelled_tasks import LabelledBatch, LabelledTexts
from fairlab.methods.debiasing.base import Debiasing, weighted_cross_entropy
from fairlab.metrics.lmi import mutual_information
from fairlab.text.papers import SCHUSTER_2019
from fairlab.types import Count

WORD = re.compile(r"\w+")
COMMONEST = 10  # number of most frequent words to ignore
LR, PENALTY = 1.0, 1e-10  # learning rate of Adam, and weight of the norm penalty


class ReW(Debiasing):
    """Cross-entropy with example weights that make bigrams in the claims less predictive of the label.

    Args:
        weights: Kind of the example weights. ``learned`` is 1 + alpha, with the alpha that minimises the association.
            ``lmi`` is p(label) / p(label | bigram), at most 1, for the bigram of a claim with the highest local mutual
            information with its label.
        at_least: Minimum number of claims that must contain a bigram for it to be used, >= 1.
        steps: Number of Adam steps in the search for ``learned`` weights.
    """

    title = "weights against n-grams (ReW)"
    limits = (
        "Weights consider single n-grams of the claims; longer phrases and the evidence may still reveal the label."
    )
    citation = SCHUSTER_2019
    name = "rew"

    def __init__(self, *, weights: Literal["learned", "lmi"], at_least: Count, steps: Count) -> None:
        self.kind = weights
        self.at_least = at_least
        self.steps = steps

    def prepare(self, data: LabelledTexts, backbone: Backbone, seed: int) -> None:
        """Compute the example weights."""
        grams, labels = bigrams(self.second_texts(data)), [int(e.label) for e in data.examples["train"]]
        holds = occurrences(grams, self.at_least)
        made = learned_weights(holds, labels, self.steps) if self.kind == "learned" else lmi_weights(holds, labels)
        self.weights = torch.from_numpy(made)

    def loss(self, outputs: Tensor, batch: LabelledBatch) -> Tensor:
        """Return the loss on a batch."""
        weights = self.weights[batch.positions.cpu()].to(outputs.device, outputs.dtype)
        return weighted_cross_entropy(outputs, batch.labels, weights)

    def weight(self, batch: LabelledBatch) -> float:
        """Return the sum of the weights of a batch."""
        return float(self.weights[batch.positions.cpu()].sum())


def bigrams(claims: Sequence[str]) -> list[set[tuple[str, ...]]]:
    """Return each claim's bigrams of lower-case words, after removing the ten most frequent words of all claims."""
    words = [WORD.findall(claim.lower()) for claim in claims]
    passed = {word for word, _ in Counter(word for of_claim in words for word in of_claim).most_common(COMMONEST)}
    kept = [[word for word in of_claim if word not in passed] for of_claim in words]
    return [set(pairwise(of_claim)) for of_claim in kept]


def occurrences(grams: Sequence[set[tuple[str, ...]]], at_least: int) -> csr_array:
    """Return a sparse matrix (N, G) that contains 1 for each n-gram in an example.

    N-grams are sorted, and n-grams in fewer than ``at_least`` examples are excluded.
    """
    counts = Counter(gram for of_claim in grams for gram in of_claim)
    place = {gram: k for k, gram in enumerate(sorted(gram for gram, count in counts.items() if count >= at_least))}
    rows = [sorted(place[gram] for gram in of_claim if gram in place) for of_claim in grams]
    ends = np.cumsum([0, *map(len, rows)])
    columns = np.array([column for row in rows for column in row], dtype=int)
    return csr_array((np.ones(len(columns)), columns, ends), shape=(len(grams), len(place)))


def lmi_weights(holds_NG: csr_array, labels: Sequence[int]) -> NDArray[np.float64]:
    """Return the LMI-based example weights (N,), in (0, 1]; see :class:`ReW`.

    An example without an n-gram that favours its label has weight 1.
    """
    is_label_NL = np.eye(max(labels) + 1)[list(labels)]
    counts_GL = holds_NG.T @ is_label_NL
    label_L, found_GL = is_label_NL.mean(axis=0), mutual_information(counts_GL)
    given_GL = counts_GL / counts_GL.sum(axis=1, keepdims=True)
    weights = np.ones(len(labels))
    for row, label in enumerate(labels):
        grams = holds_NG.indices[holds_NG.indptr[row] : holds_NG.indptr[row + 1]]
        if len(grams):
            strongest = grams[found_GL[grams, label].argmax()]
            weights[row] = min(1.0, label_L[label] / given_GL[strongest, label])
    return weights


def learned_weights(holds_NG: csr_array, labels: Sequence[int], steps: int) -> NDArray[np.float64]:
    """Return the learned example weights 1 + alpha (N,), with alpha >= 0.

    Alpha minimises the sum, over all n-grams, of the largest label share. The share of a label for an n-gram is the
    total weight of the examples that have the label and the n-gram, divided by that of all examples with the n-gram.
    """
    turned = coo_array(holds_NG.T)
    places = torch.from_numpy(np.stack(turned.coords).astype(np.int64))
    across = torch.sparse_coo_tensor(places, torch.from_numpy(turned.data), turned.shape, check_invariants=True)
    is_label_NL = torch.nn.functional.one_hot(torch.tensor(list(labels))).double()
    alpha = torch.zeros(len(labels), dtype=torch.float64, requires_grad=True)
    optimizer = torch.optim.Adam([alpha], lr=LR)
    for _ in range(steps):
        weighted_GL = across @ ((1 + alpha)[:, None] * is_label_NL)
        shares_GL = weighted_GL / weighted_GL.sum(dim=1, keepdim=True)
        # The norm has no gradient at 0, the initial value of alpha.
        loss = shares_GL.amax(dim=1).sum() + PENALTY * (alpha.square().sum() + torch.finfo(alpha.dtype).tiny).sqrt()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        with torch.no_grad():
            alpha.clamp_(min=0)
    return 1 + alpha.detach().numpy()
