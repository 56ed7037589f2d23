"""Write a model to a folder in transformers format, which both implementations can load.

    python experiments/agreement/models.py NAME FOLDER

``NAME`` is ``minilm_mlm`` or ``smollm2``, or one of the small random models with their tokenizers, ``tiny_mlm`` or
``tiny_causal``. The random weights have a large standard deviation, so that the models' predictions are confident.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import torch
from transformers import BertConfig, BertForMaskedLM, GPT2Config, GPT2LMHeadModel

import fairlab

WIDE = 0.3  # standard deviation of the weights; BERT's is 0.02
SOURCES = {"minilm_mlm": "minilm_mlm", "tiny_mlm": "minilm_mlm", "smollm2": "smollm2", "tiny_causal": "smollm2"}


def main() -> None:
    """Write the model named on the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("name", choices=SOURCES)
    parser.add_argument("folder", type=Path)
    given = parser.parse_args()
    source = fairlab.load(SOURCES[given.name])
    model, words = source.model, len(source.tokenizer)
    torch.manual_seed(0)
    if given.name == "tiny_mlm":
        sizes = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 64}
        model = BertForMaskedLM(BertConfig(vocab_size=words, initializer_range=WIDE, **sizes))
    elif given.name == "tiny_causal":
        sizes = {"n_embd": 32, "n_layer": 2, "n_head": 2, "bos_token_id": 0, "eos_token_id": 0}
        model = GPT2LMHeadModel(GPT2Config(vocab_size=words, initializer_range=WIDE, **sizes))
    model.save_pretrained(given.folder)
    source.tokenizer.save_pretrained(given.folder)
    rename(given.folder)


def rename(folder: Path) -> None:
    """Give two settings the names that transformers 4 knows, because it would silently use its defaults otherwise."""
    tokenizer, config = folder / "tokenizer_config.json", folder / "config.json"
    content = json.loads(tokenizer.read_text(encoding="utf-8"))
    if content["tokenizer_class"] == "TokenizersBackend":
        tokenizer.write_text(json.dumps(content | {"tokenizer_class": "PreTrainedTokenizerFast"}), encoding="utf-8")
    content = json.loads(config.read_text(encoding="utf-8"))
    if "rope_parameters" in content:
        theta = content["rope_parameters"]["rope_theta"]
        config.write_text(json.dumps(content | {"rope_theta": theta}), encoding="utf-8")


if __name__ == "__main__":
    main()
