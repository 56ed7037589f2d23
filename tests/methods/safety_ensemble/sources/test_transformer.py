"""Sequence classifiers and Detoxify checkpoints as sources, on tiny random weights."""

from __future__ import annotations

import json
import shutil

import numpy as np
import pytest
import torch
from transformers import AutoModelForSequenceClassification, AutoTokenizer, BertConfig, BertForSequenceClassification

from fairlab.methods.safety_ensemble.sources.detoxify import Detoxify
from fairlab.methods.safety_ensemble.sources.transformer import TransformersClassifier
from fairlab.types import DataUnavailable, FairlabError

TEXTS = ["The boat is late.", "A long sentence about a garden, a river and a bridge.", "Yes."]


@pytest.fixture
def folder(tmp_path, tokenizer):
    torch.manual_seed(0)
    config = BertConfig(
        vocab_size=30522,
        hidden_size=16,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=16,
        max_position_embeddings=64,
        id2label={0: "calm", 1: "rude", 2: "grim"},
        label2id={"calm": 0, "rude": 1, "grim": 2},
    )
    BertForSequenceClassification(config).save_pretrained(tmp_path / "model")
    tokenizer.save_pretrained(tmp_path / "model")
    return tmp_path / "model"


def test_a_classifier_gives_what_it_gives_text_by_text(folder, tokenizer):
    source = TransformersClassifier(name=str(folder))
    assert source.outputs == ("calm", "rude", "grim")
    scores = source.score(TEXTS)
    model = AutoModelForSequenceClassification.from_pretrained(folder).eval()
    with torch.inference_mode():
        alone = [model(**tokenizer(text, return_tensors="pt")).logits[0].softmax(-1).numpy() for text in TEXTS]
    np.testing.assert_allclose(scores, np.stack(alone), atol=1e-6)
    assert len(source.version) == 64
    long = "boat " * 100  # longer than the 64 tokens that the model reads
    np.testing.assert_allclose(source.score([long]), source.score([long[:-50]]), atol=1e-6)
    with pytest.raises(DataUnavailable, match="cannot be loaded"):
        TransformersClassifier(name=str(folder.parent / "nothing"))


@pytest.mark.parametrize("change", [{"problem_type": "multi_label_classification"}, {"num_labels": 1}])
def test_labels_that_may_occur_together_have_a_probability_each(folder, tokenizer, change):
    model = AutoModelForSequenceClassification.from_pretrained(folder, ignore_mismatched_sizes=True, **change)
    model.save_pretrained(folder)
    with torch.inference_mode():
        alone = [model.eval()(**tokenizer(text, return_tensors="pt")).logits[0].sigmoid().numpy() for text in TEXTS]
    np.testing.assert_allclose(TransformersClassifier(name=str(folder)).score(TEXTS), np.stack(alone), atol=1e-6)


def test_a_causal_classifier_whose_tokenizer_has_no_padding(tiny_folders, tmp_path):
    torch.manual_seed(0)
    made = AutoModelForSequenceClassification.from_pretrained(tiny_folders["gpt2"], num_labels=2)
    made.config.pad_token_id = None
    made.save_pretrained(tmp_path)
    tokenizer = AutoTokenizer.from_pretrained(tiny_folders["gpt2"])
    tokenizer.pad_token = None
    tokenizer.save_pretrained(tmp_path)
    with torch.inference_mode():
        alone = [made.eval()(**tokenizer(text, return_tensors="pt")).logits[0].softmax(-1).numpy() for text in TEXTS]
    np.testing.assert_allclose(TransformersClassifier(name=str(tmp_path)).score(TEXTS), np.stack(alone), atol=1e-6)


def test_an_encoder_without_a_trained_head_is_no_classifier(tiny_folders):
    with pytest.raises(FairlabError, match=r"has no weights classifier.bias, classifier.weight.* would be random"):
        TransformersClassifier(name=str(tiny_folders["bert"]))


def test_classifiers_go_to_the_device_that_is_there(folder, monkeypatch):
    monkeypatch.setattr("fairlab.methods.safety_ensemble.sources.transformer.device", lambda: "meta")
    assert TransformersClassifier(name=str(folder)).model.device.type == "meta"


@pytest.mark.gpu
def test_a_gpu_gives_the_scores_of_a_cpu(folder, monkeypatch):
    source = TransformersClassifier(name=str(folder))
    assert source.model.device.type == "cuda"
    scores = source.score(TEXTS)
    monkeypatch.setattr("fairlab.methods.safety_ensemble.sources.transformer.device", lambda: "cpu")
    np.testing.assert_allclose(scores, TransformersClassifier(name=str(folder)).score(TEXTS), atol=1e-4)


def test_a_detoxify_checkpoint_gives_all_its_outputs(folder, tmp_path):
    model = AutoModelForSequenceClassification.from_pretrained(folder)
    settings = {
        "arch": {"args": {"num_classes": 3, "model_type": "bert-base-uncased"}},
        "dataset": {"args": {"classes": ["toxicity", "insult"], "identity_classes": ["female"]}},
    }
    file = tmp_path / "toxic.ckpt"
    torch.save({"config": settings, "state_dict": model.state_dict()}, file)
    source = Detoxify(checkpoint=str(file), config=str(folder))
    assert source.outputs == ("toxicity", "insult", "female")
    with torch.inference_mode():
        expected = model.eval()(**source.tokenizer(TEXTS[:1], return_tensors="pt")).logits.sigmoid().numpy()
    np.testing.assert_allclose(source.score(TEXTS)[:1], expected, atol=1e-6)
    torch.save({"weights": 1}, file)
    with pytest.raises(FairlabError, match="is not a checkpoint of Detoxify"):
        Detoxify(checkpoint=str(file), config=str(folder))
    with pytest.raises(DataUnavailable, match="give a checkpoint file"):
        Detoxify(checkpoint=str(tmp_path / "none.ckpt"))


def test_a_detoxify_checkpoint_declares_no_more_than_it_holds(folder, tmp_path):
    model = AutoModelForSequenceClassification.from_pretrained(folder)
    file, config = tmp_path / "toxic.ckpt", tmp_path / "config"
    shutil.copytree(folder, config, ignore=shutil.ignore_patterns("*.safetensors"))

    def save(count=3, **weights):
        arguments = {"num_classes": count, "model_type": "bert-base-uncased"}
        settings = {"arch": {"args": arguments}, "dataset": {"args": {"classes": ["a"] * min(count, 10_000)}}}
        torch.save({"config": settings, "state_dict": model.state_dict() | weights}, file)
        return Detoxify(checkpoint=str(file), config=str(config))

    assert save().outputs == ("a", "a", "a")
    sparse = torch.sparse_coo_tensor(torch.zeros(1, 1, dtype=torch.long), torch.ones(1), (10**12,))
    with pytest.raises(FairlabError, match="save it again with dense tensors"):
        save(**{"classifier.bias": sparse})
    with pytest.raises(FairlabError, match=r"into the encoder .* cannot be loaded"):
        save(**{"classifier.bias": torch.zeros(5)})
    with pytest.raises(FairlabError, match="names 0 of its 0 outputs"):
        save(count=0)
    with pytest.raises(FairlabError, match="names 10000 of its 10000 outputs"):
        save(count=10_000)
    content = json.loads((config / "config.json").read_text())
    (config / "config.json").write_text(json.dumps(content | {"num_hidden_layers": 10**9}))
    with pytest.raises(FairlabError, match="declares num_hidden_layers=1000000000"):
        save()
