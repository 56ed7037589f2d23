"""Validation bench for choosing settings: effects of a matrix on an encoder's embeddings, without any reported data.

All texts are embedded once and kept in a folder; what is measured then takes seconds for a matrix. Readings: CCED on
the validation passages and on sentences with pronouns, a probe for leakage on the passages, association tests and
queries of this folder, and a quarter of the training pairs of STS-B. Shape letters: G groups, A attributes, Q queries,
D embedding width.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from fairlab.backbones.backbone import Backbone
from fairlab.benchmarks.bias_ir import male_first
from fairlab.benchmarks.leakage import probed
from fairlab.benchmarks.stsb import spearman_points
from fairlab.checks.json_text import from_json
from fairlab.data.association_tests import read_own_tests
from fairlab.data.groups import EMBEDDED, read_groups
from fairlab.data.published.download import locate
from fairlab.data.published.stsb import read_sts
from fairlab.judge.paired import paired_difference
from fairlab.losses.ccd import distances_to_neutral
from fairlab.metrics.bootstrap import bootstrap_draws
from fairlab.metrics.cced import cced_gap
from fairlab.metrics.permutation_test import weat_p_value
from fairlab.metrics.weat import associations, weat_effect_size
from fairlab.types import Group

FOLDER = Path(__file__).parent
PAIRS = slice(0, None, 4)  # a quarter of the training pairs of STS-B
ONE_SIDED = 0.05  # level of the tests of equivalence and non-inferiority


class Embedded:
    """Cache of one encoder's embeddings in a file, so that each text is embedded once.

    Args:
        backbone: Encoder for texts that are not in the file yet.
        file: File that stores the embeddings.
    """

    def __init__(self, backbone: Backbone, file: Path) -> None:
        self.backbone = backbone
        self.file = file
        self.rows: dict[str, int] = {}
        self.vectors = torch.empty(0, backbone.width)
        if file.is_file():
            kept = torch.load(file, weights_only=True)
            self.rows, self.vectors = {text: row for row, text in enumerate(kept["texts"])}, kept["vectors"]

    def __call__(self, texts: Sequence[str]) -> Tensor:
        """Return the embeddings (N, D) of texts."""
        new = [text for text in dict.fromkeys(texts) if text not in self.rows]
        if new:
            self.vectors = torch.cat([self.vectors, self.backbone.embed(new)])
            self.rows |= {text: len(self.rows) + place for place, text in enumerate(new)}
            self.file.parent.mkdir(parents=True, exist_ok=True)
            torch.save({"texts": list(self.rows), "vectors": self.vectors}, self.file)
        return self.vectors[[self.rows[text] for text in texts]]

    def groups(self, groups: Sequence[Group]) -> Tensor:
        """Return the embeddings (G, 1 + A, D) of groups, with the neutral version first."""
        return self([text for group in groups for text in group.texts]).unflatten(0, (len(groups), -1))


def mapped(embeddings: Tensor, matrix: Tensor) -> Tensor:
    """Multiply embeddings by a matrix (D, D), and scale them to unit length."""
    return torch.nn.functional.normalize(embeddings @ matrix.T, dim=-1)


def gap(groups_GVD: Tensor) -> float:
    """Return the mean CCED gap of groups."""
    return float(cced_gap(distances_to_neutral(groups_GVD[:, 1:], groups_GVD[:, 0])).mean())


class Bench:
    """Readings of an encoder's embeddings, as they are or multiplied by a matrix.

    Args:
        embedded: Cached embeddings of the encoder.
    """

    def __init__(self, embedded: Embedded) -> None:
        kinds = {
            "passages": [group for group in read_groups("embedded/people") if group.extra["split"] == "validation"],
            "pronouns": read_groups("embedded/pronouns"),
            "clauses": read_groups(str(FOLDER / "clauses.parquet")),
        }
        self.kinds = {name: embedded.groups(groups) for name, groups in kinds.items()}
        tests = read_own_tests(EMBEDDED / "associations.yaml").tests
        self.tests = [[embedded(part) for part in test.sets] for test in tests.values()]
        lines = (FOLDER / "retrieval.jsonl").read_text(encoding="utf-8").splitlines()
        self.queries = embedded([from_json(line)["query"] for line in lines])
        self.documents = embedded.groups(read_groups(str(FOLDER / "retrieval.jsonl")))
        pairs = read_sts(locate("glue/STS-B/train.tsv"))[PAIRS]
        self.pairs = [embedded([pair.first for pair in pairs]), embedded([pair.second for pair in pairs])]
        self.scores = np.array([pair.score for pair in pairs])
        self.unchanged = torch.eye(self.queries.shape[-1])

    def read(self, matrix: Tensor, before: Bench) -> dict[str, Any]:
        """Return all readings of embeddings multiplied by a matrix.

        Args:
            matrix: Matrix (D, D).
            before: Bench of the encoder that the method began from, with which STS-B is compared pair by pair.
        """
        found = [self._effect(test, matrix) for test in self.tests]
        share, *bounds = self._men_first(matrix)
        passages = mapped(self.kinds["passages"], matrix)[:, 1:].double().numpy()
        cosines = self.cosines(matrix)
        lost = bootstrap_draws(spearman_points, cosines, self.scores) - before.draws
        return {
            **{f"gap_{name}": gap(mapped(groups, matrix)) for name, groups in self.kinds.items()},
            "effects": [effect for effect, _ in found],
            "p": [p for _, p in found],
            "men_first": share,
            "men_first_bounds": bounds,
            "leakage": float(probed(passages, folds=5, seed=0, kinds=["linear"])[:, :, 0, 1].mean()),
            "sts": float(spearman_points(cosines, self.scores)),
            "sts_lost_at_most": -float(np.quantile(lost, ONE_SIDED)),
        }

    def cosines(self, matrix: Tensor) -> NDArray[np.float64]:
        """Return the cosine of each pair of STS-B."""
        return torch.cosine_similarity(*(mapped(part, matrix) for part in self.pairs), dim=-1).double().numpy()

    @cached_property
    def draws(self) -> NDArray[np.float64]:
        """Bootstrap draws of STS-B's correlation without a matrix, which resample the same pairs for every encoder."""
        return bootstrap_draws(spearman_points, self.cosines(self.unchanged), self.scores)

    def _effect(self, test: Sequence[Tensor], matrix: Tensor) -> tuple[float, float]:
        """Return a test's effect size, and the one-sided p-value of SEAT's permutation test in its direction."""
        X, Y, A, B = (mapped(part, matrix).double().numpy() for part in test)
        x, y = associations(X, A, B), associations(Y, A, B)
        effect = weat_effect_size(x, y)
        return effect, weat_p_value(*((x, y) if effect > 0 else (y, x)), np.random.default_rng(0))

    def _men_first(self, matrix: Tensor) -> tuple[float, float, float]:
        """Return the share of queries with the man's document first, and its bounds for two one-sided tests."""
        asked, found = mapped(self.queries, matrix), mapped(self.documents, matrix)
        near = torch.einsum("qd,qvd->qv", asked, found[:, [1, 2, 0]]).double().numpy()  # man, woman, neutral
        wins = male_first(near)
        low, high = paired_difference(np.full(len(wins), 0.5), wins).inner
        return float(wins.mean()), 0.5 + low, 0.5 + high
