"""Checks of folders from untrusted sources, which determine what may be built from their contents.

A folder names classes, files and settings. Before any object is built, these names are looked up in the lists of exact
names in this module; an unlisted name raises a one-sentence error. No code from a folder is run.
"""

from __future__ import annotations

import json
import pickle
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from fairlab.checks.foreign import read_json, read_object
from fairlab.checks.tensor_archive import check_tensor_archive
from fairlab.checks.time_limits import TooSlow
from fairlab.files import check_folder
from fairlab.types import FairlabError

# Modules of sentence-transformers that may be built, under the names used in its versions 2 to 6.
MODULES = {
    "sentence_transformers.models.Transformer": "Transformer",
    "sentence_transformers.base.modules.transformer.Transformer": "Transformer",
    "sentence_transformers.models.Pooling": "Pooling",
    "sentence_transformers.sentence_transformer.modules.pooling.Pooling": "Pooling",
    "sentence_transformers.models.Dense": "Dense",
    "sentence_transformers.base.modules.dense.Dense": "Dense",
    "sentence_transformers.models.Normalize": "Normalize",
    "sentence_transformers.base.modules.normalize.Normalize": "Normalize",
    "sentence_transformers.models.LayerNorm": "LayerNorm",
    "sentence_transformers.sentence_transformer.modules.layer_norm.LayerNorm": "LayerNorm",
    "sentence_transformers.models.Dropout": "Dropout",
    "sentence_transformers.sentence_transformer.modules.dropout.Dropout": "Dropout",
    "sentence_transformers.models.StaticEmbedding": "StaticEmbedding",
    "sentence_transformers.sentence_transformer.modules.static_embedding.StaticEmbedding": "StaticEmbedding",
}
ACTIVATIONS = {
    "torch.nn.modules.linear.Identity",
    *(f"torch.nn.modules.activation.{name}" for name in ("GELU", "LeakyReLU", "ReLU", "Sigmoid", "SiLU", "Tanh")),
}
READERS = ("Transformer", "StaticEmbedding")  # modules that read texts
WITH_WEIGHTS = ("Dense", "LayerNorm", "StaticEmbedding")
# Permitted settings of the transformer; others could pass arguments to its loader, or name other folders.
READING = {"max_seq_length", "do_lower_case", "transformer_task", "modality_config", "module_output_name"}
EMBEDDING = {"method": "forward", "method_output_name": "last_hidden_state"}
WEIGHTS, INDEX = "model.safetensors", "model.safetensors.index.json"
OLD_WEIGHTS, OLD_INDEX = "pytorch_model.bin", "pytorch_model.bin.index.json"  # from torch.save; read as numbers only
# file name endings, and the backends' names in sentence-transformers
BACKENDS = {".onnx": "onnx", "openvino_model.xml": "openvino"}
PICKLES = (".bin", ".pt", ".pth", ".ckpt", ".h5", ".msgpack")
# Attention and expert implementations in transformers; a hub name here would download code.
ATTENTION = ("eager", "sdpa", "flash_attention_2", "flex_attention")
COMPUTED = {None, *ATTENTION, "grouped_mm", "batched_mm"}
LAYERS = re.compile(r"(?:^|_)(?:n_)?(?:layers?|blocks?)$|num_hidden_layers|num_layers")
WIDTHS = re.compile(
    r"size$|dim$|_embd$|_inner$|n_ctx|n_positions|heads$|_ff$|_kv$|d_model|n_head|experts$|labels$|positions?_embeddings$"
)
FEWEST, MOST_LAYERS = 16, 10_000  # minimum bytes of a layer's weights, and maximum layers of a model
MOST_POSITIONS = 1 << 24
# Settings that decide which outputs are returned, and the only values that are accepted.
OUTPUTS = {"return_dict": True, "chunk_size_feed_forward": 0}
SETTINGS = ("config.json", "tokenizer_config.json", "special_tokens_map.json", "generation_config.json")
HALF = re.compile("[\ud800-\udfff]")  # half of a surrogate pair, with which a model cannot be saved again
IMPLEMENTATIONS = {"attn_implementation", "experts_implementation"}


