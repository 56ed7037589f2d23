"""Sequence classifiers on tiny random models."""

import numpy as np
import pytest
import torch
from transformers import AutoModelForSequenceClassification

from fairlab.backbones.adapters import FILE, LoRA, add_adapters, merge_adapters, remove_adapters, save_adapters
from fairlab.backbones.backbone import pad
from fairlab.backbones.classification import SCORE, Classifier, encode, outputs, with_classifier
from fairlab.backbones.loading import load_backbone
from fairlab.backbones.projection import away_from, project
from fairlab.types import CannotScore, FairlabError

HOW = {"pooling": "mean", "max_length": 32, "normalize": False}
LABELS = ("entailment", "neutral", "contradiction")
PAIRS = [
    ("he saw the river", "it was wide"),
    ("it was wide", "he saw the river"),
    ("a clock", "she read the letter by the piano in the old house"),
    ("he saw the river", "it was wide"),
    ("a clock", "it"),
]
KINDS = ["bert", "bert_mlm", "bert_pretraining", "roberta_mlm", "distilbert_mlm", "albert_mlm", "gpt2", "llama"]


@pytest.fixture
def make(tiny_folders):
    """A classifier over the labels, its weights large enough that an input shows."""

    def build(kind="bert_mlm", labels=LABELS):
        backbone = load_backbone(str(tiny_folders[kind]), **HOW)
        torch.manual_seed(0)
        backbone.model = with_classifier(backbone, labels).eval()
        with torch.no_grad():
            for parameter in backbone.model.parameters():
                if parameter.ndim > 1:
                    parameter.normal_(0, 0.3)
        return backbone

    return build


@pytest.mark.parametrize("kind", KINDS)
def test_the_encoder_is_kept_under_a_new_head(tiny_folders, kind):
    backbone = load_backbone(str(tiny_folders[kind]), **HOW)
    before, digest = backbone.embed(["he saw the river", "it"]), backbone.digest()
    backbone.model = with_classifier(backbone, LABELS)
    assert backbone.model.num_labels == 3
    assert backbone.digest() == digest
    torch.testing.assert_close(backbone.embed(["he saw the river", "it"]), before)
    assert Classifier(backbone, LABELS).outputs(PAIRS).shape == (5, 3)


def test_the_pooler_is_the_encoders_where_it_has_one(tiny_folders):
    own = load_backbone(str(tiny_folders["bert"]), **HOW)
    pooler = own.model.pooler.dense.weight
    torch.testing.assert_close(with_classifier(own, LABELS).bert.pooler.dense.weight, pooler)
    lacking = load_backbone(str(tiny_folders["bert_mlm"]), **HOW)
    assert lacking.transformer.pooler is None
    assert with_classifier(lacking, LABELS).bert.pooler.dense.weight.shape == pooler.shape


def test_an_encoder_under_a_projection_is_no_start_of_a_classifier(tiny):
    project(tiny, away_from(torch.eye(tiny.width)[:1]))
    with pytest.raises(FairlabError, match="a projection or linear map after them, which the classifier would lose"):
        with_classifier(tiny, LABELS)


def test_an_architecture_without_a_sequence_classifier(tiny):
    from transformers import ViTConfig

    tiny.model.config = ViTConfig()
    with pytest.raises(FairlabError, match="no sequence classifier of the architecture vit; choose another backbone"):
        with_classifier(tiny, LABELS)


@pytest.mark.parametrize("kind", ["bert_mlm", "distilbert_mlm", "gpt2"])
@pytest.mark.parametrize("budget", [1, 20, 10_000])
def test_outputs_equal_transformers_one_at_a_time_in_any_order(make, kind, budget):
    backbone = make(kind)
    expected = []
    for first, second in PAIRS:
        second = f"\n{second}" if kind == "gpt2" else second
        encoded = backbone.tokenizer(first, second, return_tensors="pt")
        if kind == "distilbert_mlm":
            del encoded["token_type_ids"]
        with torch.no_grad():
            expected.append(backbone.model(**encoded).logits[0].numpy())
    assert np.abs(expected[0] - expected[1]).max() > 1e-3  # the order of a pair shows
    classifier = Classifier(backbone, LABELS, budget=budget)
    np.testing.assert_allclose(classifier.outputs(PAIRS), expected, atol=1e-5, rtol=0)
    np.testing.assert_allclose(classifier.outputs(PAIRS[::-1]), expected[::-1], atol=1e-5, rtol=0)


@pytest.mark.parametrize("kind", ["bert_mlm", "gpt2"])
def test_an_empty_text_is_read_as_a_start_token_where_the_tokenizer_adds_none(make, kind):
    backbone = make(kind)
    ids = backbone.tokenizer("")["input_ids"] or [backbone.tokenizer.bos_token_id]
    with torch.no_grad():
        expected = backbone.model(input_ids=torch.tensor([ids])).logits.numpy()
    found = Classifier(backbone, LABELS).outputs([("", None), ("a clock", None)])
    np.testing.assert_allclose(found[:1], expected, atol=1e-5, rtol=0)
    assert np.abs(found[0] - found[1]).max() > 1e-3


