"""Low-rank adapters (LoRA): trained with frozen base weights, saved in a small file, and merged when loaded.

Source: Hu et al. 2022, "LoRA: Low-Rank Adaptation of Large Language Models", section 4.1: W + s B A.

The file holds ``<module>.lora_A`` (rank, in) and ``<module>.lora_B`` (out, rank; includes the scale s) for each adapted
linear layer. Every other trained parameter, for example of a language-modelling head, is stored under its name. Values
are float16 unless another dtype is requested.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import torch
from safetensors.torch import load_file, save_file
from torch import nn
from transformers import PreTrainedModel
from transformers.pytorch_utils import Conv1D

from fairlab.files import replaced_when_written
from fairlab.types import FairlabError, need_extra

if TYPE_CHECKING:
    from peft import LoraConfig
    from peft.tuners.lora import LoraLayer

EMBEDDED = Path(__file__).parent / "embedded"
FILE = "adapters.safetensors"
ALL_LINEAR = "all-linear"
NAME = "default"  # peft's name for the only adapter of a model
POOLER = r"pooler(\..*)?"


@dataclass(frozen=True)
class LoRA:
    """Settings of low-rank adapters.

    Attributes:
        rank: Rank r of the adapters.
        alpha: Numerator of the adapters' scale alpha / r, or None for a scale of 1.
        dropout: Dropout probability of the adapters' inputs in training.
        targets: Names of the adapted layers, such as ``q_proj``, or ``all-linear``.
        bias: Biases that are trained: ``none``, ``all``, or ``lora_only`` for the biases of adapted layers.
    """

    rank: int
    alpha: float | None = None
    dropout: float = 0.0
    targets: str | Sequence[str] = ALL_LINEAR
    bias: Literal["none", "all", "lora_only"] = "none"

    def config(self, **more: Any) -> LoraConfig:
        """Convert the settings to a PEFT configuration."""
        from peft import LoraConfig  # takes seconds, which loading a backbone should avoid

        alpha: Any = self.rank if self.alpha is None else self.alpha
        targets = self.targets if isinstance(self.targets, str) else list(self.targets)
        chosen = {"target_modules": targets, "bias": self.bias, "lora_dropout": self.dropout} | more
        return LoraConfig(r=self.rank, lora_alpha=alpha, **chosen)


def add_adapters(model: PreTrainedModel, lora: LoRA) -> None:
    """Add adapters to linear layers of the encoder, in place.

    Adapters and head are trained, including a pooler, which is part of the head. The encoder's own weights are frozen,
    including a decoder tied to the embeddings. Adapters are float32 regardless of the dtype of the weights, because at
    a usual learning rate, a step is smaller than the spacing of bfloat16 numbers.

    Raises:
        FairlabError: If the encoder has no layers with the names in ``targets``.
    """
    need_extra("adapters", "training of adapters", "peft")
    from peft import inject_adapter_in_model  # takes seconds, which loading a backbone should avoid

    pooler = POOLER if getattr(model.base_model, "pooler", None) is not None else None
    try:
        inject_adapter_in_model(lora.config(exclude_modules=pooler), model.base_model)
    except ValueError as error:
        layers = [name for name, one in model.base_model.named_modules() if isinstance(one, nn.Linear | Conv1D)]
        some = ", ".join(sorted({name.rpartition(".")[2] for name in layers})[:8])
        raise FairlabError(
            f"method.targets={lora.targets} matches no linear layer of the model; some layers are: {some}"
        ) from error
    for module in _adapted_layers(model).values():
        whole = module.get_base_layer().weight.dtype == torch.float32
        # For float32 weights, autocast casts the inputs directly.
        vars(module)["cast_input_dtype_enabled"] = not whole
    for name, parameter in model.base_model.named_parameters():
        if ".lora_" in name:
            parameter.data = parameter.data.float()
    frozen = {
        id(parameter)
        for name, parameter in model.base_model.named_parameters()
        if not parameter.requires_grad and not re.fullmatch(POOLER, name)
    }
    for parameter in model.parameters():
        parameter.requires_grad_(id(parameter) not in frozen)


def drop_inputs(model: PreTrainedModel) -> None:
    """Put the adapters' dropout into training mode, regardless of the mode of the model."""
    for module in _adapted_layers(model).values():
        module.lora_dropout.train()


def save_peft_folder(model: PreTrainedModel, lora: LoRA, folder: Path) -> None:
    """Write a causal LM's adapters to a new folder in PEFT's format, which PEFT, trl and vLLM can load."""
    adapted = _adapted_layers(model)
    trained = {name: parameter for name, parameter in model.named_parameters() if parameter.requires_grad}
    tensors = {
        f"base_model.model.{name.replace(f'.{NAME}.weight', '.weight')}": value.detach().cpu().contiguous()
        for name, value in trained.items()
    }
    targets = sorted({name.rpartition(".")[2] for name in adapted})
    config = lora.config(target_modules=targets, task_type="CAUSAL_LM", inference_mode=True)
    config.base_model_name_or_path = model.name_or_path
    config.save_pretrained(str(folder))
    with replaced_when_written(folder / "adapter_model.safetensors") as temporary:
        save_file(tensors, temporary, metadata={"format": "pt"})


def save_adapters(model: PreTrainedModel, file: Path, dtype: torch.dtype = torch.float16) -> None:
    """Write the trained parameters of a model with adapters."""
    trained = {name: p.detach() for name, p in model.named_parameters() if p.requires_grad}
    for name, module in _adapted_layers(model).items():
        trained[f"{name}.lora_B.{NAME}.weight"] = trained[f"{name}.lora_B.{NAME}.weight"] * module.scaling[NAME]
    tensors = {
        name.replace(f".{NAME}.weight", ""): value.to("cpu", dtype).contiguous() for name, value in trained.items()
    }
    with replaced_when_written(file) as temporary:
        save_file(tensors, temporary)


def remove_adapters(model: PreTrainedModel) -> None:
    """Replace the adapted layers by the original linear layers, which were frozen in training."""
    for name, module in _adapted_layers(model).items():
        model.set_submodule(name, module.get_base_layer())


def _adapted_layers(model: PreTrainedModel) -> dict[str, LoraLayer]:
    from peft.tuners.lora import LoraLayer

    return {name: module for name, module in model.named_modules() if isinstance(module, LoraLayer)}


@torch.no_grad()
def merge_adapters(model: PreTrainedModel, file: Path) -> None:
    """Merge the adapters in a file into a model's weights, in place, and copy the other trained parameters.

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
