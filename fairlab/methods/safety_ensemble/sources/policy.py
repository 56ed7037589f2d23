"""How near a text is to the sentences of a content policy, by a sentence encoder.

Shape letters: N texts, S sentences, H harms that the sentences are of.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from fairlab.backbones.loading import EMBEDDED, find_weights, held_weights, load_backbone
from fairlab.distributed import device
from fairlab.files import sha256
from fairlab.methods.safety_ensemble.sources.base import LISTS, Source
from fairlab.types import DataUnavailable, FairlabError

MINILM, POLICY = "minilm", "policy"  # what comes with fairlab
PUBLISHED_AS = "sentence-transformers/all-MiniLM-L6-v2"
TOKENS = 128  # of a text that are read, at most


class PolicySimilarity(Source):
    """For each harm the greatest cosine similarity of a text with a sentence of it.

    A text is the mean of its token vectors, scaled to unit length, as MiniLM and mpnet were published.

    Args:
        encoder: folder or hub name of a sentence encoder, or ``minilm``, whose weights the extra ``offline`` brings.
        path: path of a file with ``HARM: SENTENCE`` on a line, in which a line that begins with ``# `` says something
            of the file; or ``policy``, the sentences that come with fairlab.
        name: name of the source, unique within an ensemble.

    Raises:
        DataUnavailable: there is no such file.
        FairlabError: the encoder cannot be had, or a line is no sentence of a harm.
    """

    title = "similarity with sentences of a policy"
    limits = "Nearness of subjects: a text that condemns what a sentence names is as near as one that threatens it."
    citation = "The sentences and the score are fairlab's own."
    paths = ("encoder", "path")
    copied = ("path",)
    hub = "encoder"
    built_in = (MINILM, POLICY)

    def __init__(self, *, encoder: str = MINILM, path: str = POLICY, name: str = "embedding") -> None:
        self.name = name
        file = LISTS / f"{POLICY}.txt" if path == POLICY else Path(path)
        sentences = read_policy(file)
        weights, package = (PUBLISHED_AS, EMBEDDED) if encoder == MINILM else (encoder, None)
        self.backbone = load_backbone(weights, package=package, pooling="mean", max_length=None, normalize=True)
        self.backbone.to(device())
        self.backbone.max_length = min(self.backbone.max_length, TOKENS)
        self.outputs = tuple(sentences)
        self.version = sha256(file, *held_weights(find_weights(weights, package=package)))
        self.policy_SD = self._embedded([one for some in sentences.values() for one in some])
        self.starts_H = np.cumsum([0, *(len(some) for some in sentences.values())])[:-1]

    def score(self, texts: Sequence[str]) -> NDArray[np.float64]:
        """Similarities (N, H) in [-1, 1]."""
        if not texts:
            return np.empty((0, len(self.outputs)))
        return np.asarray(np.maximum.reduceat(self._embedded(texts) @ self.policy_SD.T, self.starts_H, axis=1))

    def _embedded(self, texts: Sequence[str]) -> NDArray[np.float64]:
        return np.asarray(self.backbone.embed(texts).double().cpu().numpy())


def read_policy(file: Path) -> dict[str, list[str]]:
    """Sentences by harm, in the order of the file.

    Raises:
        DataUnavailable: there is no such file.
        FairlabError: a line is no sentence of a harm, or there is none.
    """
    if not file.is_file():
        raise DataUnavailable(f"{file} is no policy; give a file with HARM: SENTENCE on each line, or {POLICY}")
    found: dict[str, list[str]] = {}
    for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), start=1):
        if line.strip() and not line.startswith("# "):
            harm, _, sentence = (part.strip() for part in line.partition(":"))
            if not harm or not sentence:
                raise FairlabError(f"{file}, line {number} is no sentence of a harm; write HARM: SENTENCE")
            found.setdefault(harm, []).append(sentence)
    if not found:
        raise FairlabError(f"{file} holds no sentence; give a file with HARM: SENTENCE on each line")
    return found
