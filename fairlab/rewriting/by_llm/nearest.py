"""Selection of prompt examples by similarity: the nearest examples for each text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, TypeVar

import numpy as np

if TYPE_CHECKING:
    from fairlab.backbones.backbone import Backbone

Example = TypeVar("Example", bound=Mapping[str, str])


def nearest_examples(
    encoder: Backbone, texts: Sequence[str], examples: Sequence[Example], count: int
) -> list[list[Example]]:
    """Return for each text the ``count`` examples with the highest cosine, ordered so that the nearest is last.

    Args:
        encoder: Model that computes embeddings of unit length.
        texts: Texts that need examples.
        examples: Examples to choose from; an example with the same text is not chosen.
        count: Number of examples for each text.

    Source: Liu et al. 2022, "What Makes Good In-Context Examples for GPT-3?", section 3 (kNN-augmented selection).
    """
    embedded = encoder.embed([*texts, *(example["text"] for example in examples)]).numpy()
    cosines = embedded[: len(texts)] @ embedded[len(texts) :].T
    chosen: list[list[Example]] = []
    for text, row in zip(texts, cosines, strict=True):
        order = [k for k in np.argsort(row, kind="stable") if examples[k]["text"] != text]
        chosen.append([examples[k] for k in order[-count:]])
    return chosen
