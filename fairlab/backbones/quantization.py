"""Loading of a causal LM with 4-bit linear layers for QLoRA training, and conversion back to floating point.

Source: Dettmers et al. 2023, "QLoRA: Efficient Finetuning of Quantized LLMs", section 3: NormalFloat in blocks of 64,
with double-quantized constants.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import torch
from torch import nn
from transformers import PreTrainedModel

from fairlab.backbones.loading import DTYPES, find_weights, held_weights, refuse_other_weights
from fairlab.backbones.tokenizers import LONGEST, load_tokenizer, readable_length
from fairlab.backbones.trust import is_safe, loading
from fairlab.distributed import device
from fairlab.types import FairlabError, need_extra

if TYPE_CHECKING:
    from fairlab.backbones.backbone import Backbone

KIND = "nf4"
NOT_IN_4_BITS = ("gguf", "adapters", "peft", "fresh")  # settings of weights that are only loaded unquantized


def refuse_without_cuda() -> None:
    """Raise FairlabError if there is no CUDA device or no bitsandbytes, which training with 4-bit weights needs."""
    if not torch.cuda.is_available():
        raise FairlabError(
            "method.quantize=true keeps the frozen weights in 4 bits, which needs a CUDA device; with "
            "method.quantize=false the same adapters are trained on unquantized weights"
        )
    need_extra("qlora", "method.quantize=true", "bitsandbytes")


def is_in_4_bits(model: PreTrainedModel) -> bool:
    """Return whether the linear layers of a model's body are kept in 4 bits."""
    return bool(vars(model.base_model).get("is_loaded_in_4bit", False))


def load_in_4_bits(
    name: str,
    *,
    pooling: Literal["cls", "mean"],
    max_length: int | None,
    normalize: bool | None,
    revision: str | None = None,
    dtype: str = "bfloat16",
    package: str | None = None,
    weights_sha256: str | None = None,
    **others: Any,
) -> Backbone:
    """Load a causal LM, and quantize its linear layers one by one, so that the whole model is never in memory.

    Each weight is read from its file, quantized and moved to the device before the next weight is read. The head keeps
    its weights. Arguments are the same as for :func:`fairlab.backbones.loading.load_backbone`.

    Raises:
        FairlabError: If this machine cannot keep weights in 4 bits, if the weights are unavailable, have another hash
            or lack a part, or if a setting does not suit 4 bits.
    """
    refuse_without_cuda()
    from transformers import AutoModelForCausalLM, BitsAndBytesConfig
    from transformers.utils.logging import disable_progress_bar

    from fairlab.backbones.backbone import Backbone

    if given := [key for key in NOT_IN_4_BITS if others.get(key) is not None]:
        raise FairlabError(f"backbone.{given[0]} cannot be loaded in 4 bits; use load_backbone, or leave it out")
    if pooling not in ("cls", "mean") or dtype not in DTYPES:
        raise FairlabError(
            f"backbone.pooling must be mean or cls, and backbone.dtype one of {', '.join(DTYPES)}, not {pooling} and "
            f"{dtype}"
        )
    folder = find_weights(name, revision=revision, package=package)
    refuse_other_weights(name, folder, weights_sha256, package)
    disable_progress_bar()
    number = getattr(torch, dtype)
    how = BitsAndBytesConfig(
        load_in_4bit=True, bnb_4bit_quant_type=KIND, bnb_4bit_use_double_quant=True, bnb_4bit_compute_dtype=number
    )
    with loading(f"the model {name}"):
        loaded: Any = AutoModelForCausalLM.from_pretrained(
            folder,
            dtype=number,
            quantization_config=how,
            device_map={"": device()},
            low_cpu_mem_usage=True,
            use_safetensors=is_safe(held_weights(folder)),
            trust_remote_code=False,
            output_loading_info=True,
        )
    model, found = loaded
    if missing := sorted(found["missing_keys"]):
        raise FairlabError(f"the weights of {name} lack {', '.join(missing[:3])}; give a checkpoint of a causal LM")
    if hasattr(model, "hf_quantizer"):  # the export is dequantized, see ``dequantize``
        model.hf_quantizer.remove_quantization_config(model)
    vars(model.base_model)["is_loaded_in_4bit"] = True
    tokenizer = load_tokenizer(folder, name, None)
    length = readable_length(model, tokenizer, max_length, name, int(others.get("longest", LONGEST)))
    return Backbone(model, tokenizer, pooling=pooling, max_length=length, normalize=bool(normalize))


def quantize(model: PreTrainedModel) -> None:
    """Replace the linear layers of a model's body with frozen 4-bit layers, on the model's device.

    This is for a model that is already in memory; :func:`load_in_4_bits` never holds the whole model in memory.

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
        model.base_model.set_submodule(name, small.to(device))
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
        model.base_model.set_submodule(name, layer)
    vars(model.base_model).pop("is_loaded_in_4bit", None)


def _layers(model: PreTrainedModel, kind: type[nn.Module]) -> dict[str, Any]:
    return {name: module for name, module in model.base_model.named_modules() if isinstance(module, kind)}
