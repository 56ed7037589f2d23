"""Weights in a GGUF file, which transformers reads back to a wider number format: what it does not check by itself."""

from __future__ import annotations

import importlib.util
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from fairlab.backbones.memory import memory_available
from fairlab.backbones.trust import loading
from fairlab.types import FairlabError

if TYPE_CHECKING:
    import torch
    from transformers import PretrainedConfig

MAGIC = b"GGUF"  # the first bytes of every such file
WORKING_BYTES = 8  # a value of the tensor being read: once as float32, and once more as a copy


def refuse_without_reader(gguf: str) -> None:
    """Refuse where the package that reads the format is missing.

    Raises:
        FairlabError: it is.
    """
    if importlib.util.find_spec("gguf") is None:
        raise FairlabError(f"reading {gguf} needs the Python package 'gguf', which is not installed: pip install gguf")


def refuse_other_files(file: Path) -> None:
    """Refuse a file of another format, before any library makes what it can of it.

    Raises:
        FairlabError: it is not there, or does not begin as GGUF does.
    """
    if not file.is_file():
        raise FairlabError(f"there is no file {file}; name one that is there as backbone.gguf")
    with file.open("rb") as opened:
        begins = opened.read(len(MAGIC))
    if begins != MAGIC:
        raise FairlabError(
            f"{file} is no GGUF file: it begins with {begins!r}, not {MAGIC!r}; name a GGUF file as backbone.gguf, or "
            "leave that out for safetensors"
        )


def refuse_without_memory(name: str, config: PretrainedConfig, dtype: torch.dtype) -> None:
    """Refuse a model that will not fit, before minutes are spent on reading it.

    The file's size does not tell: its weights have some 4 bits, and are read back to ``dtype``. While they are, the
    largest of them also stands there in float32, twice.

    Args:
        name: the model, for the message.
        config: of the model, from which its parameters are counted.
        dtype: number format of the weights in memory.

    Raises:
        FairlabError: it takes more memory than is free.
    """
    free = memory_available()
    needed = bytes_to_load(name, config, dtype)
    if free is not None and free < needed:
        narrower = ", or read it back to fewer bits with dtype=bfloat16" if dtype.itemsize > 2 else ""
        raise FairlabError(
            f"reading {name} back to {str(dtype).removeprefix('torch.')} takes about {needed / 1e9:.1f} GB of memory, "
            f"and {free / 1e9:.1f} GB are free; end other programs{narrower}"
        )


def bytes_to_load(name: str, config: PretrainedConfig, dtype: torch.dtype) -> int:
    """Bytes of memory that a causal LM takes while it is read: all weights, and what the largest takes meanwhile."""
    import torch
    from transformers import AutoModelForCausalLM

    # On torch's meta device weights have shapes and no memory.
    with loading(f"the configuration of {name}"), torch.device("meta"):
        model = AutoModelForCausalLM.from_config(config, trust_remote_code=False)
    sizes = [weight.numel() for weight in model.parameters()]
    return sum(sizes) * dtype.itemsize + max(sizes) * WORKING_BYTES


def no_bar_without_a_terminal() -> None:
    """Transformers shows its progress through a GGUF file everywhere, whatever is set."""
    from tqdm.auto import tqdm
    from transformers import modeling_gguf_pytorch_utils

    vars(modeling_gguf_pytorch_utils)["tqdm"] = partial(tqdm, disable=None)
