"""Source scores of texts rewritten to reference groups, over which a model's logits are averaged.

The paper scores only the text itself. The average is our addition: it removes the information which of the listed
groups a text names, but not that it names one. Shape letters: N texts, K rewritten texts in total, F source scores.
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
    """Score texts unchanged, and rewritten to reference groups.

    If a rewritten text lacks a score, the score of the original text is used; some sources are not asked for rewritten
    texts.

    Args:
        sources: Sources of the scores.
        texts: Texts, N in number.
        references: Rewriter to the reference groups.
        chosen: Mask of the texts to turn, (N,); the others stay as they are. None turns all.

    Returns:
        Source scores of the texts, (N, F), and of the rewritten texts, (K, F), with the index of each rewrite's text,
        (K,).
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
