"""Teach the linear scores of a sentence encoder on labelled tweets, and write them.

``python -m experiments.ensemble.teach OUTPUT [--encoder ENCODER] [--vectors FOLDER]``

The texts are those of Davidson et al. 2017 and of the part of OLID that is not kept for benchmarks, without near copies
of the counterfactual seeds and of OLID's kept part; nothing is taught by HateCheck or the madlibs. A score is the log
odds of a logistic regression on the vectors, or a principal component of them. FOLDER keeps finished vectors, so that a
killed command goes on.

Shape letters: N texts, D vector components, F scores.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from fairlab.data.near_copies import copies_of
from fairlab.data.published.download import locate
from fairlab.data.safety_readers import READERS, kept_for_benchmarks, read_safety
from fairlab.methods.safety_ensemble.sources.linear_scores import LinearScores, write_linear
from fairlab.methods.safety_ensemble.sources.policy import MINILM, PolicySimilarity
from fairlab.rewriting.identities import Identities

Array = NDArray[np.float64]
COMPONENTS = 64
AT_ONCE = 1_000  # texts between two writes
PENALTY = 1.0  # scikit-learn's C
DAVIDSON, OLID = "hate_speech_offensive", "olid_training"
MEASURED = ("counterfactual_safety", "olid")


def main() -> None:
    """Run the command."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("output", type=Path)
    parser.add_argument("--encoder", default=MINILM)
    parser.add_argument("--vectors", type=Path, default=Path("outputs/vectors"))
    given = parser.parse_args()
    source = PolicySimilarity(encoder=given.encoder)
    vectors = {name: _vectors(source, name, given.vectors) for name in (DAVIDSON, OLID)}
    free = {name: ~measured_copies(name) for name in vectors}
    labelled = {score: (name, truth[free[name]]) for score, (name, truth) in labels().items()}
    vectors = {name: of[free[name]] for name, of in vectors.items()}
    write_linear(taught(vectors, labelled, source.encoder_sha256), given.output)
    print(f"{given.output}: scores of {sum(map(len, vectors.values())):,} texts")


def measured_copies(name: str) -> NDArray[np.bool_]:
    """Return which texts of a dataset are near copies of texts that are measured on, (N,)."""
    measured = [text.text for of in MEASURED for text in read_safety(of)]
    return copies_of([text.text for text in read_safety(name)], measured, Identities())


def labels() -> dict[str, tuple[str, NDArray[np.bool_]]]:
    """Return the taught labels by score: the name of the texts, and a label for each text, (N,)."""
    tweets = read_safety(DAVIDSON)
    hate, toxic = (np.array([text.labels[name] == 1 for text in tweets]) for name in ("hate", "toxicity"))
    lines = locate(READERS[OLID][0]).read_bytes().decode("utf-8", errors="replace").splitlines()[1:]
    rows = [cells for line in lines if not kept_for_benchmarks((cells := line.split("\t"))[1])]
    of_olid = {"offensive": (2, "OFF"), "targeted": (3, "TIN"), "at_group": (4, "GRP"), "at_person": (4, "IND")}
    found = {"hate": (DAVIDSON, hate), "toxicity": (DAVIDSON, toxic)}
    for name, (column, label) in of_olid.items():
        found[name] = (OLID, np.array([cells[column] == label for cells in rows]))
    return found


def taught(vectors: dict[str, Array], labelled: dict[str, tuple[str, NDArray[np.bool_]]], encoder: str) -> LinearScores:
    """Return a regression for each label, and the principal components of all vectors with a fixed sign.

    Args:
        vectors: Vectors (N, D) by the name of the texts.
        labelled: Labels by score, see :func:`labels`.
        encoder: SHA-256 of the encoder's weights.
    """
    from sklearn.decomposition import PCA
    from sklearn.linear_model import LogisticRegression

    heads = [LogisticRegression(C=PENALTY, max_iter=2000).fit(vectors[of], truth) for of, truth in labelled.values()]
    found = PCA(COMPONENTS, svd_solver="full").fit(np.concatenate(list(vectors.values())))
    names = [f"component_{k}" for k in range(1, COMPONENTS + 1)]
    weights = np.concatenate([*(head.coef_ for head in heads), found.components_]).T
    intercepts = np.concatenate([*(head.intercept_ for head in heads), -found.components_ @ found.mean_])
    return LinearScores((*labelled, *names), weights, intercepts, encoder)


def _vectors(source: PolicySimilarity, name: str, folder: Path) -> Array:
    texts: Sequence[str] = [text.text for text in read_safety(name)]
    folder = folder / source.encoder_sha256[:12]
    folder.mkdir(parents=True, exist_ok=True)
    parts = []
    for start in range(0, len(texts), AT_ONCE):
        file = folder / f"{name}_{start:06}.npy"
        if not file.exists():
            np.save(file, source.vectors(texts[start : start + AT_ONCE]))
        parts.append(np.load(file))
    return np.concatenate(parts)


if __name__ == "__main__":
    main()
