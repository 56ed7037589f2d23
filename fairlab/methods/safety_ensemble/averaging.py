"""Source scores of texts that are rewritten to reference groups, over which a model can average its logits.

Sturman et al. 2024 score only the text itself. The average is our addition. It hides which of the listed groups a text
names, but a model can still see that a group is named. Shape letters: N texts, K rewritten texts in total, F source
scores.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from fairlab.methods.safety_ensemble.sources.base import Array
from fairlab.methods.safety_ensemble.sources.combined import Sources
from fairlab.rewriting.references import References

Mask = NDArray[np.bool_]


def turned_scores(
    sources: Sources, texts: Sequence[str], references: References, chosen: Mask | None = None
) -> tuple[Array, Array, NDArray[np.int64]]:
    """Score texts, and their rewrites to reference groups.

    If a source has no score for a rewritten text, the score of the original text is used. Some sources do not score
    rewritten texts at all.

    Args:
        sources: Sources of the scores.
        texts: N texts to score.
        references: Rewriter that changes the groups in a text to reference groups.
        chosen: Mask (N,) of the texts to rewrite; None rewrites all texts.

    Returns:
        Source scores of the texts (N, F), source scores of the rewritten texts (K, F), and the index of the text that
        each rewritten text belongs to (K,).
    """
    kept = np.ones(len(texts), dtype=np.bool_) if chosen is None else chosen
    turned = [references.versions(text) if one else [text] for text, one in zip(texts, kept.tolist(), strict=True)]
    owner = np.repeat(np.arange(len(texts)), [len(some) for some in turned])
    own = sources.score(texts)
    found = own[owner]
    every = list(chain.from_iterable(turned))
    places = [k for k, of in enumerate(owner.tolist()) if every[k] != texts[of]]
    scored = sources.score([every[k] for k in places], turned=True)
    found[places] = np.where(np.isnan(scored), found[places], scored)
    return own, found, owner