@dataclass(frozen=True)
class SentenceModule:
    """Module of a sentence-transformers folder: its kind, and its location in the folder (empty: at the top)."""

    kind: str
    path: str


@contextmanager
def loading(what: str) -> Iterator[None]:
    """Convert any error of a library that reads external files within the context to a one-sentence error."""
    try:
        yield
    except (FairlabError, MemoryError, TooSlow):  # these do not mean that a file is damaged
        raise
    except pickle.UnpicklingError as error:
        raise FairlabError(
            f"{what} cannot be loaded: its file contains more than numbers and may run code; save the model again with "
            "save_pretrained, as safetensors"
        ) from error
    except ImportError as error:
        raise FairlabError(
            f"{what} cannot be loaded without another package ({' '.join(str(error).split())[:300]}); install it, or "
            "give the model in another form"
        ) from error
    except Exception as error:
        reason = " ".join(str(error).split())[:300]
        raise FairlabError(
            f"{what} cannot be loaded ({type(error).__name__}: {reason}); "
            "its files are damaged, or need their own code, which is never run"
        ) from error


def check_model_folder(folder: Path, elsewhere: Sequence[Path] = ()) -> None:
    """Check that a model folder refers to no files outside itself and declares no more than its weights can contain.

    Args:
        folder: Folder of the model's files.
        elsewhere: Files with the weights, if they are not in the folder.

    Raises:
        FairlabError: A link leads outside, the folder contains adapters of another model, the configuration names code
            on the Hub or declares a size that the weights cannot contain, or a settings file is unsuitable or invalid.
    """
    # The hub's cache stores the files of a snapshot in a neighbouring folder.
    place = folder.resolve()
    check_folder(place, place.parent.parent if place.parent.name == "snapshots" else None)
    if (folder / "adapter_config.json").is_file():
        raise FairlabError(f"{folder} holds adapters of another model; give that model as base=NAME or base=FOLDER")
    for file in filter(Path.is_file, (folder / name for name in SETTINGS)):
        if HALF.search(json.dumps(read_object(file), ensure_ascii=False)):
            raise FairlabError(
                f"{file} contains half a surrogate pair, which is not valid text; restore a complete copy of it"
            )
    file = folder / "config.json"
    if file.is_file():
        content = read_object(file)
        _check_implementations(file, content)
        _check_sizes(file, content, elsewhere)
        for key, plain in OUTPUTS.items():
            if content.get(key, plain) != plain:
                raise FairlabError(f"{file} sets {key}, with which embeddings cannot be read; remove it")


def _check_implementations(file: Path, content: Any) -> None:
    """Raise if a configuration, or one nested in it, names code."""
    for key, value in content.items() if isinstance(content, dict) else ():
        if key.lstrip("_").removesuffix("_internal") in IMPLEMENTATIONS and not _is_computed(value):
            raise FairlabError(
                f"{file} names an implementation of the hub ({key}: {value}), which is never run; remove it"
            )
        _check_implementations(file, value)


