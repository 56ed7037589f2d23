"""Rewrites checked by a classifier whose outputs are set by hand."""

import pytest
import torch
from transformers import BertConfig, BertForSequenceClassification

from fairlab.backbones.backbone import Backbone
from fairlab.rewriting.labelled.classifier_check import ClassifierCheck
from fairlab.rewriting.labelled.label_keeping import Labelled
from fairlab.types import CannotScore, FairlabError
from tests.tiny_models import SMALL


def backbone(tokenizer, labels, likeliest):
    sizes = {"hidden_size": 32, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 64}
    config = BertConfig(
        **SMALL, **sizes, id2label=dict(enumerate(labels)), label2id={name: k for k, name in enumerate(labels)}
    )
    model = BertForSequenceClassification(config).eval()
    torch.nn.init.zeros_(model.classifier.weight)
    model.classifier.bias.data = torch.eye(len(labels))[labels.index(likeliest)]
    return Backbone(model, tokenizer, pooling="mean", max_length=32, normalize=False)


@pytest.mark.parametrize(
    ("likeliest", "kept"),
    [("contradiction", {"REFUTES"}), ("entailment", {"SUPPORTS"}), ("neutral", {"NOT ENOUGH INFO"})],
)
def test_labels_of_claims_are_read_by_a_model_of_inference(tokenizer, likeliest, kept):
    labels = ["SUPPORTS", "REFUTES", "NOT ENOUGH INFO"]
    check = ClassifierCheck(backbone(tokenizer, ["entailment", "neutral", "contradiction"], likeliest), labels)
    faults = check.faults([Labelled("a", label, "e") for label in labels], ["b"] * 3)
    assert dict(zip(labels, faults, strict=True)) == {
        label: None if label in kept else f"reads as {likeliest}" for label in labels
    }


def test_what_is_no_entailment_is_either_of_the_others(tokenizer):
    check = ClassifierCheck(
        backbone(tokenizer, ["entailment", "neutral", "contradiction"], "neutral"), ["non-entailment", "entailment"]
    )
    items = [Labelled("a", "non-entailment", "e"), Labelled("a", "entailment", "e")]
    assert check.faults(items, ["b", "b"]) == [None, "reads as neutral"]


def test_labels_of_ones_own_are_told_by_name_and_texts_may_stand_alone(tokenizer):
    check = ClassifierCheck(backbone(tokenizer, ["Negative", "Positive"], "Positive"), ["negative", "positive"])
    assert check.faults([Labelled("a", "positive"), Labelled("a", "negative")], ["b", "b"]) == [
        None,
        "reads as positive",
    ]


def test_a_model_that_cannot_tell_is_refused(tokenizer, tiny):
    with pytest.raises(FairlabError, match="knows no, yes, but no equivalent of 'x'"):
        ClassifierCheck(backbone(tokenizer, ["no", "yes"], "no"), ["yes", "x"])
    with pytest.raises(CannotScore):
        ClassifierCheck(tiny, ["yes", "no"])
