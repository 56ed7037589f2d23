"""Evaluator and loss for the trainer of sentence-transformers."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import torch
from sentence_transformers import SentenceTransformer
from sentence_transformers.sentence_transformer.evaluation import SentenceEvaluator
from torch import Tensor, nn

from fairlab.integrations.measuring import measured_values
from fairlab.losses.ccd import Bandwidth, bandwidth, bias_loss, distances_to_neutral, representation_loss
from fairlab.protocols import Benchmark
from fairlab.types import FairlabError


class FairnessEvaluator(SentenceEvaluator):
    """Evaluator for the trainer of sentence-transformers that reports the headline readings of benchmarks.

    ``SentenceTransformerTrainer(..., evaluator=FairnessEvaluator(["seat"]))`` logs every reading under its key, with
    slashes replaced by underscores. Its distance to the ideal value is logged under the same key plus ``_distance``.
    The primary metric, by which the trainer can select the best model, is ``closeness``: the negative mean distance to
    the ideal values, with each distance divided by its value at the first evaluation.

    Args:
        benchmarks: Benchmarks, or their names.
        name: Prefix of the logged keys.
        settings: Configuration values by dotted key, such as ``{"benchmark.seat.tests": ["6", "6b"]}``.
        limit: Maximum number of items per benchmark; None for all.
    """

    def __init__(
        self,
        benchmarks: str | Benchmark | Sequence[str | Benchmark],
        name: str = "fairlab",
        settings: Mapping[str, Any] | None = None,
        limit: int | None = None,
    ) -> None:
        super().__init__()
        self.benchmarks, self.name, self.settings, self.limit = benchmarks, name, settings, limit
        self.first: dict[str, float] = {}
        self.greater_is_better = True
        self.primary_metric = f"{name}_closeness"

    def __call__(
        self, model: Any, output_path: str | None = None, epoch: int = -1, steps: int = -1
    ) -> dict[str, float]:
        """Measure the model, and return the readings by key."""
        found = measured_values(model, self.benchmarks, self.settings, self.limit)
        distances = {key: value for key, value in found.items() if key.endswith("_distance")}
        self.first = self.first or distances
        shares = [value / self.first[key] for key, value in distances.items() if self.first.get(key)]
        values = {f"{self.name}_{key.replace('/', '_')}": value for key, value in found.items()}
        closeness = -sum(shares) / len(shares) if shares else 0.0
        return values | {f"{self.name}_closeness": closeness}

    @property
    def description(self) -> str:
        """Return the name of the evaluator in the trainer's messages."""
        return "fairlab"


class CCDLoss(nn.Module):
    """Content-conditional debiasing (CCD) as a loss for sentence-transformers: equation 4 of the paper.

    The dataset has a column of neutral texts, followed by one column per attribute, and no labels. The original encoder
    is a frozen copy of the given model.

    Args:
        model: Model to be trained.
        beta: Weight of the representation loss, >= 0.
        rho: Bandwidth of the kernel: a number above 0, or ``variance``, ``std`` or ``rms`` of the original encoder's
            distances in the first batch; see :func:`fairlab.losses.ccd.bandwidth`.

    Raises:
        FairlabError: ``beta`` is negative; in training, if there are fewer than three columns, or the kernel is flat at
            the bandwidth.

    Source: "LLM-Assisted Content Conditional Debiasing for Fair Text Embedding", section 3.2.2.
    """

    def __init__(self, model: SentenceTransformer, beta: float = 1.0, rho: Bandwidth = "rms") -> None:
        super().__init__()
        if not beta >= 0:
            raise FairlabError(f"beta must be at least 0, not {beta}")
        self.model = model
        self.beta, self.mode = beta, rho
        self.rho: float | None = None
        self._original = [
            copy.deepcopy(model).eval().requires_grad_(False)
        ]  # a list keeps it out of the trained weights

    def forward(self, sentence_features: Iterable[dict[str, Tensor]], labels: Tensor | None = None) -> Tensor:
        """Return the mean loss of a batch, from the tokens of the neutral texts, then of each attribute's texts."""
        columns = list(sentence_features)
        if len(columns) < 3:
            raise FairlabError(
                f"CCDLoss needs a column of neutral texts and one per attribute, at least 3, not {len(columns)}"
            )
        original = self._original[0].to(next(self.model.parameters()).device)
        with torch.no_grad():
            neutral_original_BD = _embed(original, columns[0])
            if self.rho is None:
                others = torch.stack([_embed(original, column) for column in columns[1:]], dim=1)
                self.rho = bandwidth(distances_to_neutral(others, neutral_original_BD), self.mode)
        neutral_BD, *attributes = (_embed(self.model, column) for column in columns)
        bias = bias_loss(torch.stack(attributes, dim=1), neutral_BD, self.rho).mean()
        return bias + self.beta * representation_loss(neutral_BD, neutral_original_BD).mean()

    def get_config_dict(self) -> dict[str, Any]:
        """Return the settings that the trainer writes into the model's card."""
        return {"beta": self.beta, "rho": self.mode}

    @property
    def citation(self) -> str:
        """Return the BibTeX entry of the paper."""
        from fairlab.methods.ccd import CCD

        return CCD.citation


def _embed(model: SentenceTransformer, features: Mapping[str, Tensor]) -> Tensor:
    embeddings: Tensor = model(dict(features))["sentence_embedding"]
    return embeddings.float()  # bf16 is too coarse for distances
