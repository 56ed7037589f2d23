"""Quantization of a backbone's linear layers to 4 bits for QLoRA training, and conversion back to floating point.

Source: Dettmers et al. 2023, "QLoRA: Efficient Finetuning of Quantized LLMs", section 3: NormalFloat in blocks of 64,
with double-quantized constants.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import nn
from transformers import PreTrainedModel

from fairlab.types import FairlabError, need_extra

KIND = "nf4"


def refuse_without_cuda() -> None:
    """Raise if this machine cannot train with 4-bit weights, with the reason in one sentence.

    Raises:
        FairlabError: If there is no CUDA device, or bitsandbytes is not installed.
    """
    if not torch.cuda.is_available():
        raise FairlabError(
            "method.quantize=true keeps the frozen weights in 4 bits, which needs a CUDA device; with "
            "method.quantize=false the same adapters are trained beside whole weights"
        )
    need_extra("qlora", "method.quantize=true", "bitsandbytes")


def quantize(model: PreTrainedModel) -> None:
    """Replace the linear layers of a model's body with frozen 4-bit layers, on the model's device.

    The head, which is not part of the body, keeps its weights. ``model.base_model`` gets the attribute
    ``is_loaded_in_4bit``, from which peft chooses its adapters.
    """
    import bitsandbytes

    for name, layer in _layers(model, nn.Linear).items():
        device, dtype = layer.weight.device, layer.weight.dtype
        small = bitsandbytes.nn.Linear4bit(
            layer.in_features, layer.out_features, bias=layer.bias is not None, compute_dtype=dtype, quant_type=KIND
        )
        weight = layer.weight.detach().cpu().contiguous()  # quantized during the move to the device
        small.weight = bitsandbytes.nn.Params4bit(weight, requires_grad=False, quant_type=KIND)
        if layer.bias is not None:
            small.bias = nn.Parameter(layer.bias.detach().cpu(), requires_grad=False)
        _put(model, name, small.to(device))
    vars(model.base_model)["is_loaded_in_4bit"] = True


def dequantize(model: PreTrainedModel) -> None:
    """Replace 4-bit layers with linear layers that hold the dequantized values, in their dtype."""
    from bitsandbytes.functional import dequantize_4bit
    from bitsandbytes.nn import Linear4bit

    for name, small in _layers(model, Linear4bit).items():
        weight = dequantize_4bit(small.weight.data, small.weight.quant_state).to(small.compute_dtype)
        layer = nn.Linear(weight.shape[1], weight.shape[0], bias=small.bias is not None, device="meta")
        layer.weight = nn.Parameter(weight)
        layer.bias = small.bias
        _put(model, name, layer)
    vars(model.base_model).pop("is_loaded_in_4bit", None)


def _layers(model: PreTrainedModel, kind: type[nn.Module]) -> dict[str, Any]:
    return {name: module for name, module in model.base_model.named_modules() if isinstance(module, kind)}


def _put(model: PreTrainedModel, name: str, layer: nn.Module) -> None:
    parent, _, child = name.rpartition(".")
    setattr(model.base_model.get_submodule(parent), child, layer)
