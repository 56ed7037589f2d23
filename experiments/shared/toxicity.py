"""Check whether rewriting made texts toxic, with a small classifier trained on tweets.

Such classifiers judge words for groups, and the English of some groups, as toxic; Qian et al. 2022 (appendix E) tried
one and rejected it for this reason. It is therefore only used to select texts for a person to read, not to filter.

Source: Davidson et al. 2017, "Automated Hate Speech Detection and the Problem of Offensive Language", for the data.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairlab.data.published.download import locate
from fairlab.text.reading import read_table_rows

TWEETS = "hate_speech_offensive/labeled_data.csv"
NEITHER = "2"  # class of tweets that are neither hate speech nor offensive
MIDDLE = 0.5


@cache
def _classifier() -> Any:
    """Train a logistic regression on the words and word pairs of the tweets, with balanced class weights."""
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline

    rows = [row for _, row in read_table_rows(locate(TWEETS))]
    vectors = TfidfVectorizer(ngram_range=(1, 2), min_df=3, sublinear_tf=True)
    model = make_pipeline(vectors, LogisticRegression(class_weight="balanced", max_iter=1000))
    return model.fit([row["tweet"] for row in rows], [row["class"] != NEITHER for row in rows])


def toxicity(texts: Sequence[str]) -> NDArray[np.float64]:
    """Return the probability (N,) that each text is hate speech or offensive by the labels of the tweets of 2017.

    Raises:
        DataUnavailable: the tweets are not available.
    """
    return np.asarray(_classifier().predict_proba(list(texts))[:, 1]) if texts else np.zeros(0)


def made_toxic(sources: Sequence[str], rewrites: Sequence[str]) -> list[int]:
    """Return the positions of rewrites that are probably toxic although their sources are not.

    Raises:
        DataUnavailable: the tweets are not available.
    """
    before, after = toxicity(sources), toxicity(rewrites)
    return np.flatnonzero((before < MIDDLE) & (after >= MIDDLE)).tolist()
