"""Train adapters of MiniLM and linear scores of its vectors, and write both, with sentences for training ensembles.

``python -m experiments.ensemble.teach FOLDER [--encoder ENCODER] [--adapters FILE] [--vectors FOLDER]``

The training texts are sentences composed of parts (``sentences.yaml``), tweets from Davidson et al. 2017, and tweets
from the part of OLID that is not reserved for benchmarks, without near copies of benchmark texts. HateCheck and the
madlibs are not used for training. A share of each dataset is held out for validation. A score is the log odds of a
logistic regression on the vectors, or one of their principal components. With ``--vectors``, computed vectors are
cached in that folder.

For another encoder, only linear scores are trained; ``--adapters`` gives existing adapters.

Shape letters: N texts, D vector components, F scores.
"""

from __future__ import annotations

import argparse
import json
import random
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.decomposition import PCA
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score

from experiments.ensemble.adapt import adapt
from experiments.ensemble.sentences import sentences
from fairlab.data.near_copies import near_copies
from fairlab.data.safety_readers import read_safety
from fairlab.data.safety_texts import SafetyText
from fairlab.files import save_arrays, write_whole
from fairlab.methods.safety_ensemble.sources.linear_scores import LinearScores
from fairlab.methods.safety_ensemble.sources.policy import ADAPTERS, LINEAR, MINILM, PolicySimilarity
from fairlab.rewriting.identities import Identities

Array = NDArray[np.float64]
Texts = dict[str, list[SafetyText]]
COMPONENTS = 32
PENALTY = 1.0  # scikit-learn's C
SEED, OF_SENTENCES = 0, 5  # seeds of the order of texts and batches, and of the training sentences
SENTENCES, DAVIDSON, OLID = "sentences", "hate_speech_offensive", "olid_training"
TAUGHT = {SENTENCES: 6_000, DAVIDSON: 2_000, OLID: 1_500}  # number of texts, before near copies are removed
VALIDATED = {SENTENCES: 400, DAVIDSON: 500, OLID: 700}
OF_ENSEMBLE = (1_600, 7)  # number and seed of the sentences for training ensembles
MEASURED = ("counterfactual_safety", "olid", "hatecheck", "bias_madlibs")


def write_linear(scores: LinearScores, file: Path) -> None:
    """Write linear scores to a safetensors file, as float32."""
    tensors = {"weights": scores.weights.astype(np.float32), "intercepts": scores.intercepts.astype(np.float32)}
    metadata = {"outputs": json.dumps(scores.outputs), "encoder": scores.encoder}
    save_arrays(tensors, file, metadata)


def copies_of(texts: Sequence[str], measured: Sequence[str], identities: Identities) -> NDArray[np.bool_]:
    """Return a mask (N,) of the training texts that are near copies of benchmark texts.

    Args:
        texts: N training texts.
        measured: Benchmark texts.
        identities: Lexicon of identity words, which are masked before texts are compared.
    """
    pairs = near_copies([identities.blinded(text) for text in (*texts, *measured)])
    found = np.zeros(len(texts), dtype=bool)
    found[[first for first, second in pairs if first < len(texts) <= second]] = True
    return found


