"""Projection of a model's last hidden states, for both its embeddings and its language-modelling head.

The projection is applied to every token, as in bias-bench for SentenceDebias and INLP (Meade et al. 2022, "An Empirical
Survey of the Effectiveness of Debiasing Techniques", section 4). Since *cls* and *mean* pooling are linear, this is
equivalent to projecting the embedding before it is normalised, as sentence-transformers does with an exported model.
Shape letters: K directions, D width.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from safetensors.torch import load_file, save_file
from torch import Tensor, nn
from transformers.utils.generic import ModelOutput

from fairlab.backbones.backbone import Backbone, body
from fairlab.backbones.trust import loading
from fairlab.checks.foreign import read_object
from fairlab.types import FairlabError

if TYPE_CHECKING:
    from fairlab.backbones.sentence_pipeline import SentencePipeline

FOLDER = "2_Dense"
WEIGHT = "linear.weight"
MARK = "of_hidden_states"  # empty file next to a matrix that is not an orthogonal projection


def away_from(directions_KD: Tensor) -> Tensor:
    """Return the projection (D, D) onto the orthogonal complement of all directions: symmetric and idempotent.

    Raises:
        FairlabError: If the directions span the whole space, so that the projection would be zero.
    """
    _, strengths, rows = torch.linalg.svd(directions_KD.double(), full_matrices=False)
    tolerance = strengths.max() * max(directions_KD.shape) * torch.finfo(directions_KD.dtype).eps
    basis_KD = rows[strengths > tolerance]
    width = directions_KD.shape[1]
    if len(basis_KD) == width:
        raise FairlabError(f"the directions span all {width} dimensions of the embedding; use fewer of them")
    return (torch.eye(width, dtype=torch.float64, device=basis_KD.device) - basis_KD.T @ basis_KD).float()


def is_projection(matrix: Tensor, tolerance: float = 1e-4) -> bool:
    """Return whether a matrix (D, D) is an orthogonal projection: symmetric and idempotent."""
    symmetric = torch.allclose(matrix, matrix.T, atol=tolerance)
    return symmetric and torch.allclose(matrix @ matrix, matrix, atol=tolerance)


def project(backbone: Backbone, projection: Tensor, *, general: bool = False) -> None:
    """Make a model multiply its last hidden states by a matrix (D, D), after any previous projection.

    Args:
        backbone: Model to change.
        projection: Matrix to multiply by.
        general: Whether the matrix may differ from an orthogonal projection, which an export must then record.

    Raises:
        FairlabError: If embeddings are not weighted sums of the hidden states, so that their space differs.
    """
    if backbone.published is not None and not backbone.published.is_linear:
        kinds = ", ".join(type(part).__name__ for part in backbone.published.readout)
        raise FairlabError(f"embeddings of a model with {kinds} cannot be projected; set backbone.pooling=mean or cls")
    module = body(backbone.model)
    if backbone.projection is None:
        module.register_forward_hook(_project_output)
    else:
        projection = projection.to(backbone.projection) @ backbone.projection
    vars(module)["projection_is_general"] = general or vars(module).get("projection_is_general", False)
    # Not persistent: otherwise transformers would save it as a weight that no model has.
    module.register_buffer("projection", projection.to(backbone.device, torch.float32), persistent=False)


def _project_output(module: nn.Module, arguments: Any, output: ModelOutput) -> ModelOutput:
    hidden, projection = output["last_hidden_state"], module.get_buffer("projection")
    output["last_hidden_state"] = hidden @ projection.T.to(hidden.dtype)
    return output


def save_projection(backbone: Backbone, folder: Path) -> None:
    """Write the projection, if there is one, into the dense layer of a sentence-transformers folder."""
    if backbone.projection is None:
        return
    settings = {
        "in_features": backbone.width,
        "out_features": backbone.width,
        "bias": False,
        "activation_function": "torch.nn.modules.linear.Identity",
    }
    (folder / FOLDER / "config.json").write_text(json.dumps(settings, indent=2), encoding="utf-8")
    save_file({WEIGHT: backbone.projection.cpu().contiguous()}, folder / FOLDER / "model.safetensors")


def save_mark(backbone: Backbone, folder: Path) -> None:
    """Mark the dense layer of an export as applied to hidden states, if the matrix alone does not show it."""
    if vars(body(backbone.model)).get("projection_is_general", False):
        (folder / FOLDER / MARK).touch()


def is_marked(folder: Path) -> bool:
    """Return whether :func:`save_mark` marked the dense layer of a folder."""
    return (folder / FOLDER / MARK).is_file()


def saved_projection(folder: Path) -> Tensor | None:
    """Load the projection written by ``save_projection``, or None if the folder has no such layer."""
    file = folder / FOLDER / "model.safetensors"
    if not file.is_file():
        return None
    settings = read_object(folder / FOLDER / "config.json")
    linear = not settings.get("bias", True) and str(settings.get("activation_function")).endswith(".Identity")
    if not linear or settings.get("in_features") != settings.get("out_features"):
        return None
    with loading(f"the projection {file}"):
        weight = load_file(file)[WEIGHT]
    return weight if is_marked(folder) or is_projection(weight) else None


def take_projection(published: SentencePipeline, marked: bool = False) -> Tensor | None:
    """Remove and return the dense layer that fairlab exported for a projection, or None if there is none.

    The layer is an orthogonal projection, or marked by :func:`save_mark`. Applied to the hidden states instead, it
    gives the same embeddings and also affects the language-modelling head.
    """
    from sentence_transformers.base.modules import Dense

    dense: Any = published.readout[1] if len(published.readout) > 1 else None
    if not published.sums or not isinstance(dense, Dense) or not isinstance(dense.activation_function, nn.Identity):
        return None
    if dense.bias or dense.use_residual or dense.in_features != dense.out_features:
        return None
    weight = dense.linear.weight.detach()
    if not marked and not is_projection(weight):
        return None
    del published.readout[1]
    return weight
