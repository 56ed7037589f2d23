"""Checks for GGUF files, whose weights transformers converts back to a wider number format."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from fairlab.backbones.memory import memory_available
from fairlab.backbones.trust import loading
from fairlab.checks.gguf_header import check_header
from fairlab.types import FairlabError

if TYPE_CHECKING:
    import torch
    from transformers import PretrainedConfig

MAGIC = b"GGUF"  # first bytes of every GGUF file
WORKING_BYTES = 8  # bytes per value of the tensor being read: its float32 values and a copy


def is_gguf_file(path: Path) -> bool:
    """Return whether a path is a file with the suffix ``.gguf``."""
    return path.suffix.lower() == ".gguf" and path.is_file()


def refuse_other_files(file: Path) -> None:
    """Raise for a file of another format or with a damaged header, before a library tries to interpret it.

    Raises:
        FairlabError: If the file does not exist, lacks the GGUF signature, or declares more than it holds.
    """
    if not file.is_file():
        raise FairlabError(f"there is no file {file}; give an existing GGUF file")
    with file.open("rb") as opened:
        begins = opened.read(len(MAGIC))
    if begins != MAGIC:
        raise FairlabError(
            f"{file} is not a GGUF file: it begins with {begins!r}, not {MAGIC!r}; "
            "give a GGUF file, or a folder of safetensors"
        )
    check_header(file)


def refuse_without_memory(name: str, config: PretrainedConfig, dtype: torch.dtype) -> None:
    """Raise FairlabError if a model will not fit into free memory, before spending minutes on reading it.

    The size of the file is not sufficient for this decision, because its weights have about 4 bits and are converted to
    ``dtype``. During the conversion, two copies of the largest weight are also in memory as float32.
    """
    free = memory_available()
    needed = bytes_to_load(name, config, dtype)
    if free is not None and free < needed:
        narrower = ", or convert it to fewer bits with dtype=bfloat16" if dtype.itemsize > 2 else ""
        raise FairlabError(
            f"converting {name} to {str(dtype).removeprefix('torch.')} takes about {needed / 1e9:.1f} GB of memory, "
            f"and {free / 1e9:.1f} GB are free; end other programs{narrower}"
        )


def bytes_to_load(name: str, config: PretrainedConfig, dtype: torch.dtype) -> int:
    """Return the bytes of memory needed to read a causal LM: all weights, plus copies of the largest weight."""
    import torch
    from transformers import AutoModelForCausalLM

    # On torch's meta device weights have shapes and no memory.
    with loading(f"the configuration of {name}"), torch.device("meta"):
        model = AutoModelForCausalLM.from_config(config, trust_remote_code=False)
    sizes = [weight.numel() for weight in model.parameters()]
    return sum(sizes) * dtype.itemsize + max(sizes) * WORKING_BYTES


def no_bar_without_a_terminal() -> None:
    """Hide the GGUF progress bar if there is no terminal.

    transformers shows this bar regardless of settings.
    """
    from tqdm.auto import tqdm
    from transformers import modeling_gguf_pytorch_utils

    vars(modeling_gguf_pytorch_utils)["tqdm"] = partial(tqdm, disable=None)
