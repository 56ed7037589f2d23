"""Low-rank adapters (LoRA) of a backbone: trained with frozen base weights, saved in a small file, merged at load.

Source: Hu et al. 2022, "LoRA: Low-Rank Adaptation of Large Language Models", section 4.1: W + s B A.

The file holds ``<module>.lora_A`` (rank, in) and ``<module>.lora_B`` (out, rank; includes the scale s) for each adapted
linear layer. Every other trained parameter, such as one of a language-modelling head, is stored under its own name. The
format is float16 unless another dtype is requested.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import torch
from safetensors.torch import load_file, save_file
from torch import nn
from transformers import PreTrainedModel
from transformers.pytorch_utils import Conv1D

from fairlab.files import replaced_when_written
from fairlab.types import FairlabError

if TYPE_CHECKING:
    from peft.tuners.lora import LoraLayer

EMBEDDED = Path(__file__).parent / "embedded"
FILE = "adapters.safetensors"
NAME = "default"  # peft's name for the only adapter of a model
POOLER = r"pooler(\..*)?"
HALF = (torch.bfloat16, torch.float16)


def add_adapters(model: PreTrainedModel, rank: int) -> None:
    """Add an adapter of the given rank to every linear layer of the encoder, in place; adapters are float32.

    Adapters and head are trained, and so is a pooler, which is part of the head. The encoder's own weights are frozen,
    and so is a decoder tied to its embeddings.
    """
    from peft import LoraConfig, inject_adapter_in_model  # takes seconds, which loading a backbone should avoid

    pooler = POOLER if getattr(model.base_model, "pooler", None) is not None else None
    settings = LoraConfig(r=rank, lora_alpha=rank, target_modules="all-linear", exclude_modules=pooler)
    inject_adapter_in_model(settings, model.base_model)
    for module in _adapted(model).values():
        if module.get_base_layer().weight.dtype in HALF:
            _adapt_in_float32(module)
        else:  # autocast casts the inputs, without a detour through float32
            vars(module)["cast_input_dtype_enabled"] = False
    frozen = {
        id(parameter)
        for name, parameter in model.base_model.named_parameters()
        if ".lora_" not in name and not re.fullmatch(POOLER, name)
    }
    for parameter in model.parameters():
        parameter.requires_grad_(id(parameter) not in frozen)


def _adapt_in_float32(module: LoraLayer) -> None:
    """Turn an adapter into float32: steps of the optimizer are smaller than what bfloat16 can add to a weight."""
    for weights in (module.lora_A, module.lora_B):
        weights.float()


def save_adapters(model: PreTrainedModel, file: Path, dtype: torch.dtype = torch.float16) -> None:
    """Write the trained parameters of a model with adapters."""
    trained = {name: p.detach() for name, p in model.named_parameters() if p.requires_grad}
    for name, module in _adapted(model).items():
        trained[f"{name}.lora_B.{NAME}.weight"] = trained[f"{name}.lora_B.{NAME}.weight"] * module.scaling[NAME]
    tensors = {
        name.replace(f".{NAME}.weight", ""): value.to("cpu", dtype).contiguous() for name, value in trained.items()
    }
    with replaced_when_written(file) as temporary:
        save_file(tensors, temporary)


def remove_adapters(model: PreTrainedModel) -> None:
    """Restore the frozen linear layers, as they were before training."""
    for name, module in _adapted(model).items():
        parent, _, child = name.rpartition(".")
        setattr(model.get_submodule(parent), child, module.get_base_layer())


def _adapted(model: PreTrainedModel) -> dict[str, LoraLayer]:
    from peft.tuners.lora import LoraLayer

    return {name: module for name, module in model.named_modules() if isinstance(module, LoraLayer)}


@torch.no_grad()
def merge_adapters(model: PreTrainedModel, file: Path) -> None:
    """Merge the low-rank products of a file into a model's weights, in place, and copy the other parameters.

    Raises:
        FairlabError: If the file belongs to another model.
    """
    tensors = load_file(file)
    parameters: dict[str, nn.Parameter] = dict(model.named_parameters())
    for name, value in tensors.items():
        module, _, kind = name.rpartition(".")
        if kind == "lora_A":
            continue
        target = f"{module}.weight" if kind == "lora_B" else name
        new = value.float() @ tensors[f"{module}.lora_A"].float() if kind == "lora_B" else value.float()
        if isinstance(dict(model.named_modules()).get(module), Conv1D):
            new = new.T  # GPT-2 stores its weights transposed
        if target not in parameters or parameters[target].shape != new.shape:
            raise FairlabError(f"{file.name} does not fit the model: it has no {target} of {tuple(new.shape)}")
        new = new.to(parameters[target])
        parameters[target].copy_(parameters[target] + new if kind == "lora_B" else new)
