"""Matrices that methods without training steps find, from embeddings that are kept in ``outputs/bench``.

Each gives the same matrix as the method of the same name in ``fairlab/methods``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch
import yaml
from torch import Tensor

import fairlab
from experiments.ccd.validation.bench import Embedded
from fairlab.backbones.projection import away_from
from fairlab.data.groups import read_groups
from fairlab.methods.ccd_linear import MapSettings, anchor_texts, lean_removed, trained_map
from fairlab.methods.inlp import nullspace_directions
from fairlab.methods.leace import eraser
from fairlab.methods.sentence_debias import bias_subspace
from fairlab.record import Record
from fairlab.types import Group

SETTINGS = Path("conf/method/ccd_linear.yaml")
KEPT = Path("outputs/bench")
Matrix = Callable[[Embedded, Sequence[Group], int], Tensor]  # from embeddings, training groups and a seed


def kept_embeddings(name: str, run: Path | None = None, part: str = "") -> Embedded:
    """Return the embeddings of a backbone, or of the model that a run trained, in one file per encoder and part."""
    encoder = fairlab.load(name if run is None else str(run))
    weights = "" if run is None else f"_{Record.load(run).provenance['model_sha256'][:12]}"
    return Embedded(encoder, KEPT / f"{name}{weights}{part}.pt")


def people(split: str = "train") -> list[Group]:
    """Return the passages that are trained on, or those of another split."""
    return [group for group in read_groups("embedded/people") if group.extra["split"] == split]


def sentence_debias(components: int = 1) -> Matrix:
    """Return the projection of ``method=sentence_debias``."""
    return lambda embedded, groups, seed: away_from(bias_subspace(embedded.groups(groups)[:, 1:], components)[0])


def inlp(classifiers: int) -> Matrix:
    """Return the projection of ``method=inlp`` with so many classifiers."""

    def found(embedded: Embedded, groups: Sequence[Group], seed: int) -> Tensor:
        parts = [embedded.groups(part).flatten(0, 1).double().numpy() for part in (groups, people("validation"))]
        versions = np.arange(len(groups[0].texts))
        labels, held_out_labels = (np.tile(versions, len(part) // len(versions)) for part in parts)
        train, held_out = parts
        directions, _ = nullspace_directions(
            train, labels, classifiers, seed, held_out=held_out, held_out_labels=held_out_labels
        )
        return away_from(torch.from_numpy(directions).float())

    return found


def leace(covariance: Literal["classes", "within"], ridge: float, neutral: bool) -> Matrix:
    """Return the matrix of ``method=leace``."""

    def found(embedded: Embedded, groups: Sequence[Group], seed: int) -> Tensor:
        versions = embedded.groups(groups)[:, 0 if neutral else 1 :]
        return eraser(versions, within=covariance == "within", ridge=ridge)[0]

    return found


def linear_map(**changed: Any) -> Matrix:
    """Return the matrix of ``method=ccd_linear``, with settings other than those of its file."""
    return lambda embedded, groups, seed: matrix_of(embedded, settings_of_the_map() | changed, seed, groups)


def settings_of_the_map() -> dict[str, Any]:
    """Return the settings of ``method=ccd_linear``."""
    return yaml.safe_load(SETTINGS.read_text(encoding="utf-8")) | {"lr": 1e-3}  # YAML reads 1e-3 as text


def matrix_of(embedded: Embedded, settings: dict[str, Any], seed: int, passages: Sequence[Group]) -> Tensor:
    """Return the matrix that ``method=ccd_linear`` finds with some settings on some groups."""
    short = [] if settings["short"] is None else [read_groups(settings["short"])]
    kinds = [embedded.groups(kind) for kind in [passages, *short, *map(read_groups, settings["directions"])]]
    anchors = embedded([] if settings["anchors"] is None else anchor_texts(settings["anchors"]))
    start = lean_removed(kinds, anchors, settings["lean"])
    names = ("drift", "rho", "lr", "epochs", "batch_size")
    steps = MapSettings(**{name: settings[name] for name in names}, seed=seed)
    return trained_map(torch.cat(kinds[: 1 + len(short)]), start, steps)[0]