def _check_sizes(file: Path, content: dict[str, Any], elsewhere: Sequence[Path]) -> None:
    """Raise FairlabError, before the model is built, if its layers or a width are too large for its weights."""
    kinds = ("*.safetensors", "*.gguf", "*.bin")
    files = list(elsewhere) or [one for kind in kinds for one in sorted(file.parent.glob(kind))]
    if not (weights := sum(one.stat().st_size for one in files)):  # reported when the weights are read
        return
    for key, value in content.items():
        if isinstance(value, dict):
            _check_sizes(file, value, files)
        if not isinstance(value, int) or isinstance(value, bool):
            continue
        layers = LAYERS.search(key) is not None
        held = max(weights, MOST_POSITIONS) if key.endswith("_embeddings") else weights  # rotary ones have no weights
        if value > (min(weights // FEWEST, MOST_LAYERS) if layers else held) and (layers or WIDTHS.search(key)):
            raise FairlabError(
                f"{file} declares {key}={value}, which the {weights:,} bytes of "
                f"{', '.join(map(str, files[:2]))} cannot contain; restore the damaged file"
            )


def _is_computed(value: Any) -> bool:
    named = value.values() if isinstance(value, dict) else [value]
    return all(isinstance(one, str | None) and one in COMPUTED for one in named)


def weights_files(folder: Path) -> list[Path]:
    """Return the files with a model's weights: one, or the shards in its index, sorted by name.

    Files of ``torch.save`` count if there are no safetensors; each is checked by
    :func:`fairlab.checks.tensor_archive.check_tensor_archive`.

    Raises:
        FairlabError: If there are no such files, a shard is missing, the index names something other than a weights
            file of the folder, or a file declares more than it holds.
    """
    for whole, index in ((WEIGHTS, INDEX), (OLD_WEIGHTS, OLD_INDEX)):
        if (folder / whole).is_file():
            files = [folder / whole]
        elif (folder / index).is_file():
            files = _shards(folder / index, Path(whole).suffix)
        else:
            continue
        for file in files if whole == OLD_WEIGHTS else ():
            check_tensor_archive(file)
        return files
    raise FairlabError(f"{folder} contains no {WEIGHTS}{_other_weights(folder)}")


def is_safe(files: Sequence[Path]) -> bool:
    """Return whether weights are in safetensors format."""
    return files[0].suffix == Path(WEIGHTS).suffix


def _shards(index: Path, suffix: str) -> list[Path]:
    """Return the files listed in an index, which must have the same suffix and be in the same folder."""
    shards = read_object(index).get("weight_map")
    if not isinstance(shards, dict) or not shards:
        raise FairlabError(f"{index} names no shards; save the model again with save_pretrained")
    for name in shards.values():
        if not isinstance(name, str) or Path(name).name != name or not name.endswith(suffix):
            raise FairlabError(f"{index} names {name!r}, which is not a {suffix[1:]} file next to it; do not use it")
        if not (index.parent / name).is_file():
            raise FairlabError(f"{index.parent / name} is missing; copy all shards that {index.name} names")
    return [index.parent / name for name in sorted(set(shards.values()))]


def _other_weights(folder: Path) -> str:
    """Return the remedy for a folder without usable weights, which depends on the other formats in the folder."""
    for end, backend in BACKENDS.items():
        if found := next(iter([*folder.glob(f"*{end}"), *folder.glob(f"*/*{end}")]), None):
            return (
                f", but weights for {backend} ({found.relative_to(folder)}); load them with "
                f"SentenceTransformer(FOLDER, backend='{backend}') and give the object to fairlab.evaluate"
            )
    if found := next((one for end in PICKLES for one in folder.glob(f"*model*{end}")), None):
        return f", but {found.name}, which may run code; save the model again with save_pretrained, as safetensors"
    if (folder / "modules.json").is_file():  # such as several encoders, one for questions and one for answers
        return "; if you trust the folder, load it with sentence-transformers and give the object to fairlab.evaluate"
    # A checkpoint of a training, or the snapshot in a folder of the hub's cache.
    for name in (WEIGHTS, INDEX, OLD_WEIGHTS, OLD_INDEX, "adapter_model.safetensors"):
        inside = sorted(
            [*folder.glob(f"*/{name}"), *folder.glob(f"snapshots/*/{name}")],
            key=lambda file: (len(file.parent.name), file.parent.name),
        )
        if inside:
            return f" itself, but {inside[-1].relative_to(folder)} is there; give {inside[-1].parent}"
    if found := next(iter([*folder.glob("*.ckpt"), *folder.glob("*/*.ckpt")]), None):
        return (
            f", but a checkpoint of a training ({found.relative_to(folder)}); load it with the program that wrote it "
            "and save its transformers model and tokenizer with save_pretrained"
        )
    return "; save the model there with save_pretrained"


def sentence_modules(folder: Path) -> list[SentenceModule]:
    """Read and check the modules of a sentence-transformers folder.

    Raises:
        FairlabError: If a module is not permitted, is outside the folder, or has settings for anything other than
            embedding texts.
    """
    file = folder / "modules.json"
    named = read_json(file)
    if not isinstance(named, list) or not named or not all(isinstance(entry, dict) for entry in named):
        raise FairlabError(f"{file} must hold a list of modules; save the model again with sentence-transformers")
    modules = [_sentence_module(file, entry) for entry in named]
    first, *others = modules
    begins = first.kind == "StaticEmbedding" or first == SentenceModule("Transformer", "")
    if not begins or any(later.kind in READERS for later in others):
        raise FairlabError(f"{file} must begin with a Transformer at the top of the folder; save the model again")
    for module in modules:
        _check_settings(folder, module)
    return modules


def _sentence_module(file: Path, entry: dict[str, Any]) -> SentenceModule:
    kind, path = MODULES.get(str(entry.get("type"))), entry.get("path")
    if kind is None:
        known = ", ".join(sorted(set(MODULES.values())))
        raise FairlabError(
            f"{file} names a module {entry.get('type')}; only {known} of sentence-transformers are run. If you "
            "trust the folder, load it with sentence-transformers and give the object to fairlab.evaluate"
        )
    path = "" if path == "." else path
    if not isinstance(path, str) or PurePosixPath(path).is_absolute() or ".." in PurePosixPath(path).parts:
        raise FairlabError(f"{file} keeps a {kind} in {path!r}, which is not a folder inside; do not use this model")
    if entry.get("kwargs"):
        raise FairlabError(f"{file} passes arguments to {kind}; save the model again without them")
    return SentenceModule(kind, path)


def _check_settings(folder: Path, module: SentenceModule) -> None:
    """Raise for module settings that name code, other folders, or a task other than embedding texts."""
    place = folder / module.path
    if module.kind == "Transformer":
        file = place / "sentence_bert_config.json"
        settings = read_object(file) if file.is_file() else {}
        if strange := sorted(set(settings) - READING):
            raise FairlabError(f"{file} sets {strange[0]}, which is not accepted from a folder; remove it")
        modalities = settings.get("modality_config", {"text": EMBEDDING})
        plain = settings.get("transformer_task", "feature-extraction") == "feature-extraction"
        named = settings.get("module_output_name", "token_embeddings") == "token_embeddings"
        if not plain or not named or modalities != {"text": EMBEDDING}:
            raise FairlabError(
                f"{file} does not describe a plain encoder of texts; give a model that only embeds texts"
            )
    elif module.kind == "Dense":
        settings = read_object(place / "config.json")
        name = settings.get("activation_function", "torch.nn.modules.activation.Tanh")
        if name not in ACTIVATIONS:
            known = ", ".join(sorted(full.rpartition(".")[2] for full in ACTIVATIONS))
            raise FairlabError(
                f"{place / 'config.json'} names the unknown function {name}; the known ones are: {known}"
            )
    if module.kind in WITH_WEIGHTS and not (place / WEIGHTS).is_file():
        if not (place / OLD_WEIGHTS).is_file():
            raise FairlabError(f"{place} holds no {WEIGHTS}; save the model again with sentence-transformers")
        check_tensor_archive(place / OLD_WEIGHTS)


def is_static(folder: Path) -> bool:
    """Return whether a sentence-transformers folder holds static embeddings."""
    file = folder / "modules.json"
    named = read_json(file) if file.is_file() else None
    first = named[0] if isinstance(named, list) and named else None
    return isinstance(first, dict) and str(first.get("type")).endswith(".StaticEmbedding")
