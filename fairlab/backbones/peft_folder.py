"""Checks and merging of low-rank adapters in PEFT's format, as saved by PEFT, trl and axolotl.

A folder holds ``adapter_config.json`` and ``adapter_model.safetensors``, or ``adapter_model.bin``, of which only
numbers are read. The folder names the base model of the adapters. The user must name it as well, because a folder must
not decide which other files are loaded.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from transformers import PreTrainedModel

from fairlab.backbones.trust import loading
from fairlab.checks.foreign import read_object
from fairlab.checks.tensor_archive import check_tensor_archive
from fairlab.files import check_folder
from fairlab.types import FairlabError, need_extra

CONFIG, FILE_OF_PEFT = "adapter_config.json", "adapter_model.safetensors"
OLD_FILE_OF_PEFT = "adapter_model.bin"  # of versions before 0.6
BASE = "base_model_name_or_path"
TAKEN = {  # settings that decide what the adapters compute, with the accepted values
    "r": int,
    "lora_alpha": int | float,
    "bias": str,
    "use_rslora": bool,
    "use_dora": bool,
    "fan_in_fan_out": bool,
    "target_modules": list | str,
    "exclude_modules": list | str,
    "modules_to_save": list,
    "layers_to_transform": list | int,
}
PATTERNS = ("rank_pattern", "alpha_pattern")  # numbers by module
MODULE = re.compile(r"\^?[\w.]+")  # name in such a pattern; peft would match any other as a regular expression
REFUSED = (
    *("megatron_config", "layer_replication", "trainable_token_indices", "target_parameters", "use_qalora"),
    *("alora_invocation_tokens", "arrow_config", "kasa_config"),  # these compute something other than added weights
)
# initial values with which peft also changes the weights of the base model
CHANGING_BASE = re.compile(r"(?:pissa|olora|corda|loftq|lora_ga)", re.IGNORECASE)
PREFIX = "base_model.model."  # of every name in a file


def is_adapter_folder(folder: Path) -> bool:
    """Return whether a folder holds adapters without a complete model."""
    return (folder / CONFIG).is_file()


def base_named_by(folder: Path) -> str:
    """Return the name of the base model that an adapter folder contains, or an empty text."""
    check_folder(folder)
    named = read_object(folder / CONFIG).get(BASE)
    return named if isinstance(named, str) else ""


def refuse_other_base(folder: Path, base: str) -> None:
    """Raise FairlabError if the adapters were trained on a hub model other than the base.

    Paths are not compared, because they do not identify a model.
    """
    named = base_named_by(folder)
    hub_names = all(name.count("/") == 1 and name[0] not in "./~" and not Path(name).exists() for name in (named, base))
    if hub_names and named.casefold() != base.casefold():
        raise FairlabError(
            f"the adapters in {folder} belong to {named}, not to {base}; give base={named}, or, if this was a folder "
            f"with a copy of {base}, write {base} as {BASE} into {folder / CONFIG}"
        )


def merge_peft_folder(model: PreTrainedModel, folder: Path) -> None:
    """Merge the adapters of a folder into a model's weights, in place.

    Raises:
        FairlabError: If the folder is damaged, holds another kind of adapters, or belongs to another model.
    """
    need_extra("adapters", f"the folder {folder}", "peft")
    from peft import LoraConfig, get_peft_model, set_peft_model_state_dict  # takes seconds

    check_folder(folder)
    settings = lora_settings(folder / CONFIG)
    tensors = _tensors(folder)
    _refuse_rank(folder, settings, tensors)
    inner, tensors = _adapted_model(model, folder, tensors)
    with loading(f"the adapters {folder}"):
        wrapped = get_peft_model(inner, LoraConfig(**settings))
        found: Any = set_peft_model_state_dict(wrapped, tensors)
        missing = [name for name in found.missing_keys if ".lora_" in name or ".modules_to_save." in name]
        if strange := [*found.unexpected_keys, *missing]:
            raise FairlabError(f"the adapters in {folder} do not fit the base model: {strange[0]}; give another base=")
        wrapped.merge_and_unload(safe_merge=True)
    model.requires_grad_(True)  # peft froze the weights


def _tensors(folder: Path) -> dict[str, Any]:
    """Return the adapters' tensors by name, from a file of ``torch.save`` only if there are no safetensors."""
    import torch
    from safetensors.torch import load_file

    with loading(f"the adapters {folder}"):
        if (folder / FILE_OF_PEFT).is_file():
            return load_file(folder / FILE_OF_PEFT)
        if not (folder / OLD_FILE_OF_PEFT).is_file():
            raise FairlabError(f"{folder} holds no {FILE_OF_PEFT}; save the adapters again with save_pretrained")
        check_tensor_archive(folder / OLD_FILE_OF_PEFT)
        return torch.load(folder / OLD_FILE_OF_PEFT, map_location="cpu", weights_only=True)  # type: ignore[no-any-return]


