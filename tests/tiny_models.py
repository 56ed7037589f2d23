"""Tiny random models of real architectures."""

from __future__ import annotations

import copy
from functools import cache
from pathlib import Path

import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import (
    AlbertConfig,
    AlbertForMaskedLM,
    BertConfig,
    BertForMaskedLM,
    BertForPreTraining,
    BertModel,
    DistilBertConfig,
    DistilBertForMaskedLM,
    GPT2Config,
    GPT2LMHeadModel,
    LlamaConfig,
    LlamaForCausalLM,
    OPTConfig,
    OPTForCausalLM,
    PreTrainedTokenizerFast,
    RobertaConfig,
    RobertaForMaskedLM,
)

from fairlab.backbones.backbone import Backbone
from tests.conftest import WORDS

SMALL = {"vocab_size": 30522, "max_position_embeddings": 64}
SIZE = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 64}


def byte_tokenizer() -> PreTrainedTokenizerFast:
    """Byte-level pairs as GPT-2 has them, of few merges; ``<|endoftext|>`` begins and ends."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=320,
        special_tokens=["<|endoftext|>"],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator([f"he saw the {word} and she saw a {word}" for word in WORDS], trainer)
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, bos_token="<|endoftext|>", eos_token="<|endoftext|>", model_max_length=64
    )


def save_all(folder: Path, wordpiece, byte_level) -> dict[str, Path]:
    """Save BERT as an encoder and as pretrained, masked LMs, and causal LMs, each with its tokenizer."""
    torch.manual_seed(0)
    distil = {"dim": 32, "n_layers": 2, "n_heads": 2, "hidden_dim": 64}
    causal = {"vocab_size": len(byte_level), "bos_token_id": 0, "eos_token_id": 0}
    tiny_models = {
        "bert": BertModel(BertConfig(**SMALL, **SIZE)),
        "bert_mlm": BertForMaskedLM(BertConfig(**SMALL, **SIZE)),
        "roberta_mlm": RobertaForMaskedLM(RobertaConfig(**SMALL | {"max_position_embeddings": 66}, **SIZE)),
        "distilbert_mlm": DistilBertForMaskedLM(DistilBertConfig(**SMALL, **distil)),
        "albert_mlm": AlbertForMaskedLM(AlbertConfig(**SMALL, **SIZE, embedding_size=16)),
        "bert_pretraining": BertForPreTraining(BertConfig(**SMALL, **SIZE)),
        "gpt2": GPT2LMHeadModel(GPT2Config(**causal, n_embd=32, n_layer=2, n_head=2, n_positions=64)),
        "llama": LlamaForCausalLM(LlamaConfig(**causal, **SIZE, max_position_embeddings=64)),
        "opt": OPTForCausalLM(OPTConfig(**causal, **SIZE, ffn_dim=64, word_embed_proj_dim=32, pad_token_id=0)),
    }
    for name, model in tiny_models.items():
        model.save_pretrained(folder / name)
        (byte_level if name in ("gpt2", "llama", "opt") else wordpiece).save_pretrained(folder / name)
    return {name: folder / name for name in tiny_models}


def encoder(tokenizer) -> Backbone:
    """A random BERT encoder, 32 wide, always the same."""
    model, state = drawn()
    torch.set_rng_state(state)
    return Backbone(copy.deepcopy(model), tokenizer, pooling="mean", max_length=32, normalize=False)


@cache
def drawn() -> tuple[BertModel, torch.Tensor]:
    """The model of :func:`encoder`, whose weights take longer to draw than to copy, and the state after drawing."""
    torch.manual_seed(0)
    return BertModel(BertConfig(**SMALL, **SIZE)).eval(), torch.get_rng_state()
