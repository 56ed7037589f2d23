import json

import pytest
import torch
from tokenizers import normalizers
from transformers import BertConfig, BertModel, BertTokenizerFast, PreTrainedTokenizerFast

from fairlab.backbones.backbone import Backbone
from fairlab.backbones.loading import load_backbone
from fairlab.backbones.tokenizers import has_unsaid_capitals
from fairlab.types import FairlabError

MARKS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
CASED = ["The", "the", "She", "she", "Mary", "nurse", "said", "."]
LOWER = ["the", "she", "mary", "nurse", "said", "."]


def folder_of(path, words, settings=None, positions=64):
    path.mkdir()
    (path / "vocab.txt").write_text("\n".join([*MARKS, *words]) + "\n")
    if settings is not None:
        (path / "tokenizer_config.json").write_text(json.dumps(settings))
    sizes = {"hidden_size": 8, "num_hidden_layers": 1, "num_attention_heads": 1, "intermediate_size": 8}
    torch.manual_seed(0)
    BertModel(BertConfig(vocab_size=len(MARKS) + 8, max_position_embeddings=positions, **sizes)).save_pretrained(path)
    return path


def tokens(folder):
    backbone = load_backbone(str(folder), pooling="mean", max_length=None, normalize=False)
    return backbone.tokenizer.tokenize("Mary said")


@pytest.mark.parametrize(
    ("words", "settings", "expected"),
    [
        (CASED, None, ["Mary", "said"]),
        (CASED, {"model_max_length": 64}, ["Mary", "said"]),
        (CASED, {"do_lower_case": False}, ["Mary", "said"]),
        (CASED, {"do_lower_case": True}, ["[UNK]", "said"]),  # said so, and taken at its word
        (LOWER, None, ["mary", "said"]),
    ],
)
def test_capitals_are_kept_where_the_vocabulary_has_them_and_no_file_says_otherwise(
    tmp_path, words, settings, expected
):
    assert tokens(folder_of(tmp_path / "model", words, settings)) == expected


def test_one_capital_among_many_words_is_no_vocabulary_with_capitals(tmp_path):
    (tmp_path / "vocab.txt").write_text("\n".join([*MARKS, "Mary", *("a" * k for k in range(1, 100))]))
    assert not has_unsaid_capitals(tmp_path)


def test_a_token_without_a_row_is_refused_before_any_text(tmp_path):
    folder = folder_of(tmp_path / "model", CASED)
    model, tokenizer = BertModel.from_pretrained(folder), BertTokenizerFast.from_pretrained(folder)
    Backbone(model, tokenizer, pooling="mean", max_length=16, normalize=False)
    tokenizer.add_tokens(["[NAME]"])
    with pytest.raises(FairlabError, match=r"has 1 tokens that the model, .* of 13, cannot read: \[NAME\] \(13\)"):
        Backbone(model, tokenizer, pooling="mean", max_length=16, normalize=False)
    model.resize_token_embeddings(len(tokenizer))
    backbone = Backbone(model, tokenizer, pooling="mean", max_length=16, normalize=False)
    assert backbone.embed(["[NAME] said"]).shape == (1, 8)


def test_a_model_of_few_positions_is_read_with_what_it_has(tmp_path):
    folder = folder_of(tmp_path / "model", CASED, positions=24)
    values = {"pooling": "mean", "normalize": False}
    assert load_backbone(str(folder), max_length=None, longest=128, **values).max_length == 24
    assert load_backbone(str(folder), max_length=None, longest=12, **values).max_length == 12
    with pytest.raises(FairlabError, match=r"must be in 4\.\.24"):
        load_backbone(str(folder), max_length=128, **values)


def test_texts_that_are_cut_are_counted_once_each(tmp_path):
    folder = folder_of(tmp_path / "model", CASED)
    backbone = load_backbone(str(folder), pooling="mean", max_length=5, normalize=False)
    fits, long = "the nurse said", "the nurse said ."  # with [CLS] and [SEP] five tokens and six
    backbone.embed([fits, long, long])
    backbone.embed([long, fits])
    assert len(backbone.cut) == 1
    assert backbone.is_cut([[0] * 5, [0] * 5], [fits, long]) == [False, True]


def test_a_tokenizer_of_sentencepiece_alone_names_its_package(tmp_path, monkeypatch):
    folder = folder_of(tmp_path / "model", CASED)
    (folder / "vocab.txt").rename(folder / "spiece.model")
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(
        FairlabError, match=r"is in spiece\.model, which sentencepiece reads; run pip install sentencepiece"
    ):
        tokens(folder)


@pytest.mark.parametrize(
    ("steps", "growth"), [([("a", "b" * 101)], "101"), ([("a", "a" * 50)] * 5, "312,500,000"), ([("a", "a" * 100)], "")]
)
def test_a_tokenizer_whose_words_grow_without_end_is_refused(tmp_path, steps, growth):
    folder = folder_of(tmp_path / "model", LOWER)
    inner = BertTokenizerFast.from_pretrained(folder).backend_tokenizer
    replaced = [normalizers.Replace(old, new) for old, new in steps]
    inner.normalizer = normalizers.Sequence([inner.normalizer, *replaced])
    marks = {"pad_token": "[PAD]", "unk_token": "[UNK]", "cls_token": "[CLS]", "sep_token": "[SEP]"}
    PreTrainedTokenizerFast(tokenizer_object=inner, model_max_length=64, **marks).save_pretrained(folder)
    if not growth:
        assert tokens(folder)
        return
    with pytest.raises(FairlabError, match=f"the normalizer of .* replaces one character by up to {growth}; do not"):
        tokens(folder)
