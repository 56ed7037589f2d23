"""CrossAug: which examples are added, and where evidence is changed."""

from contextlib import nullcontext
from types import SimpleNamespace

import pytest
import torch

from fairlab.augmentation.crossaug import CrossAug, exchanged
from fairlab.types import FairlabError

EVIDENCE = "The film, released in 1999, won 3 prizes."


def test_a_supported_claim_gives_three_examples():
    made = CrossAug(generator="rules").more([EVIDENCE, "The film won 3 prizes."], "SUPPORTS")
    changed = "The film, released in 1999, won 4 prizes."
    assert made == [
        ([EVIDENCE, "The film won 4 prizes."], "REFUTES"),
        ([changed, "The film won 3 prizes."], "REFUTES"),
        ([changed, "The film won 4 prizes."], "SUPPORTS"),
    ]


def test_where_the_evidence_has_no_such_span_there_is_one():
    made = CrossAug(generator="rules").more(["Something.", "The film won 3 prizes."], "entailment")
    assert made == [(["Something.", "The film won 4 prizes."], "contradiction")]


@pytest.mark.parametrize("label", ["REFUTES", "neutral", "contradiction", "NOT ENOUGH INFO"])
def test_other_labels_give_none(label):
    assert CrossAug(generator="rules").more([EVIDENCE, "The film won 3 prizes."], label) == []


def test_a_claim_that_cannot_be_contradicted_gives_none():
    assert CrossAug(generator="rules").more([EVIDENCE, ""], "SUPPORTS") == []


@pytest.mark.parametrize("negate", [lambda claim: claim, lambda claim: None])
def test_a_generator_that_contradicts_nothing_gives_none(negate):
    augmentation = CrossAug(generator="rules")
    augmentation.negate = negate
    assert augmentation.more([EVIDENCE, "The film won 3 prizes."], "SUPPORTS") == []


@pytest.mark.parametrize(
    ("evidence", "claim", "contradiction", "expected"),
    [
        ("in 1999 and 1999", "it is 1999", "it is 2000", None),  # twice
        ("in 19990", "it is 1999", "it is 2000", None),  # no word of its own
        ("it is red", "it is red", "it is not red", None),  # nothing of the claim is exchanged
        ("a b c d e", "x a b c d y", "x k l m n y", None),  # four tokens
        ("so a b c e", "x a b c y", "x k y", "so k e"),
        ("x k", "x k", "x a b c d", None),  # four tokens take its place
        ("a", "a", "b", "b"),
        ("a", "a", "a", None),
        ("U.S. film (1999)", "a film (1999)", "a film (2000)", "U.S. film (2000)"),
    ],
)
def test_spans_that_are_exchanged(evidence, claim, contradiction, expected):
    assert exchanged(evidence, claim, contradiction) == expected


def test_a_single_text_is_refused():
    with pytest.raises(FairlabError, match="augmentation=crossaug needs claims with evidence"):
        CrossAug(generator="rules").more(["a text"], "SUPPORTS")


def test_a_model_negates_with_five_beams_what_it_can_read(tokenizer, monkeypatch):
    asked = []

    def generate(input_ids, attention_mask, num_beams):
        asked.append((tokenizer.decode(input_ids[0]), attention_mask.sum().item(), num_beams))
        return torch.tensor([tokenizer.encode("the boat is not red")])

    model = SimpleNamespace(generate=generate)
    backbone = SimpleNamespace(model=model, tokenizer=tokenizer, max_length=5, measuring=nullcontext)
    monkeypatch.setattr("fairlab.backbones.loading.load_backbone", lambda name, **_: backbone)
    negate = CrossAug(generator="some/model").negate
    assert negate("the boat is red and long") == "the boat is not red"
    assert asked == [("[CLS] the boat is [SEP]", 5, 5)]
