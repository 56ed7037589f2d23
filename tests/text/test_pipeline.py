"""Texts are parsed in lots, in order, and entities are found where asked for."""

import os

import pytest

from fairlab.data.packed import rules_revision
from fairlab.text import pipeline
from fairlab.text.pipeline import (
    MODELS,
    SPACY,
    load_pipeline,
    name_entities,
    parse,
    parsing_with,
    refuse_unknown_pipeline,
)
from fairlab.types import FairlabError


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


def test_entities_are_found_where_asked_for_and_later_the_same():
    texts = ["Anna Smith flew to Paris.", "Ben Miller lives in Rome."]
    asked, left = parse(texts, entities=lambda text: "Paris" in text)
    assert [entity.text for entity in asked.ents] == ["Anna Smith", "Paris"]
    assert not left.has_annotation("ENT_IOB")
    assert [entity.text for entity in name_entities(left).ents] == [
        entity.text for entity in list(parse(texts, entities=True))[1].ents
    ]


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
