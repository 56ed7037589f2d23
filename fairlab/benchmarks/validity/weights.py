"""Checks of the weights: they must be finite, completely loaded, and structured in every layer."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator

import torch
from torch import Tensor, nn
from transformers.pytorch_utils import Conv1D

from fairlab.backbones.backbone import Backbone
from fairlab.benchmarks.validity.finding import Finding, failed, refused

NARROWEST = 64  # minimum number of rows and columns of a matrix whose structure can be distinguished from chance
LARGEST = 2048  # maximum number of rows and columns checked
STEPS = 8  # steps of the power iteration, which give a random matrix's largest singular value to within a hundredth
LEAST_STRUCTURE = 1.05  # minimum ratio to the largest singular value of random numbers; real layers reach 1.7 and more
LAYER = re.compile(r"\.(\d+)\.")


def check_weights(backbone: Backbone) -> Iterator[Finding]:
    """Yield defects of the weights.

    Within a layer, the attention weights, or all other weights, count as random if no matrix among them has a singular
    value beyond those of the same numbers in random order, which are at most ``std * (sqrt(rows) + sqrt(columns))``
    (Marchenko and Pastur 1967). Encoder-decoders are not checked for random weights, because a new one built by fairlab
    contains small random weights on purpose; see :func:`~fairlab.backbones.seq2seq.new_seq2seq`.
    """
    for name, parameter in backbone.named_parameters():
        if parameter.is_floating_point() and not bool(torch.isfinite(parameter).all()):
            yield refused(
                f"the weights {name} hold values that are not finite; the model is damaged or its training diverged"
            )
            return
    if backbone.unread:
        some = ", ".join(backbone.unread[:3])
        yield failed(f"its file holds {len(backbone.unread)} weights that its config.json leaves out, such as {some}")
    if not backbone.model.config.is_encoder_decoder and (parts := random_parts(backbone.transformer)):
        layers, kinds = (sorted({part[k] for part in parts}) for k in (0, 1))
        of = f"{kinds[0]} weights" if len(kinds) == 1 else "weights"
        said = f"layer {layers[0]}" if len(layers) == 1 else f"{len(layers)} layers"
        yield failed(f"the {of} of {said} are random numbers without structure")


def random_parts(body: nn.Module) -> list[tuple[int, str]]:
    """Return the layer number and name of each part whose matrices are all random.

    Parts are ``attention`` and ``feed-forward``, which is everything that is not named as attention. Matrices narrower
    than 64 are skipped.
    """
    found: dict[tuple[int, str], list[float]] = defaultdict(list)
    for name, module in body.named_modules():
        layer = LAYER.search(f".{name}.")
        if layer and isinstance(module, nn.Linear | Conv1D) and _is_matrix(module.weight):
            part = "attention" if "att" in name else "feed-forward"
            found[int(layer[1]), part].append(structure(module.weight))
    return [part for part, values in found.items() if max(values) < LEAST_STRUCTURE]


def _is_matrix(weight: Tensor) -> bool:
    return weight.dim() == 2 and weight.is_floating_point() and min(weight.shape) >= NARROWEST


def structure(weight: Tensor) -> float:
    """Return the ratio of a matrix's largest singular value to that of random numbers of the same variance."""
    rows, columns = (max(1, size // LARGEST) for size in weight.shape)
    matrix = weight.detach()[::rows, ::columns][:LARGEST, :LARGEST].float()
    matrix = matrix - matrix.mean()
    deviation = matrix.std()
    if not deviation > 0:
        return 0.0
    generator = torch.Generator().manual_seed(0)
    vector = torch.randn(matrix.shape[1], generator=generator).to(matrix.device)
    for _ in range(STEPS):
        vector = nn.functional.normalize(matrix.T @ (matrix @ vector), dim=0)
    edge = deviation * (matrix.shape[0] ** 0.5 + matrix.shape[1] ** 0.5)
    return float((matrix @ vector).norm() / edge)
