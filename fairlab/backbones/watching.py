"""Observation of the texts that a model reads during measurement."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from fairlab.backbones.backbone import Backbone

Seen = Callable[[Sequence[str]], None]


class Watched:
    """Wrapper of a tokenizer, or of a sentence-transformers pipeline, that reports the texts it receives."""

    def __init__(self, watched: Any, seen: Seen) -> None:
        self._watched = watched
        self._seen = seen

    def __getattr__(self, name: str) -> Any:
        return getattr(self._watched, name)

    def __len__(self) -> int:
        return len(self._watched)

    def __call__(self, texts: str | Sequence[str], pairs: str | Sequence[str] | None = None, **settings: Any) -> Any:
        """Tokenize texts or pairs, and report each pair as one text."""
        columns = [[column] if isinstance(column, str) else column for column in (texts, pairs) if column is not None]
        self._seen([" ".join(row) for row in zip(*columns, strict=True)])
        return self._watched(texts, **settings) if pairs is None else self._watched(texts, pairs, **settings)

    def token_ids(self, texts: Sequence[str]) -> list[list[int]]:
        """Report the texts, and return their token ids, including the model's prompt."""
        self._seen(texts)
        return self._watched.token_ids(texts)  # type: ignore[no-any-return]


@contextmanager
def watching(backbone: Backbone, seen: Seen) -> Iterator[None]:
    """Call ``seen`` with every text that the model receives within the context."""
    tokenizer, published = backbone.tokenizer, backbone.published
    backbone.tokenizer = Watched(tokenizer, seen)  # type: ignore[assignment]
    backbone.published = None if published is None else Watched(published, seen)  # type: ignore[assignment]
    try:
        yield
    finally:
        backbone.tokenizer, backbone.published = tokenizer, published
