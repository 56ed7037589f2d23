"""Embeddings of texts as means of spaCy's static word vectors."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairlab.types import FairlabError, need_extra


class WordVectors:
    """Embedder that represents a text by the mean of its words' vectors, like spaCy's ``doc.vector``.

    A text without known words has the embedding zero.

    Args:
        name: Name of an installed spaCy pipeline, or its folder, such as ``en_core_web_lg`` (300 dimensions).

    Raises:
        FairlabError: There is no such pipeline, it has no word vectors (as is the case for small ones), or spaCy is not
            installed.
    """

    def __init__(self, name: str) -> None:
        need_extra("offline", f"spacy:{name}", "spacy")
        import spacy

        try:
            self.pipeline = spacy.load(name, exclude=["tok2vec", "tagger", "parser", "ner", "lemmatizer"])
        except (OSError, ValueError) as error:
            raise FairlabError(
                f"the spaCy pipeline {name} is not installed; install it with: python -m spacy download {name}"
            ) from error
        self.width = int(self.pipeline.vocab.vectors.shape[1])
        if not self.pipeline.vocab.vectors.shape[0] or not self.width:
            raise FairlabError(
                f"the spaCy pipeline {name} has no word vectors; use one that has them, such as en_core_web_lg"
            )

    @property
    def facts(self) -> dict[str, Any]:
        """Return the name and version of the pipeline, and the SHA-256 of its vectors."""
        meta, table = self.pipeline.meta, self.pipeline.vocab.vectors.data
        digest = hashlib.sha256(np.ascontiguousarray(table).tobytes()).hexdigest()
        return {"name": f"{meta['lang']}_{meta['name']} {meta['version']}", "sha256": digest}

    def __call__(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return embeddings (N, D) of the texts."""
        found = np.empty((len(texts), self.width), dtype=np.float32)
        for row, text in enumerate(texts):
            found[row] = self.pipeline.make_doc(text).vector
        return found
