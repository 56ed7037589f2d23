"""Tiny random language models, varied enough that another position or another token is another number."""

from __future__ import annotations

import pytest
import torch
from tokenizers import AddedToken, ByteLevelBPETokenizer
from tokenizers.processors import RobertaProcessing
from transformers import (
    AlbertConfig,
    AlbertForMaskedLM,
    BertConfig,
    BertForMaskedLM,
    BertForPreTraining,
    DistilBertConfig,
    DistilBertForMaskedLM,
    GPT2Config,
    GPT2LMHeadModel,
    LlamaConfig,
    LlamaForCausalLM,
    PreTrainedTokenizerFast,
    RobertaConfig,
    RobertaForMaskedLM,
)

from fairlab.backbones.backbone import Backbone
from tests.tiny_models import SIZE

CORPUS = ["The cook was kind to the angry old man, and the nurse saw that he was poor but happy in his hut."] * 9


@pytest.fixture(scope="session")
def language_models(tokenizer) -> dict[str, Backbone]:
    """BERTs, one with its next-sentence head, over a real WordPiece vocabulary; RoBERTa, GPT-2 and Llama over bytes."""
    torch.manual_seed(0)
    bpe = ByteLevelBPETokenizer()
    bpe.train_from_iterator(CORPUS, 320, special_tokens=["<s>", "<pad>", "</s>", "<mask>", "<|endoftext|>"])
    ids = {token: bpe.token_to_id(token) for token in ("<s>", "</s>")}
    gpt2_tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=bpe._tokenizer, bos_token="<|endoftext|>", eos_token="<|endoftext|>"
    )
    bpe._tokenizer.post_processor = RobertaProcessing(("</s>", ids["</s>"]), ("<s>", ids["<s>"]))
    roberta_tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=bpe._tokenizer,
        bos_token="<s>",
        eos_token="</s>",
        cls_token="<s>",
        sep_token="</s>",
        pad_token="<pad>",
        mask_token=AddedToken("<mask>", lstrip=True),
    )
    wordpiece = {"vocab_size": 30522, "max_position_embeddings": 130, "initializer_range": 0.3}
    bert = BertConfig(**wordpiece, **SIZE)
    distilbert = DistilBertConfig(**wordpiece, dim=32, n_layers=2, n_heads=2, hidden_dim=64)
    small = {"vocab_size": bpe.get_vocab_size(), "initializer_range": 0.3}
    gpt2 = GPT2Config(n_positions=130, n_embd=32, n_layer=2, n_head=2, **small)
    models = {
        "bert": (BertForMaskedLM(bert), tokenizer),
        "bert_two_heads": (BertForPreTraining(bert), tokenizer),
        "roberta": (
            RobertaForMaskedLM(RobertaConfig(max_position_embeddings=132, pad_token_id=1, **small, **SIZE)),
            roberta_tokenizer,
        ),
        "gpt2": (GPT2LMHeadModel(gpt2), gpt2_tokenizer),
        "distilbert": (DistilBertForMaskedLM(distilbert), tokenizer),
        "albert": (AlbertForMaskedLM(AlbertConfig(**wordpiece, **SIZE, embedding_size=16)), tokenizer),
        "llama": (LlamaForCausalLM(LlamaConfig(**small, **SIZE, max_position_embeddings=130)), gpt2_tokenizer),
    }
    return {
        name: Backbone(model.eval(), kind, pooling="mean", max_length=128, normalize=False)
        for name, (model, kind) in models.items()
    }