def _refuse_rank(folder: Path, settings: dict[str, Any], tensors: dict[str, Any]) -> None:
    """Raise FairlabError if a declared rank, which peft would allocate, is larger than every tensor dimension."""
    largest = max((size for tensor in tensors.values() for size in tensor.shape), default=0)
    rank = max(settings.get("r", 0), *settings["rank_pattern"].values(), 0)
    if rank > largest:
        raise FairlabError(
            f"{folder / CONFIG} declares a rank of {rank}, but the largest size of the adapters' tensors is {largest}; "
            "save the adapters again"
        )


def lora_settings(file: Path) -> dict[str, Any]:
    """Return the settings of a LoRA configuration that determine the computations of its adapters.

    Raises:
        FairlabError: If the adapters are of another kind, or a setting is not accepted from a folder.
    """
    content = read_object(file)
    if content.get("peft_type") != "LORA":
        raise FairlabError(f"{file} has the kind {content.get('peft_type')}; give adapters of the kind LORA")
    for name in REFUSED:
        if content.get(name):
            raise FairlabError(
                f"{file} sets {name}, which is not accepted from a folder; "
                "merge the adapters on the machine that trained them"
            )
    if CHANGING_BASE.match(str(initial := content.get("init_lora_weights"))):
        raise FairlabError(
            f"{file} sets init_lora_weights={initial}, with which the base model was changed too; "
            "merge the adapters on the machine that trained them"
        )
    found: dict[str, Any] = {}
    for name, kind in TAKEN.items():
        value = content.get(name)
        if value is None:
            continue
        parts = value if isinstance(value, list) else []
        fits = isinstance(value, kind) and (kind is bool or not isinstance(value, bool))
        if not fits or not all(isinstance(part, str | int) and part != "" for part in parts):
            raise FairlabError(f"{file} sets {name}={value!r}, which LoRA does not accept; save the adapters again")
        found[name] = value
    for name in PATTERNS:
        values = content.get(name) or {}
        if not isinstance(values, dict) or not all(isinstance(one, int | float) for one in values.values()):
            raise FairlabError(f"{file} must set {name} to one number per module; save the adapters again")
        if named := next((key for key in values if not MODULE.fullmatch(key)), None):
            raise FairlabError(f"{file} sets {name} for {named!r}, which is not a module's name; name it in full")
        found[name] = values
    for name in ("target_modules", "exclude_modules"):
        if isinstance(found.get(name), str) and found[name] != "all-linear":
            raise FairlabError(f"{file} sets {name} to a pattern; save the adapters with a list of modules")
    return found


def _adapted_model(
    model: PreTrainedModel, folder: Path, tensors: dict[str, Any]
) -> tuple[PreTrainedModel, dict[str, Any]]:
    """Return the module whose submodules the adapters refer to (the model or its body), and the renamed tensors.

    Adapters trained on a model with a head also fit its body alone, once the prefix of the body is removed from their
    names.

    Raises:
        FairlabError: If neither the model nor its body has the adapted modules.
    """
    paths = [name.removeprefix(PREFIX).partition(".lora_")[0] for name in tensors if ".lora_" in name]
    body: Any = model.base_model
    inner = f"{model.base_model_prefix}."
    candidates: list[tuple[Any, str]] = [(model, ""), (body, ""), (body, inner)]
    for candidate, left_out in candidates:
        modules = {left_out + name for name, _ in candidate.named_modules()}
        if paths and modules.issuperset(paths):
            return candidate, {name.replace(PREFIX + left_out, PREFIX, 1): value for name, value in tensors.items()}
    what = f"{type(model).__name__} has no {paths[0]}" if paths else "the file holds no adapters"
    raise FairlabError(f"the adapters in {folder} do not fit the base model: {what}; give another base=")
