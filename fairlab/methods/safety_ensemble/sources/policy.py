"""Similarity of texts to the sentences of a content policy, and linear scores, from a sentence encoder.

Shape letters: N texts, S sentences, H harms of the sentences, D vector components, L linear scores.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from fairlab.backbones.loading import EMBEDDED, find_weights, held_weights, load_backbone
from fairlab.backbones.trust import loading
from fairlab.distributed import device
from fairlab.files import sha256
from fairlab.methods.safety_ensemble.sources.base import LISTS, Source
from fairlab.methods.safety_ensemble.sources.linear_scores import read_linear
from fairlab.text.reading import text_lines
from fairlab.types import DataUnavailable, FairlabError

if TYPE_CHECKING:
    from fairlab.backbones.backbone import Backbone

# Names of the parts that come with fairlab.
MINILM, POLICY, LINEAR, ADAPTERS = "minilm", "policy", "linear", "adapters"
PUBLISHED_AS = "sentence-transformers/all-MiniLM-L6-v2"
TOKENS = 128  # maximum number of tokens per text
AT_ONCE = 1_024  # tokens in a forward pass; more are no faster, and a server keeps the memory that they take


class PolicySimilarity(Source):
    """Source of a text's maximum cosine similarity with the sentences of each harm, and of linear scores.

    The vector of a text is the mean of its token vectors, scaled to unit length, as in the published MiniLM and mpnet.

    Args:
        encoder: Folder or hub name of a sentence encoder, or ``minilm``, whose weights come with the extra ``offline``.
        path: Path of a file with lines ``HARM: SENTENCE`` and comment lines that begin with ``# ``; or ``policy`` for
            the sentences included in fairlab.
        linear: Path of a file of linear scores made for the encoder; ``linear`` for MiniLM's scores included in
            fairlab; or None for only the similarities.
        adapters: Path of low-rank adapters that are merged into the encoder; ``adapters`` for MiniLM's adapters
            included in fairlab; or None for the published encoder. Linear scores are valid only for an encoder with the
            same adapters.
        name: Name of the source, unique within an ensemble.

    Raises:
        DataUnavailable: A file does not exist.
        FairlabError: The encoder is not available, the adapters or linear scores belong to another encoder, or a line
            does not have the form ``HARM: SENTENCE``.
    """

    title = "similarity with sentences of a policy, and linear scores of the sentence vector"
    limits = (
        "Similarity is about subjects: a text that condemns something is as near to a sentence as one that threatens "
        "it. The linear scores were trained on tweets of 2017 to 2019, and on generated sentences about "
        "groups."
    )
    citation = (
        "The sentences and the scores are fairlab's own; the linear scores were trained on the tweets of Davidson et "
        "al. 2017 and Zampieri et al. 2019, and on fairlab's own sentences."
    )
    paths = ("encoder", "path", "linear", "adapters")
    copied = ("path", "linear", "adapters")
    hub = "encoder"
    built_in = (MINILM, POLICY, LINEAR, ADAPTERS)

    def __init__(
        self,
        *,
        encoder: str = MINILM,
        path: str = POLICY,
        linear: str | None = None,
        adapters: str | None = None,
        name: str = "embedding",
    ) -> None:
        self.name = name
        file = LISTS / f"{POLICY}.txt" if path == POLICY else Path(path)
        sentences = read_policy(file)
        weights, package = (PUBLISHED_AS, EMBEDDED) if encoder == MINILM else (encoder, None)
        self.backbone = load_backbone(weights, package=package, pooling="mean", max_length=None, normalize=True)
        self.backbone.to(device())
        self.backbone.max_length = min(self.backbone.max_length, TOKENS)
        self.outputs = tuple(sentences)
        held = held_weights(find_weights(weights, package=package))
        if adapters is not None:
            of_adapters = LISTS / f"{ADAPTERS}.safetensors" if adapters == ADAPTERS else Path(adapters)
            _merge(self.backbone, of_adapters)
            held.append(of_adapters)
        self.encoder_sha256 = sha256(*held)
        self.version = sha256(file, *held)
        self.linear = None
        if linear is not None:
            of_linear = LISTS / f"{LINEAR}.safetensors" if linear == LINEAR else Path(linear)
            self.linear = read_linear(of_linear, self.encoder_sha256)
            self.outputs += tuple(f"linear_{output}" for output in self.linear.outputs)
            self.version = sha256(file, of_linear, *held)
        self.policy_SD = self.vectors([one for some in sentences.values() for one in some])
        self.starts_H = np.cumsum([0, *(len(some) for some in sentences.values())])[:-1]

    def score(self, texts: Sequence[str]) -> NDArray[np.float64]:
        """Return similarities in [-1, 1] and linear scores, (N, H + L)."""
        if not texts:
            return np.empty((0, len(self.outputs)))
        vectors_ND = self.vectors(texts)
        near_NH = np.maximum.reduceat(vectors_ND @ self.policy_SD.T, self.starts_H, axis=1)
        return np.concatenate([near_NH, self.linear.scores(vectors_ND)], axis=1) if self.linear else near_NH

    def vectors(self, texts: Sequence[str]) -> NDArray[np.float64]:
        """Return the sentence vectors (N, D) of unit length."""
        embedded = self.backbone.embed(texts, budget=AT_ONCE, side_by_side=True)
        self.backbone.cut.clear()  # would grow as long as a server runs
        return np.asarray(embedded.double().cpu().numpy())


def _merge(backbone: Backbone, file: Path) -> None:
    """Merge low-rank adapters into an encoder.

    Raises:
        DataUnavailable: The file does not exist.
        FairlabError: The file contains no adapters for this encoder.
    """
    from fairlab.backbones.adapters import merge_adapters

    if not file.is_file():
        raise DataUnavailable(f"{file} is not a file of adapters; give one, or set adapters=null and linear=null")
    try:
        with loading(f"the adapters {file}"):
            merge_adapters(backbone.model, file)
    except FairlabError as error:
        raise FairlabError(f"{error}; give adapters of this encoder, or set adapters=null and linear=null") from error


def read_policy(file: Path) -> dict[str, list[str]]:
    """Read the sentences of a policy, by harm and in the order of the file.

    Raises:
        DataUnavailable: The file does not exist.
        FairlabError: A line does not have the form ``HARM: SENTENCE``, or the file has no sentence.
    """
    if not file.is_file():
        raise DataUnavailable(f"{file} is not a policy; give a file with HARM: SENTENCE on each line, or {POLICY}")
    found: dict[str, list[str]] = {}
    for number, line in enumerate(text_lines(file), start=1):
        if line.strip() and not line.startswith("# "):
            harm, _, sentence = (part.strip() for part in line.partition(":"))
            if not harm or not sentence:
                raise FairlabError(f"{file}, line {number} is not a sentence of a harm; write HARM: SENTENCE")
            found.setdefault(harm, []).append(sentence)
    if not found:
        raise FairlabError(f"{file} contains no sentence; give a file with HARM: SENTENCE on each line")
    return found
