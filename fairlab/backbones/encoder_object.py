"""Wrapper for any function from texts to vectors, measured by its embeddings alone."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any, NoReturn

import numpy as np
import torch
from torch import Tensor

from fairlab.types import CannotScore

PROBES = ("She is a nurse.", "He is a nurse.", "The river was wide.")  # texts whose vectors distinguish objects
AT_ONCE = 1024  # maximum number of texts per call


class EncoderObject:
    """Function from texts to vectors, as a model for embedding benchmarks.

    Args:
        encode: Function from a list of N texts to N vectors of one length: an array, a tensor or lists of numbers.
        name: Name of the object in messages.

    Attributes:
        on_first_embedding: Function that is called once, before the first text is embedded, or None.
    """

    def __init__(self, encode: Callable[[list[str]], Any], name: str) -> None:
        self.encode = encode
        self.name = name
        self.on_first_embedding: Callable[[EncoderObject], object] | None = None

    def __repr__(self) -> str:
        """Return a short description of the object."""
        return f"{self.name}, measured by its embeddings alone"

    def embed(self, texts: Sequence[str], *, budget: int = 0, progress: str = "") -> Tensor:
        """Return embeddings (N, D) of texts in input order: float32, on the CPU, each distinct text embedded once.

        Args:
            texts: Any number of texts.
            budget: Unused; the object forms its own batches.
            progress: Unused.

        Raises:
            CannotScore: If the object does not return one finite vector per text, all of one length.
        """
        del budget, progress
        if self.on_first_embedding is not None:
            check, self.on_first_embedding = self.on_first_embedding, None
            check(self)
        distinct = list(dict.fromkeys(texts))
        parts = [self._vectors(distinct[k : k + AT_ONCE]) for k in range(0, len(distinct), AT_ONCE)]
        if len({part.shape[1] for part in parts}) > 1:
            raise CannotScore(f"{self.name} gives vectors of different lengths; make all of one length")
        if not parts:
            return torch.empty(0, 0)
        row = {text: position for position, text in enumerate(distinct)}
        return torch.cat(parts)[[row[text] for text in texts]]

    def _vectors(self, texts: list[str]) -> Tensor:
        found = self.encode(texts)
        try:
            array = found.detach().float().cpu().numpy() if isinstance(found, Tensor) else np.asarray(found)
        except (TypeError, ValueError) as error:
            raise CannotScore(f"{self.name} gives no array of numbers ({error}); give one vector per text") from error
        if array.dtype.kind not in "fiu":
            raise CannotScore(f"{self.name} gives values of dtype {array.dtype}; give numbers")
        if array.ndim != 2 or len(array) != len(texts) or not array.shape[1]:
            raise CannotScore(
                f"{self.name} gives an array of shape {list(array.shape)} for {len(texts)} texts; give "
                f"[{len(texts)}, length of a vector]"
            )
        if not np.isfinite(array).all():
            raise CannotScore(f"{self.name} gives vectors with numbers that are not finite; mend it")
        return torch.from_numpy(np.ascontiguousarray(array, dtype=np.float32))

    def digest(self) -> str:
        """Return the SHA-256 of the embeddings of a few texts: equal for objects that embed alike."""
        return hashlib.sha256(self.embed(PROBES).numpy().tobytes()).hexdigest()

    def remembering(self) -> AbstractContextManager[None]:
        """Return a context without effect: the object embeds a text again in each call."""
        return nullcontext()

    @property
    def model(self) -> NoReturn:
        """Raise: the object has no weights for likelihood scoring or training.

        Raises:
            CannotScore: Always.
        """
        self._refuse()

    @property
    def tokenizer(self) -> NoReturn:
        """Raise, as :attr:`model`.

        Raises:
            CannotScore: Always.
        """
        self._refuse()

    @property
    def max_length(self) -> NoReturn:
        """Raise, as :attr:`model`.

        Raises:
            CannotScore: Always.
        """
        self._refuse()

    def _refuse(self) -> NoReturn:
        raise CannotScore(
            f"{self.name} gives embeddings alone, and this needs a model with its tokenizer; give (model, tokenizer)"
        )
