"""A decoder alone as a perturber: one sequence of input, marker and rewriting, told by hand and by ``generate``."""

import copy

import pytest
import torch
from transformers import GPT2Config, GPT2LMHeadModel, LlamaConfig, LlamaForCausalLM

from fairlab.backbones.backbone import Backbone, pad
from fairlab.backbones.export import export_backbone
from fairlab.lexicons import load_lexicon
from fairlab.methods.perturber import add_markers
from fairlab.rewriting.decoding import IGNORED, PERT_SEP, longest, target_logits, tokenize_rewritings
from fairlab.rewriting.perturber import Perturber, PerturberWords, greedy, load_perturber
from tests.conftest import WORDS

TEXTS = ["he saw", "she saw a boat and he saw her", "he", "she left the garden early", "a boat"]


def llama(size, **changes):
    settings = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 64}
    ids = {"vocab_size": size, "bos_token_id": 0, "eos_token_id": 0, "initializer_range": 0.4}
    return LlamaForCausalLM(LlamaConfig(**settings | ids | {"max_position_embeddings": 256} | changes))


def gpt2(size):
    ids = {"vocab_size": size, "bos_token_id": 0, "eos_token_id": 0, "initializer_range": 0.4}
    return GPT2LMHeadModel(GPT2Config(n_embd=32, n_layer=2, n_head=2, n_positions=256, **ids))


@pytest.fixture(params=[llama, gpt2])
def decoder(request, byte_tokenizer):
    torch.manual_seed(5)
    words = copy.deepcopy(byte_tokenizer)
    made = Backbone(request.param(len(words)).eval(), words, pooling="mean", max_length=64, normalize=False)
    add_markers(made, seed=0)
    return made


def test_a_rewriting_stands_behind_a_blank_and_is_ended(decoder):
    (ids,) = tokenize_rewritings(decoder, ["he saw"])
    assert ids == [*decoder.tokenizer(" he saw")["input_ids"], decoder.tokenizer.eos_token_id]


def test_logits_are_those_of_one_sequence_without_padding(decoder):
    marker = decoder.tokenizer.convert_tokens_to_ids(PERT_SEP)
    sources = decoder.tokenize(TEXTS)
    targets = tokenize_rewritings(decoder, reversed(TEXTS))
    expected = []
    for source, target in zip(sources, targets, strict=True):
        whole = torch.tensor([[*source, marker, *target]])
        expected.append(decoder.model(input_ids=whole).logits[0, len(source) : -1])
    found = target_logits(decoder, *pad(sources, 0), pad(targets, IGNORED)[0])
    torch.testing.assert_close(found, torch.cat(expected), rtol=1e-4, atol=1e-4)


def test_batches_decode_as_generate_does_one_by_one(decoder):
    marker = decoder.tokenizer.convert_tokens_to_ids(PERT_SEP)
    token_ids = decoder.tokenize([" ".join(WORDS[: 1 + k]) for k in (3, 0, 4, 2, 1)])
    found = greedy(decoder, token_ids)
    common = max({token for ids in found for token in ids}, key=lambda token: sum(token in ids for ids in found))
    for end in (0, common):  # no row ends early; most do
        decoder.tokenizer.eos_token = decoder.tokenizer.convert_ids_to_tokens(end)
        ended = set()
        for ids, made in zip(token_ids, greedy(decoder, token_ids), strict=True):
            whole = torch.tensor([[*ids, marker]])
            expected = decoder.model.generate(
                input_ids=whole,
                attention_mask=torch.ones_like(whole),
                do_sample=False,
                eos_token_id=end,
                pad_token_id=0,
                max_new_tokens=min(len(ids) + 16, 64),
            )
            assert made == expected[0, whole.shape[1] :].tolist()
            ended.add(made[-1] == end)
        assert (end == common) == (True in ended)


def test_input_and_rewriting_share_what_a_decoder_reads(byte_tokenizer):
    short = Backbone(
        llama(len(byte_tokenizer), max_position_embeddings=40),
        byte_tokenizer,
        pooling="mean",
        max_length=64,
        normalize=False,
    )
    assert longest(short) == 20
    (ids,) = tokenize_rewritings(short, ["he saw " * 30])
    assert len(ids) == 20
    assert ids[-1] == byte_tokenizer.eos_token_id


def test_an_exported_decoder_loads_as_a_rewriter(byte_tokenizer, tmp_path):
    torch.manual_seed(0)
    words = copy.deepcopy(byte_tokenizer)
    backbone = Backbone(llama(len(words)).eval(), words, pooling="mean", max_length=64, normalize=False)
    add_markers(backbone, seed=0)
    backbone.model.config.perturber_format = "paper"
    export_backbone(backbone, tmp_path / "model", "card")
    load_perturber.cache_clear()
    rewriter = PerturberWords(lexicon=load_lexicon("gender"), model=str(tmp_path / "model"))
    assert rewriter.provenance["format"] == "paper"
    expected = Perturber(backbone).rewrite(["he saw"], ["he"], ["woman"])
    assert expected != ["he saw"]
    assert "<" not in expected[0]
    assert rewriter.perturber.rewrite(["he saw"], ["he"], ["woman"]) == expected