def main() -> None:
    """Train and write adapters and linear scores, and write the sentences."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("output", type=Path)
    parser.add_argument("--encoder", default=MINILM)
    parser.add_argument("--adapters", type=Path)
    parser.add_argument("--vectors", type=Path)
    given = parser.parse_args()
    torch.manual_seed(SEED)
    rng = random.Random(SEED)
    texts, held_out = taught_texts(rng)
    file = given.adapters
    if file is None and given.encoder == MINILM:
        file = given.output / f"{ADAPTERS}.safetensors"
        adapt(PolicySimilarity().backbone, texts, rng, file)
    source = PolicySimilarity(encoder=given.encoder, adapters=None if file is None else str(file))
    vectors = {name: _vectors(source, name, some, given.vectors) for name, some in texts.items()}
    scores = taught(vectors, labels(texts), source.encoder_sha256)
    write_linear(scores, given.output / f"{LINEAR}.safetensors")
    write_sentences(given.output / "sentences.jsonl")
    for name, some in held_out.items():
        found = scores.scores(source.vectors([text.text for text in some]))[:, : -COMPONENTS or None]
        names = scores.outputs[: found.shape[1]]
        truth = [text.labels["hate"] for text in some]
        shown = (f"{score} {roc_auc_score(truth, column):.3f}" for score, column in zip(names, found.T, strict=True))
        print(f"{name}: AUC of hate by {', '.join(shown)}")


def taught_texts(rng: random.Random) -> tuple[Texts, Texts]:
    """Return training texts, balanced over kinds of label, and validation texts, by dataset."""
    taught, held_out = {}, {}
    taught[SENTENCES] = unmeasured(sentences(TAUGHT[SENTENCES], OF_SENTENCES))
    held_out[SENTENCES] = unmeasured(sentences(VALIDATED[SENTENCES], SEED + 1, held_out=True))
    tweets = {name: unmeasured(read_safety(name)) for name in (DAVIDSON, OLID)}
    for name, some in tweets.items():
        rng.shuffle(some)
        held_out[name] = some[: VALIDATED[name]]
        kinds: dict[tuple[int, int], list[SafetyText]] = {}
        for text in some[VALIDATED[name] :]:
            kinds.setdefault((text.labels["hate"], text.labels["toxicity"]), []).append(text)
        taught[name] = [text for of in kinds.values() for text in of[: TAUGHT[name] // len(kinds)]]
    return taught, held_out


def write_sentences(file: Path) -> None:
    """Write distinct training sentences for ensembles, from parts that were not used to train the scores."""
    found = {text.text: text.labels for text in unmeasured(sentences(*OF_ENSEMBLE, held_out=True))}
    rows = [{"text": text, "key": str(k), "labels": dict(labels)} for k, (text, labels) in enumerate(found.items())]
    write_whole(file, "".join(f"{json.dumps(row)}\n" for row in rows))


def unmeasured(texts: Sequence[SafetyText]) -> list[SafetyText]:
    """Return the texts that are not near copies of benchmark texts."""
    measured = [text.text for of in MEASURED for text in read_safety(of)]
    copies = copies_of([text.text for text in texts], measured, Identities())
    return [text for text, copy in zip(texts, copies, strict=True) if not copy]


def labels(texts: Texts) -> dict[str, tuple[str, NDArray[np.bool_]]]:
    """Return the training labels of each score: the name of its dataset (empty for all texts), and the labels."""
    found = {
        "hostility": (SENTENCES, "hate"),
        "hate": (DAVIDSON, "hate"),
        "toxicity": (DAVIDSON, "toxicity"),
        "offensive": (OLID, "toxicity"),
        "at_group": (OLID, "hate"),
        "any_hate": ("", "hate"),
    }
    every = [text for some in texts.values() for text in some]
    return {
        score: (of, np.array([text.labels[label] == 1 for text in (texts[of] if of else every)]))
        for score, (of, label) in found.items()
    }


def taught(vectors: dict[str, Array], labelled: dict[str, tuple[str, NDArray[np.bool_]]], encoder: str) -> LinearScores:
    """Fit a logistic regression for each score, and the principal components of all vectors with a fixed sign.

    Args:
        vectors: Vectors (N, D) of each dataset, by its name.
        labelled: Training labels of each score, see :func:`labels`.
        encoder: SHA-256 of the encoder's weights.
    """
    every = np.concatenate(list(vectors.values()))
    of = {**vectors, "": every}
    heads = [LogisticRegression(C=PENALTY, max_iter=2000).fit(of[name], truth) for name, truth in labelled.values()]
    found = PCA(COMPONENTS, svd_solver="full").fit(every)
    names = [f"component_{k}" for k in range(1, COMPONENTS + 1)]
    weights = np.concatenate([*(head.coef_ for head in heads), found.components_]).T
    intercepts = np.concatenate([*(head.intercept_ for head in heads), -found.components_ @ found.mean_])
    return LinearScores((*labelled, *names), weights, intercepts, encoder)


def _vectors(source: PolicySimilarity, name: str, texts: Sequence[SafetyText], folder: Path | None) -> Array:
    file = folder / f"{source.encoder_sha256[:12]}_{name}.npy" if folder else None
    if file and file.exists():
        return np.asarray(np.load(file))
    found = source.vectors([text.text for text in texts])
    if file:
        file.parent.mkdir(parents=True, exist_ok=True)
        np.save(file, found)
    return found


if __name__ == "__main__":
    main()
