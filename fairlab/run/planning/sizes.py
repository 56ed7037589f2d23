"""Size of a model, computed from its configuration without reading or downloading its weights."""

from __future__ import annotations

import importlib.util
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from fairlab.backbones.model_cache import cached_model
from fairlab.backbones.trust import check_model_folder
from fairlab.checks.foreign import read_object
from fairlab.types import FairlabError

KNOWN: dict[str, dict[str, Any]] = yaml.safe_load(Path(__file__).with_name("known.yaml").read_text(encoding="utf-8"))
BYTES = {"float32": 4, "bfloat16": 2, "float16": 2, "q4_k_m": 0.63}  # the last value is from the GGUF file of Qwen
CAUSAL = ("llama", "gpt2", "opt", "qwen2")


@dataclass(frozen=True)
class ModelSize:
    """Size of a model, as needed for a plan.

    Attributes:
        name: Folder of the model, or its model ID on the Hugging Face Hub.
        parameters: Total number of parameters.
        embeddings: Number of parameters in lookup tables, which take no part in multiplications.
        layers, width, inner: Number of layers (of encoder and decoder together), dimensions of a token, and dimensions
            inside the feed-forward part.
        vocabulary: Number of different tokens.
        stored: Size of the stored weights in bytes.
        folder: Folder of the model's files; None if they must be downloaded.
        source: Source of the counts.
        gated: Whether the feed-forward part multiplies by a gate, as in Llama.
    """

    name: str
    parameters: int
    embeddings: int
    layers: int
    width: int
    inner: int
    vocabulary: int
    stored: int
    folder: Path | None
    source: str
    gated: bool = False

    @property
    def multiplied(self) -> int:
        """Return the number of parameters with which every token is multiplied (N in 6 N FLOPs per token)."""
        return self.parameters - self.embeddings


def model_size(settings: Mapping[str, Any]) -> ModelSize | None:
    """Return the size of the model that ``load_backbone`` would load with the settings.

    The result is None if the model's configuration is not on this machine and the model is not listed in known.yaml.
    """
    name = str(settings["name"])
    folder = folder_at_hand(name, settings.get("package"), settings.get("revision"), settings.get("gguf"))
    known = KNOWN["models"].get(name)
    config = folder / "config.json" if folder else None
    if folder is not None:
        check_model_folder(folder)
    try:
        if config is not None and config.is_file():
            return _count_parameters(name, _config_in(config), folder, str(config))
    except FairlabError:
        raise
    except Exception as error:  # transformers' errors about a damaged configuration are of many types
        raise FairlabError(
            f"{config} is not the configuration of a model: {' '.join(str(error).split())[:200]}"
        ) from error
    if known is None:
        return None
    return _count_parameters(
        name, tuple(sorted(known.items())), folder, "its config.json on the hub, as listed in known.yaml"
    )


def folder_at_hand(name: str, package: str | None, revision: str | None, gguf: str | None) -> Path | None:
    """Return the folder of a model's files in a Python package, at the given path or in a cache, or None."""
    if package:
        found = importlib.util.find_spec(package)
        return Path(found.origin).parent / ("" if gguf else "model") if found and found.origin else None
    if Path(name).is_dir():
        return Path(name)
    if revision is None and (own := cached_model(name)):
        return own.folder
    from huggingface_hub import try_to_load_from_cache

    try:
        held = [
            try_to_load_from_cache(name, file, revision=revision)
            for file in ("model.safetensors", "model.safetensors.index.json")
        ]
    except ValueError:  # not a valid name on the hub
        return None
    return next((Path(file).parent for file in held if isinstance(file, str)), None)


def _config_in(file: Path) -> tuple[tuple[str, Any], ...]:
    content = read_object(file)
    return tuple(sorted((key, value) for key, value in content.items() if isinstance(value, str | int | float | bool)))


@cache
def _count_parameters(name: str, values: tuple[tuple[str, Any], ...], folder: Path | None, source: str) -> ModelSize:
    """Count the parameters of a model on torch's meta device, where weights have shapes but use no memory."""
    import torch
    from torch import nn
    from transformers import AutoConfig, AutoModel, AutoModelForCausalLM

    given = dict(values)
    stored = BYTES[given.pop("stored", "float32")]
    config = AutoConfig.for_model(given.pop("model_type"), **given)
    kind = AutoModelForCausalLM if config.model_type in CAUSAL else AutoModel
    with torch.device("meta"):
        model = kind.from_config(config, trust_remote_code=False)
    parameters = sum(weight.numel() for weight in model.parameters())
    tables = {id(part.weight): part.weight for part in model.modules() if isinstance(part, nn.Embedding)}
    head = model.get_output_embeddings()
    tied = {id(head.weight)} if head is not None and id(head.weight) in tables else set()
    embeddings = sum(table.numel() for key, table in tables.items() if key not in tied)
    weights = [*folder.glob("*.safetensors"), *folder.glob("*.gguf")] if folder else []
    held = sum(file.stat().st_size for file in weights)
    layers = config.num_hidden_layers
    layers += getattr(config, "decoder_layers", 0) if config.is_encoder_decoder else 0
    inner = [getattr(config, key, None) for key in ("intermediate_size", "hidden_dim", "encoder_ffn_dim", "ffn_dim")]
    return ModelSize(
        name,
        parameters=parameters,
        embeddings=embeddings,
        layers=layers,
        width=config.hidden_size,
        inner=next(filter(None, inner), 4 * config.hidden_size),
        vocabulary=config.vocab_size,
        stored=held or round(parameters * stored),
        folder=folder,
        source=source,
        gated=any(part.endswith("gate_proj") for part, _ in model.named_modules()),
    )
