"""Validity checks for the trees of fitted models, whose indices compiled code follows without a check."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairlab.types import FairlabError

CHILDREN = {"Tree": ("children_left", "children_right", "feature"), "TreePredictor": ("left", "right", "feature_idx")}
WIDTH = "n_features_in_"  # number of scores that an estimator takes, which scikit-learn compares with its input


def refuse_wild_trees(file: Path, content: Any, width: int | None = None) -> None:
    """Refuse fitted models with a tree that refers to a missing node or score.

    Args:
        file: File of the models, for the message.
        content: Fitted models, or a part of them.
        width: Smallest number of scores that the estimators around the part take; None at the top.

    Raises:
        FairlabError: A node's child does not come after the node, or a node refers to a missing score.
    """
    if type(content).__name__ in CHILDREN:
        if not _is_sound(content, width):
            raise FairlabError(f"{file} holds a tree that leads out of itself; do not use this ensemble")
        return
    if isinstance(content, list | tuple):
        parts: Any = content
    elif isinstance(content, np.ndarray):
        parts = content.tolist() if content.dtype == object else ()
    else:
        parts = (content if isinstance(content, Mapping) else getattr(content, "__dict__", {})).values()
        own = getattr(content, "__dict__", {}).get(WIDTH)
        if own is not None and (not isinstance(own, int) or own < 1):
            raise FairlabError(f"{file} holds a model of {own} scores; do not use this ensemble")
        width = own if width is None else min(width, own or width)
    for part in parts:
        refuse_wild_trees(file, part, width)


def _is_sound(tree: Any, width: int | None) -> bool:
    if type(tree).__name__ == "TreePredictor":
        nodes = tree.nodes
        names = set(getattr(nodes, "dtype", np.dtype(float)).names or ())
        if not {*CHILDREN["TreePredictor"], "is_leaf", "is_categorical"} <= names or nodes["is_categorical"].any():
            return False
        left, right, feature = (nodes[name] for name in CHILDREN["TreePredictor"])
        inner: NDArray[np.bool_] = nodes["is_leaf"] == 0
    else:
        left, right, feature = (getattr(tree, name) for name in CHILDREN["Tree"])
        inner = left != -1
    own = np.arange(len(left))
    # Unsigned numbers wrap around in comparisons.
    left, right, feature = (values.astype(np.int64) for values in (left, right, feature))
    leads_on = (left > own) & (right > own) & (left < len(own)) & (right < len(own))
    looks = (feature >= 0) & (feature < (width or 0))
    return bool(len(own) and (leads_on & looks)[inner].all())
