"""Models without accessible weights: a function from texts to vectors, a scorer of texts, or both."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from typing import Any, NoReturn, Self

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from fairlab.backbones.scoring import TextScorer
from fairlab.backbones.writers import Writer
from fairlab.types import EMBEDDINGS, LIKELIHOODS, TEXTS, CannotScore, FairlabError

PROBES = ("She is a nurse.", "He is a nurse.", "The river was wide.")  # texts whose values distinguish objects
AT_ONCE = 1024  # maximum number of texts per call


@contextmanager
def calling(name: str) -> Iterator[None]:
    """Convert any error that an object's code raises within the context to a one-sentence error.

    The original error is kept as the cause.
    """
    try:
        yield
    except (FairlabError, MemoryError):
        raise
    except Exception as error:
        reason = " ".join(str(error).split())[:200]
        raise CannotScore(f"{name} raised an error ({type(error).__name__}: {reason}); fix it") from error


@dataclass(frozen=True)
class Limit:
    """Maximum length of the texts that an object reads without truncation.

    Attributes:
        tokens: Maximum number of tokens, including special tokens and the object's own prompt.
        count: Function that returns the number of tokens of each text before truncation.
    """

    tokens: int
    count: Callable[[list[str]], list[int]]


class ModelObject:
    """Model that is measured only by its outputs: embeddings, likelihoods or generated texts.

    Args:
        name: Name of the object in messages.
        encode: Function from a list of N texts to N vectors of one length: an array, a tensor or lists of numbers; or
            None if the object does not embed.
        scorer: Scorer that computes the likelihood of texts, or None if the object does not score texts.
        lacks: Reason why the object does not offer ``embeddings`` or ``token_log_probabilities``, if it is known.
        limit: Length to which the object truncates texts, or None if it is unknown.

    Attributes:
        cut: Hashes of the texts that exceed ``limit``. A caller that counts these texts must clear the set first.
        writer: Writer of texts, or None if the object does not write texts.
        gate: Result of the object's behaviour check, as text.
        on_first_embedding: Function that is called once, before the first text is embedded, or None.
    """

    def __init__(
        self,
        name: str,
        encode: Callable[[list[str]], Any] | None = None,
        scorer: TextScorer | None = None,
        lacks: Mapping[str, str] | None = None,
        limit: Limit | None = None,
    ) -> None:
        self.name = name
        self.encode = encode
        self.scorer = scorer
        self.writer: Writer | None = None
        self.lacks = dict(lacks or {})
        self.limit = limit
        self.cut: set[int] = set()
        self._width: int | None = None
        self.on_first_embedding: Callable[[ModelObject], object] | None = None
        self.gate = "not checked yet"

    @property
    def offers(self) -> frozenset[str]:
        """Return the abilities of the object that benchmarks can use."""
        given = {EMBEDDINGS: self.encode, LIKELIHOODS: self.scorer, TEXTS: self.writer}
        return frozenset(need for need, part in given.items() if part is not None)

    def __repr__(self) -> str:
        """Return a short description of the object."""
        measured = {EMBEDDINGS: "embeddings", LIKELIHOODS: "likelihoods", TEXTS: "texts"}
        own = "its own; texts that it cuts are not counted"
        said = f"{self.limit.tokens} tokens per text; longer texts are cut and counted" if self.limit else own
        cut = f"\n  limit: {said}" if EMBEDDINGS in self.offers else ""
        by = " and its ".join(word for need, word in measured.items() if need in self.offers)
        return f"{self.name}, measured by its {by}{'' if len(self.offers) > 1 else ' alone'}{cut}\n  gate: {self.gate}"

    def to(self, device: object) -> Self:
        """Return the object itself, without moving it."""
        del device
        return self

    def embed(self, texts: Sequence[str], *, budget: int = 0, progress: str = "") -> Tensor:
        """Return the embeddings (N, D) of texts, in input order.

        The embeddings are float32, on the CPU, and each distinct text is embedded once. ``budget`` and ``progress`` are
        unused, because the object forms its own batches.

        Raises:
            CannotScore: If the object does not return one finite vector per text, all of one length.
        """
        del budget, progress
        if self.on_first_embedding is not None:
            check, self.on_first_embedding = self.on_first_embedding, None
            check(self)
        distinct = list(dict.fromkeys(texts))
        if self.limit is not None and distinct:
            counts = zip(distinct, self.limit.count(distinct), strict=True)
            self.cut.update(hash(text) for text, count in counts if count > self.limit.tokens)
        parts = [self._vectors(distinct[k : k + AT_ONCE]) for k in range(0, len(distinct), AT_ONCE)]
        if not parts:
            return torch.empty(0, 0)
        row = {text: position for position, text in enumerate(distinct)}
        return torch.cat(parts)[[row[text] for text in texts]]

    def _vectors(self, texts: list[str]) -> Tensor:
        if self.encode is None:
            raise CannotScore(f"{self.name} {self.lacks.get(EMBEDDINGS, 'embeds no texts; give an encoder')}")
        with calling(self.name):
            found = self.encode(texts)
            found = list(found) if isinstance(found, Iterator) else found
        try:
            array = _as_array(found)
        except (TypeError, ValueError, RuntimeError) as error:
            reason = " ".join(str(error).split())[:200]
            raise CannotScore(
                f"{self.name} returns no array of numbers ({reason}); return one vector per text"
            ) from error
        if array.dtype == object:
            raise CannotScore(
                f"{self.name} returns a {type(found).__name__} that is not an array; return one vector per text"
            )
        if array.dtype.kind not in "fiu":
            raise CannotScore(f"{self.name} returns values of dtype {array.dtype}; return numbers")
        if array.ndim != 2 or len(array) != len(texts) or not array.shape[1]:
            raise CannotScore(
                f"{self.name} returns an array of shape {list(array.shape)} for {len(texts)} texts; return "
                f"[{len(texts)}, length of a vector]"
            )
        with np.errstate(over="ignore"):
            vectors = np.ascontiguousarray(array, dtype=np.float32)
        if not np.isfinite(vectors).all():
            raise CannotScore(f"{self.name} returns vectors with numbers that are not finite in float32; fix it")
        self._width = self._width or vectors.shape[1]
        if vectors.shape[1] != self._width:
            raise CannotScore(
                f"{self.name} returns vectors of length {vectors.shape[1]} after vectors of length {self._width}; make "
                "all of one length"
            )
        return torch.from_numpy(vectors)

    def digest(self) -> str:
        """Return the SHA-256 of the object's outputs for a few texts, which identifies the object."""
        found = b"" if self.encode is None else self.embed(PROBES).numpy().tobytes()
        if self.scorer is not None:
            found += self.scorer.log_likelihoods(PROBES).sums.tobytes()
        if not found:  # it only writes texts
            found = self.name.encode()
        return hashlib.sha256(found).hexdigest()

    def remembering(self) -> AbstractContextManager[None]:
        """Return a context that has no effect, because the object embeds a text again in each call."""
        return nullcontext()

    def _refuse(self) -> NoReturn:
        """Raise CannotScore, because the object has no weights to train."""
        raise CannotScore(f"{self.name} has no weights, which are needed here; give (model, tokenizer)")

    model = tokenizer = max_length = property(_refuse)


def _as_array(found: Any) -> NDArray[Any]:
    """Convert an object's output to a dense array of numbers, with NaN for masked numbers."""
    if isinstance(found, Tensor):
        dense = (found.to_dense() if found.is_sparse else found).detach()
        return (dense if dense.is_complex() else dense.float()).cpu().numpy()
    if hasattr(found, "toarray"):  # scipy
        found = found.toarray()
    if isinstance(found, np.ma.MaskedArray):
        found = np.ma.filled(found.astype(float), np.nan)
    return np.asarray(found)
