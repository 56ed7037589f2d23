"""Texts are parsed in lots, in order, and entities are found where asked for."""

import os
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest
import spacy

from fairlab.data.groups import read_groups
from fairlab.data.packed import rules_revision
from fairlab.text import pipeline
from fairlab.text.pipeline import (
    MODELS,
    NAMED,
    SPACY,
    load_pipeline,
    parse,
    parsing_with,
    refuse_unknown_pipeline,
    sentence_entities,
)
from fairlab.text.token_vectors import CachedVectors
from fairlab.types import FairlabError

NAMES, PLACES = ("John Smith", "Ali", "Peter", "Tom Baker"), ("Paris", "May", "Ohio")


def test_texts_are_parsed_in_order_in_lots_bounded_by_number_and_length(monkeypatch):
    texts = [f"Text {number} is short." for number in range(7)]
    whole = [[token.dep_ for token in doc] for doc in parse(texts)]
    for name, bound, lots in (("AT_ONCE", 3, [3, 3, 1]), ("CHARACTERS", 40, [3, 3, 1])):
        with monkeypatch.context() as patched:
            patched.setattr(pipeline, name, bound)
            assert [len(lot) for lot in pipeline._lots(texts)] == lots
            docs = list(parse(texts))
        assert [doc.text for doc in docs] == texts
        assert [[token.dep_ for token in doc] for doc in docs] == whole
    assert list(parse([])) == []


def test_entities_of_a_sentence_are_those_of_the_whole_document():
    text = "Anna Smith flew to Paris. Ben Miller lives in Rome.\u2029In May, she met Carl Jones of Siemens."
    (whole,) = parse([text], entities=True)
    (asked,) = parse([text], entities=lambda read: [read.index("Ben")])
    assert asked.user_data[NAMED].keys() == {asked.char_span(26, 29)[0].i}  # only the sentence that was asked for
    (left,) = parse([text])
    for doc in (whole, asked, left):
        assert [[one.text for one in sentence_entities(sentence[0])] for sentence in doc.sents] == [
            ["Anna Smith", "Paris"],
            ["Ben Miller", "Rome"],
            ["May", "Carl Jones", "Siemens"],
        ]


def test_documents_that_are_parsed_abreast_get_the_parse_of_spacy():
    texts = [f"{name} said that his old aunt left the house in {place}." for name in NAMES for place in PLACES]
    plain = spacy.load(MODELS[0]).pipe(texts)
    for ours, spacys in zip(parse(texts, entities=True), plain, strict=True):
        assert [(one.tag_, one.dep_, one.head.i) for one in ours] == [
            (one.tag_, one.dep_, one.head.i) for one in spacys
        ]
        assert [(one.text, one.label_) for one in ours.ents] == [(one.text, one.label_) for one in spacys.ents]


def test_the_environment_names_another_pipeline(monkeypatch):
    monkeypatch.delenv(SPACY, raising=False)
    usual, model = rules_revision(), load_pipeline().meta["name"]
    monkeypatch.setenv(SPACY, MODELS[0])
    assert load_pipeline().meta["name"] == model
    assert rules_revision() == usual + MODELS[0]
    monkeypatch.setenv(SPACY, "en_nowhere")
    with pytest.raises(FairlabError, match="the spaCy pipeline 'en_nowhere' is neither installed nor a folder"):
        load_pipeline()


@pytest.mark.parametrize("outside", [None, "en_outside"])
def test_a_run_chooses_its_pipeline_and_leaves_the_environment_as_it_was(monkeypatch, outside):
    monkeypatch.delenv(SPACY, raising=False)
    if outside:
        monkeypatch.setenv(SPACY, outside)
    with parsing_with(None):
        assert os.environ.get(SPACY) == outside
    with parsing_with("en_own"):
        assert os.environ[SPACY] == "en_own"
    assert os.environ.get(SPACY) == outside


def test_a_pipeline_is_installed_or_a_folder(tmp_path):
    refuse_unknown_pipeline(MODELS[0])
    with pytest.raises(FairlabError, match="is neither installed nor a folder"):
        refuse_unknown_pipeline(str(tmp_path))
    load_pipeline().to_disk(tmp_path)
    refuse_unknown_pipeline(str(tmp_path))
    with parsing_with(str(tmp_path)):
        assert [doc.text for doc in parse(["She left."])] == ["She left."]


def test_threads_that_parse_at_the_same_time_get_the_same_parses():
    cached = [
        layer._func
        for _, component in load_pipeline().components
        for layer in (component.model.walk() if getattr(component, "model", None) is not None else ())
        if isinstance(layer._func, CachedVectors)
    ]
    texts = [text for group in read_groups("embedded/people")[:60] for text in group.texts]
    expected = [[token.dep_ for token in doc] for doc in parse(texts)]
    assert cached
    for one in cached:
        one.places.clear()
        one.vectors = None
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        with ThreadPoolExecutor(4) as pool:
            parts = pool.map(lambda k: [[token.dep_ for token in doc] for doc in parse(texts[k::4])], range(4))
            found = list(parts)
    finally:
        sys.setswitchinterval(interval)
    assert found == [expected[k::4] for k in range(4)]