@pytest.mark.parametrize("kind", ["bert_mlm", "albert_mlm", "gpt2", "llama"])
def test_padding_changes_nothing(make, kind):
    backbone = make(kind)
    encoded = encode(backbone, PAIRS)
    input_ids, mask = pad(encoded.token_ids, backbone.padding_id)
    segments = None if encoded.segments is None else pad(encoded.segments, 0)[0]
    assert not mask.all()
    with torch.no_grad():
        found = outputs(backbone.model, input_ids, mask, segments)
    np.testing.assert_allclose(found.numpy(), Classifier(backbone, LABELS).outputs(PAIRS), atol=1e-5, rtol=0)


def test_a_pair_has_segments_where_the_model_has_them(make):
    for kind in ("bert", "albert_mlm"):
        backbone = make(kind)
        encoded = encode(backbone, PAIRS[:1])
        ids = encoded.token_ids[0]
        separator = ids.index(backbone.tokenizer.sep_token_id)
        assert encoded.segments == [[0] * (separator + 1) + [1] * (len(ids) - separator - 1)]
        assert ids.count(backbone.tokenizer.sep_token_id) == 2
    for kind in ("distilbert_mlm", "gpt2"):
        assert encode(make(kind), PAIRS).segments is None
    roberta = make("roberta_mlm")
    roberta.model.config.type_vocab_size = 1  # as published
    assert encode(roberta, PAIRS).segments is None
    assert encode(make("bert"), [("he saw it", None)]).segments == [[0] * 5]


def test_the_segments_are_used(make):
    backbone = make()
    before = Classifier(backbone, LABELS).outputs(PAIRS)
    with torch.no_grad():
        backbone.model.bert.embeddings.token_type_embeddings.weight[1] *= -1
    assert np.abs(Classifier(backbone, LABELS).outputs(PAIRS) - before).min() > 1e-4


def test_a_tokenizer_that_joins_two_texts_gets_a_line_break(make):
    backbone = make("gpt2")
    (ids,) = encode(backbone, PAIRS[:1]).token_ids
    assert backbone.tokenizer.decode(ids) == "he saw the river\nit was wide"


def test_long_pairs_are_cut_and_counted(make):
    backbone = make()
    classifier = Classifier(backbone, LABELS)
    classifier.outputs([("a clock", "river " * 100), ("a", "b")])
    assert classifier.cut == 1
    (ids,) = encode(backbone, [("a clock", "river " * 100)]).token_ids
    assert len(ids) == 32
    assert ids[:4] == backbone.tokenizer("a clock")["input_ids"]  # the longer text is cut


def test_labels_in_another_order_and_case(make):
    backbone = make(labels=("CONTRADICTION", "NEUTRAL", "ENTAILMENT"))
    found = Classifier(backbone, LABELS).outputs(PAIRS)
    same = Classifier(backbone, ("contradiction", "neutral", "entailment")).outputs(PAIRS)
    np.testing.assert_array_equal(found, same[:, ::-1])


def test_a_model_of_other_labels_or_of_no_head(make, tiny):
    with pytest.raises(FairlabError, match="labels are entailment, neutral, contradiction, not negative, positive; gi"):
        Classifier(make(), ("negative", "positive"))
    with pytest.raises(FairlabError, match="not score"):
        Classifier(make(), SCORE)
    with pytest.raises(CannotScore, match="BertModel has no classification head"):
        Classifier(tiny, LABELS)


def test_a_saved_classifier_loads_with_its_head_and_alone(make, tmp_path, tokenizer):
    backbone = make()
    backbone.model.save_pretrained(tmp_path)
    tokenizer.save_pretrained(tmp_path)
    loaded = load_backbone(str(tmp_path), **HOW)
    expected = Classifier(backbone, LABELS).outputs(PAIRS)
    np.testing.assert_allclose(Classifier(loaded, LABELS).outputs(PAIRS), expected, atol=1e-6)
    plain = AutoModelForSequenceClassification.from_pretrained(tmp_path)
    assert plain.config.id2label == dict(enumerate(LABELS))
    torch.testing.assert_close(loaded.embed(["a clock"]), backbone.embed(["a clock"]))


def test_adapters_train_the_pooler_with_the_head(make, tmp_path):
    backbone = make()
    model = backbone.model
    frozen = model.bert.encoder.layer[0].attention.self.query.weight.clone()
    add_adapters(model, LoRA(2))
    trained = {name for name, parameter in model.named_parameters() if parameter.requires_grad}
    whole = {name for name in trained if ".lora_" not in name}
    assert whole == {"bert.pooler.dense.weight", "bert.pooler.dense.bias", "classifier.weight", "classifier.bias"}
    assert any("attention.self.query.lora_A" in name for name in trained)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if name in trained:
                parameter.add_(0.1 * torch.randn_like(parameter))
    found = Classifier(backbone, LABELS).outputs(PAIRS)
    save_adapters(model, tmp_path / FILE)
    remove_adapters(model)
    torch.testing.assert_close(model.bert.encoder.layer[0].attention.self.query.weight, frozen)
    merge_adapters(model, tmp_path / FILE)
    np.testing.assert_allclose(Classifier(backbone, LABELS).outputs(PAIRS), found, atol=0.02)
    with pytest.raises(FairlabError, match="does not fit the model"):
        merge_adapters(make("distilbert_mlm").model, tmp_path / FILE)
