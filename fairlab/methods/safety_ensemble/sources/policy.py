"""Similarity of a text to the sentences of a content policy, by a sentence encoder.

Shape letters: N texts, S sentences, H harms of the sentences.
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
from fairlab.text.reading import text_lines
from fairlab.types import DataUnavailable, FairlabError

MINILM, POLICY = "minilm", "policy"  # names of the parts that come with fairlab
PUBLISHED_AS = "sentence-transformers/all-MiniLM-L6-v2"
TOKENS = 128  # maximum number of tokens read of a text


class PolicySimilarity(Source):
    """Source of a text's maximum cosine similarity, per harm, with the sentences of the harm.

    A text is the mean of its token vectors, scaled to unit length, as MiniLM and mpnet were published.

    Args:
        encoder: Folder or hub name of a sentence encoder, or ``minilm``, whose weights come with the extra ``offline``.
        path: Path of a file with lines ``HARM: SENTENCE`` and comment lines that begin with ``# ``; or ``policy``, the
            sentences that come with fairlab.
        name: Name of the source, unique within an ensemble.

    Raises:
        DataUnavailable: The file does not exist.
        FairlabError: The encoder is not available, or a line is not a sentence of a harm.
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
        """Return similarities (N, H) in [-1, 1]."""
        if not texts:
            return np.empty((0, len(self.outputs)))
        return np.asarray(np.maximum.reduceat(self._embedded(texts) @ self.policy_SD.T, self.starts_H, axis=1))

    def _embedded(self, texts: Sequence[str]) -> NDArray[np.float64]:
        return np.asarray(self.backbone.embed(texts).double().cpu().numpy())


def read_policy(file: Path) -> dict[str, list[str]]:
    """Read sentences by harm, in the order of the file.

    Raises:
        DataUnavailable: The file does not exist.
        FairlabError: A line is not a sentence of a harm, or the file has no sentence.
    """
    if not file.is_file():
        raise DataUnavailable(f"{file} is no policy; give a file with HARM: SENTENCE on each line, or {POLICY}")
    found: dict[str, list[str]] = {}
    for number, line in enumerate(text_lines(file), start=1):
        if line.strip() and not line.startswith("# "):
            harm, _, sentence = (part.strip() for part in line.partition(":"))
            if not harm or not sentence:
                raise FairlabError(f"{file}, line {number} is no sentence of a harm; write HARM: SENTENCE")
            found.setdefault(harm, []).append(sentence)
    if not found:
        raise FairlabError(f"{file} holds no sentence; give a file with HARM: SENTENCE on each line")
    return found
