"""What a run starts from, and what it says of it."""

from types import SimpleNamespace

import pytest
from omegaconf import OmegaConf

from fairlab.run import starting
from fairlab.run.config.backbone_nodes import LOAD
from fairlab.run.starting import (
    IN_4_BITS,
    Pretrained,
    SourceClassifiers,
    announce_backbone,
    decoder_is_tied,
    starting_point,
)
from fairlab.types import FairlabError


@pytest.mark.parametrize(
    ("backbone", "method", "loader"),
    [
        ({"_target_": LOAD}, {"quantize": True}, IN_4_BITS),
        ({"_target_": LOAD, "gguf": None}, {"quantize": True}, IN_4_BITS),
        ({"_target_": LOAD, "gguf": "m.gguf"}, {"quantize": True}, LOAD),
        ({"_target_": LOAD}, {"quantize": False}, LOAD),
        ({"_target_": LOAD}, {}, LOAD),
        ({"_target_": LOAD}, None, LOAD),
        ({"_target_": "builtins.dict"}, {"quantize": True}, "builtins.dict"),
    ],
)
def test_weights_are_loaded_in_4_bits_if_a_method_keeps_them_so(monkeypatch, backbone, method, loader):
    monkeypatch.setattr(starting, "build", lambda node: node["_target_"])
    found = starting_point(OmegaConf.create({"backbone": backbone, "method": method}))
    assert (type(found), found.model) == (Pretrained, loader)


@pytest.mark.parametrize(
    ("size", "parts", "words"),
    [(None, 1, ""), (1024, 1, ", 1,024 items per step"), (8, 2, ", 8 items per step, accumulated from 2 parts")],
)
def test_the_data_is_announced_with_the_items_of_a_step(monkeypatch, size, parts, words):
    monkeypatch.setattr(starting, "build", lambda node: None)
    found = Pretrained(OmegaConf.create({"backbone": {"_target_": LOAD}, "data": {"batch_size": size}}))
    assert found.announcement({"trained_on": "9 groups"}, parts) == f"trained on 9 groups{words}"


@pytest.mark.parametrize(
    ("config", "said"),
    [
        ({"scale": {"name": "paper"}, "backbone": {"name": "m"}}, "paper scale: the backbone is m\n"),
        (
            {"scale": {"name": "quickstart"}, "backbone": {"name": "m", "adapters": "a", "stands_for": "b"}},
            "quickstart scale: the backbone is m with the adapters a, used instead of b, which scale=paper trains\n",
        ),
        ({"scale": {"name": "paper"}, "backbone": None}, ""),
        ({"backbone": {"name": "m"}}, ""),
    ],
)
def test_the_backbone_is_announced_with_what_it_stands_for(capsys, config, said):
    announce_backbone(OmegaConf.create(config))
    assert capsys.readouterr().out == said


def test_an_ensemble_starts_from_sources():
    with pytest.raises(FairlabError, match=r"needs source classifiers; give source=\[NAME,NAME\]"):
        starting_point(OmegaConf.create({"backbone": None, "source": {}}))
    sentiment = {"_target_": "fairlab.methods.safety_ensemble.sources.sentiment.Sentiment"}
    found = starting_point(OmegaConf.create({"source": {"a": sentiment}}))
    assert isinstance(found, SourceClassifiers)
    assert found.announcement({"trained_on": "9 texts"}, 1) == "9 texts, 4 scores of 1 sources"


def test_an_output_layer_is_tied_if_its_weights_are_those_of_the_words():
    words, others = (SimpleNamespace(weight=object()) for _ in range(2))

    def tied(output):
        model = SimpleNamespace(get_output_embeddings=lambda: output, get_input_embeddings=lambda: words)
        return decoder_is_tied(SimpleNamespace(model=model))

    assert [tied(output) for output in (words, others, None)] == [True, False, None]
