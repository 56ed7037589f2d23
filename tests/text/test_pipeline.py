"""Texts are parsed in lots, in order, and entities are found where asked for."""

import pytest

from fairlab.data.packed import rules_revision
from fairlab.text import pipeline
from fairlab.text.pipeline import MODELS, SPACY, load_pipeline, name_entities, parse
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
    usual = rules_revision.__wrapped__()
    monkeypatch.setenv(SPACY, MODELS[0])
    assert load_pipeline.__wrapped__().meta["name"] == load_pipeline().meta["name"]
    assert rules_revision.__wrapped__() == usual + MODELS[0]
    monkeypatch.setenv(SPACY, "en_nowhere")
    with pytest.raises(FairlabError, match="FAIRLAB_SPACY=en_nowhere is no pipeline of spaCy that is installed"):
        load_pipeline.__wrapped__()
