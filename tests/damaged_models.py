"""Damages that tests/test_bad_input.py does to copies of a model's folder and of a sentence-transformers folder."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path

WEIGHTS = "model.safetensors"
SETTINGS = "config_sentence_transformers.json"


def copied(source: Path, folder: Path) -> Path:
    """A copy whose files are hard links: they are replaced, never written into."""
    shutil.copytree(source, folder, copy_function=os.link)
    return folder


def put(file: Path, content: bytes | str) -> None:
    file.unlink(missing_ok=True)
    file.write_bytes(content if isinstance(content, bytes) else content.encode())


def cut(file: Path) -> None:
    put(file, file.read_bytes()[: file.stat().st_size // 2])


def changed(file: Path, **values: object) -> None:
    put(file, json.dumps(json.loads(file.read_text()) | values))


def index(folder: Path, content: str) -> None:
    (folder / WEIGHTS).unlink()
    put(folder / "model.safetensors.index.json", content)


Damages = dict[str, Callable[[Path], None]]
OF_A_MODEL: Damages = {
    "weights_cut": lambda folder: cut(folder / WEIGHTS),
    "weights_garbage": lambda folder: put(folder / WEIGHTS, b"garbage" * 1000),
    "weights_empty": lambda folder: put(folder / WEIGHTS, b""),
    "weights_missing": lambda folder: (folder / WEIGHTS).unlink(),
    "weights_header": lambda folder: put(folder / WEIGHTS, (2**40).to_bytes(8, "little") + b"{}"),
    "weights_no_tensor": lambda folder: put(folder / WEIGHTS, (2).to_bytes(8, "little") + b"{}"),
    "shapes": lambda folder: changed(folder / "config.json", hidden_size=64),
    "vocabulary": lambda folder: changed(folder / "config.json", vocab_size=100),
    "config_missing": lambda folder: (folder / "config.json").unlink(),
    "config_cut": lambda folder: cut(folder / "config.json"),
    "config_empty": lambda folder: put(folder / "config.json", "{}"),
    "config_list": lambda folder: put(folder / "config.json", "[]"),
    "config_nested": lambda folder: put(folder / "config.json", "[" * 200_000),
    "config_unknown": lambda folder: changed(folder / "config.json", model_type="blurt"),
    "config_text": lambda folder: changed(folder / "config.json", hidden_size="wide"),
    "config_negative": lambda folder: changed(folder / "config.json", hidden_size=-1),
    "config_heads": lambda folder: changed(folder / "config.json", num_attention_heads=3),
    "config_layers": lambda folder: changed(folder / "config.json", num_hidden_layers=3),
    "tokenizer_cut": lambda folder: cut(folder / "tokenizer.json"),
    "tokenizer_empty": lambda folder: put(folder / "tokenizer.json", "{}"),
    "tokenizer_config": lambda folder: put(folder / "tokenizer_config.json", "{"),
    "tokenizer_length": lambda folder: changed(folder / "tokenizer_config.json", model_max_length="long"),
    "index_cut": lambda folder: index(folder, "{"),
    "index_empty": lambda folder: index(folder, '{"weight_map": []}'),
}
OF_SENTENCE_TRANSFORMERS: Damages = {
    "dense_cut": lambda folder: cut(folder / "2_Dense" / WEIGHTS),
    "dense_missing": lambda folder: shutil.rmtree(folder / "2_Dense"),
    "dense_weights_missing": lambda folder: (folder / "2_Dense" / WEIGHTS).unlink(),
    "dense_config_cut": lambda folder: cut(folder / "2_Dense" / "config.json"),
    "dense_config_empty": lambda folder: put(folder / "2_Dense" / "config.json", "{}"),
    "dense_shape": lambda folder: changed(folder / "2_Dense" / "config.json", in_features=9),
    "pooling_missing": lambda folder: shutil.rmtree(folder / "1_Pooling"),
    "pooling_mode": lambda folder: changed(folder / "1_Pooling" / "config.json", pooling_mode="magic"),
    "pooling_width": lambda folder: pooling_alone(folder, embedding_dimension=9),
    "modules_cut": lambda folder: cut(folder / "modules.json"),
    "modules_text": lambda folder: put(folder / "modules.json", '["a"]'),
    "settings_cut": lambda folder: put(folder / SETTINGS, "{"),
    "settings_prompts": lambda folder: put(folder / SETTINGS, '{"prompts": 5}'),
    "settings_dimensions": lambda folder: put(folder / SETTINGS, '{"truncate_dim": -3}'),
    "length_text": lambda folder: put(folder / "sentence_bert_config.json", '{"max_seq_length": "x"}'),
}


def pooling_alone(folder: Path, **values: object) -> None:
    """No dense layer, and a pooling that says other values."""
    put(folder / "modules.json", json.dumps(json.loads((folder / "modules.json").read_text())[:2]))
    changed(folder / "1_Pooling" / "config.json", **values)
