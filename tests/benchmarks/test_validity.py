"""The gate before any reading: what is broken is not measured, and what knows no language is said to."""

import shutil

import pytest
import torch
from transformers import PreTrainedTokenizerFast

from fairlab.backbones.backbone import Backbone
from fairlab.backbones.loading import load_backbone
from fairlab.benchmarks.runner import measure
from fairlab.benchmarks.validity import validity
from fairlab.record import Outcome, Reading, Record

HOW = {"pooling": "mean", "max_length": 32, "normalize": False}


class Counted:
    """A benchmark that gives one reading, and counts how often it was asked."""

    def __init__(self, name):
        self.name, self.asked = name, 0

    version = 1

    def measure(self, backbone, before=None):
        self.asked += 1
        reading = Reading(self.name, "all", "gap", 0.1, "points", 0.0, 8, 0.0, 0.2, headline=True)
        return Outcome(readings=[reading])


def measured(backbone, folder):
    benchmarks = [Counted("one"), Counted("two")]
    record = Record(folder, {"seed": 0}, "command")
    measure(benchmarks, backbone, "", record)
    return record, [benchmark.asked for benchmark in benchmarks]


def assert_not_run(backbone, folder, reason):
    record, asked = measured(backbone, folder)
    assert asked == [0, 0]
    assert not record.readings
    assert [entry.benchmark for entry in record.not_run] == ["one", "two"]
    for entry in record.not_run:
        assert reason in entry.reason


def test_a_model_without_its_tokenizer_is_not_measured(tiny_folders, tmp_path):
    folder = tmp_path / "model"
    shutil.copytree(tiny_folders["bert"], folder)
    (folder / "tokenizer.json").unlink()
    backbone = load_backbone(str(folder), **HOW)
    assert_not_run(backbone, tmp_path, "unknown to the tokenizer, which has 5; is its file (tokenizer.json) missing")


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_weights_that_are_not_finite(tiny, tmp_path, value):
    with torch.no_grad():
        tiny.model.encoder.layer[1].output.dense.weight[3, 4] = value
    assert_not_run(
        tiny, tmp_path, "the weights model.encoder.layer.1.output.dense.weight hold values that are not finite"
    )


def test_texts_that_cannot_be_told_apart(tiny, tmp_path):
    with torch.no_grad():
        tiny.model.encoder.layer[1].output.LayerNorm.weight.zero_()
    assert_not_run(tiny, tmp_path, "have the same embedding; every gap would be 0")


def test_a_tokenizer_of_a_larger_model(tiny, tmp_path):
    tiny.model.resize_token_embeddings(30_000)
    assert_not_run(tiny, tmp_path, "the tokenizer gives token 30521 to a model of 30000 tokens")


def test_embeddings_that_overflow(tiny, tmp_path):
    with torch.no_grad():
        tiny.model.encoder.layer[1].output.LayerNorm.weight.fill_(3e38)
    assert_not_run(tiny, tmp_path, "embeddings of plain sentences are not finite")


@pytest.mark.parametrize("name", ["bert_mlm", "roberta_mlm", "albert_mlm", "gpt2", "llama"])
def test_a_language_model_of_random_weights_is_said_to_be_one_at_every_reading(tiny_folders, tmp_path, name):
    record, asked = measured(load_backbone(str(tiny_folders[name]), **HOW), tmp_path)
    assert asked == [1, 1]
    assert [note.benchmark for note in record.notes] == ["one", "two"]
    for note in record.notes:
        assert note.text.startswith("random or untrained weights: as a language model it is no better than chance")


def test_an_encoder_of_random_weights_passes_for_nobody_can_tell(tiny, tmp_path):
    record, asked = measured(tiny, tmp_path)
    assert asked == [1, 1]
    assert not record.notes


@pytest.mark.parametrize("name", ["minilm", "minilm_mlm"])
def test_trained_models_pass_without_a_word(name):
    from tests.conftest import MINILM

    adapters = {"adapters": "minilm_mlm"} if name == "minilm_mlm" else {}
    backbone = load_backbone(**MINILM, pooling="mean", max_length=128, normalize=True, **adapters)
    found = validity(backbone)
    assert (found.reason, found.note) == ("", "")


def test_a_tokenizer_that_gives_no_token(tiny, tmp_path):
    from tokenizers import Tokenizer, models

    nothing = PreTrainedTokenizerFast(tokenizer_object=Tokenizer(models.BPE({"[PAD]": 0}, [])), pad_token="[PAD]")
    backbone = Backbone(tiny.model, nothing, pooling="mean", max_length=32, normalize=False)
    assert_not_run(backbone, tmp_path, "all tokens of plain English are unknown")
