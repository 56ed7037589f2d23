"""Validation bench for choosing settings: effects of a matrix on an encoder's embeddings, without any reported data.

All texts are embedded once and cached, so that measuring a matrix takes a second. The readings are CCED on the
validation passages and on sentences with pronouns, the association tests and queries in this folder, and the training
pairs of STS-B.
Shape letters: G groups, A attributes, Q queries, D embedding width.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from fairlab.backbones.backbone import Backbone
from fairlab.benchmarks.bias_ir import male_first
from fairlab.checks.json_text import from_json
from fairlab.data.association_tests import read_own_tests
from fairlab.data.groups import EMBEDDED, read_groups
from fairlab.data.published.download import locate
from fairlab.data.published.stsb import read_sts
from fairlab.losses.ccd import distances_to_neutral
from fairlab.metrics.cced import cced_gap
from fairlab.metrics.classification import spearman
from fairlab.metrics.weat import associations, weat_effect_size
from fairlab.types import Group

FOLDER = Path(__file__).parent
PAIRS = slice(0, None, 4)  # a quarter of the training pairs of STS-B


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
    """Validation bench that compares a matrix with the original encoder.

    Args:
        embedded: Cached embeddings of the encoder.
    """

    def __init__(self, embedded: Embedded) -> None:
        people = [group for group in read_groups("embedded/people") if group.extra["split"] == "validation"]
        self.passages = embedded.groups(people)
        self.pronouns = embedded.groups(read_groups("embedded/pronouns"))
        self.clauses = embedded.groups(read_groups(str(FOLDER / "clauses.parquet")))
        self.tests = {
            name.removeprefix("associations_"): [embedded(part) for part in test.sets]
            for name, test in read_own_tests(EMBEDDED / "associations.yaml").tests.items()
        }
        lines = (FOLDER / "retrieval.jsonl").read_text(encoding="utf-8").splitlines()
        self.fields = [from_json(line)["category"] for line in lines]
        self.queries = embedded([from_json(line)["query"] for line in lines])
        self.documents = embedded.groups(read_groups(str(FOLDER / "retrieval.jsonl")))
        pairs = read_sts(locate("glue/STS-B/train.tsv"))[PAIRS]
        self.pairs = [embedded([pair.first for pair in pairs]), embedded([pair.second for pair in pairs])]
        self.scores = np.array([pair.score for pair in pairs])
        self.original = self.readings(torch.eye(self.queries.shape[-1]))

    def readings(self, matrix: Tensor) -> dict[str, Any]:
        """Return all readings of embeddings that are multiplied by a matrix."""
        effects = {name: self._effect(test, matrix) for name, test in self.tests.items()}
        asked, found = mapped(self.queries, matrix), mapped(self.documents, matrix)
        near = torch.einsum("qd,qvd->qv", asked, found[:, [1, 2, 0]]).double().numpy()  # man, woman, neutral
        crossed = torch.einsum("qd,gd->qg", asked, found[:, 1] - found[:, 2]).double().numpy()
        wins = male_first(near)
        by_field = [wins[[one == field for one in self.fields]].mean() for field in dict.fromkeys(self.fields)]
        similar = torch.cosine_similarity(*(mapped(part, matrix) for part in self.pairs), dim=-1).double().numpy()
        return {
            "passages": gap(mapped(self.passages, matrix)),
            "pronouns": gap(mapped(self.pronouns, matrix)),
            "clauses": gap(mapped(self.clauses, matrix)),
            "association": float(np.mean(np.abs(list(effects.values())))),
            "effects": {name: round(value, 2) for name, value in effects.items()},
            "male_first": float(wins.mean()),
            "male_first_crossed": float((crossed > 0).mean()),
            "margin": float((near[:, 0] - near[:, 1]).mean()),
            "deviation": float(np.mean(np.abs(np.array(by_field) - 0.5))),
            "sts": 100 * float(spearman(similar, self.scores)),
        }

    def _effect(self, test: Sequence[Tensor], matrix: Tensor) -> float:
        X, Y, A, B = (mapped(part, matrix).double().numpy() for part in test)
        return weat_effect_size(associations(X, A, B), associations(Y, A, B))

    def trial(self, matrix: Tensor) -> dict[str, Any]:
        """Return the readings of a matrix, compared with the original encoder's readings."""
        return self.compared(self.readings(matrix))

    def compared(self, found: Mapping[str, Any]) -> dict[str, Any]:
        """Compare readings with the original encoder's readings.

        Gaps are relative changes in per cent, and STS-B is a difference in points.
        """
        before = self.original
        relative = {
            name: round(100 * (found[name] / before[name] - 1), 1) for name in ("passages", "pronouns", "clauses")
        }
        return {
            **{f"{name}_gap": value for name, value in relative.items()},
            "association_before": round(before["association"], 3),
            "association": round(found["association"], 3),
            "lowest_effect": min(found["effects"].values()),
            "effects": found["effects"],
            **{name: round(found[name], 3) for name in ("male_first", "male_first_crossed", "deviation")},
            "margin": round(found["margin"], 4),
            "sts_train": round(found["sts"] - before["sts"], 2),
        }
