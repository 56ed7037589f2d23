"""Loading of models in any supported form as a :class:`fairlab.backbones.backbone.Backbone`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fairlab.api.arguments import checked
from fairlab.backbones.loading import PUBLISHED
from fairlab.backbones.model_classes import refuse_without_texts
from fairlab.backbones.tokenizers import readable_length
from fairlab.checks.values import faults
from fairlab.distributed import device
from fairlab.run.config.backbone_nodes import FALLBACK, SETTINGS, backbone_node, model_facts
from fairlab.run.config.build import build, plain
from fairlab.run.config.composing import composing
from fairlab.run.config.schema import TYPES
from fairlab.run.config.served_nodes import served_node
from fairlab.types import FairlabError

# Settings of a served model.
SERVED = (
    "api_key_env",
    "concurrency",
    "price",
    "budget",
    "ledger",
    "extra",
    "tokens_per_minute",
    "retries",
    "total_timeout",
)

DEVICE = "device"  # setting that is not stored in the model

if TYPE_CHECKING:  # importing torch and transformers takes seconds
    from fairlab.backbones.backbone import Backbone
    from fairlab.backbones.model_object import ModelObject


@checked
def load(model: Any, *, strict: bool = False, **settings: Any) -> Backbone | ModelObject:
    """Load a model that fairlab can evaluate and, if it has weights, debias.

    The model's behaviour is checked once, before its first text is embedded. A warning is issued if the embeddings
    carry no information about bias; see :mod:`fairlab.benchmarks.validity`.

    Args:
        model: Name of a backbone such as ``minilm``, folder of a run or of a model, GGUF file, or name on the hub; a
            model on an OpenAI-compatible server, as ``http://127.0.0.1:8000/v1#NAME`` or ``openai/NAME``; or a model in
            memory: a ``SentenceTransformer``, a ``CrossEncoder``, or a pair of a transformers model and its tokenizer,
            which may be compiled or have PEFT adapters. A model in memory is neither moved nor copied; a model loaded
            by name is moved to a GPU if one is available. For an MTEB encoder, any other object with ``encode``, or a
            function from texts to vectors, only embeddings are measured. For a language model of lm-evaluation-harness,
            only likelihoods are measured.
        strict: Whether to check the model immediately, and refuse it if it fails.
        settings: ``pooling``, ``normalize``, ``max_length``, ``dtype`` and ``attention`` (such as ``eager``), which
            replace the model's own settings; ``device``, such as ``cpu``; and ``base``, the base model of a folder of
            PEFT adapters. A pair accepts only ``pooling``, ``normalize`` and ``max_length``. A served model accepts the
            settings of :func:`fairlab.llm.remote_model.load_remote`, such as ``api_key_env`` (the name of the
            environment variable with the key), ``concurrency``, ``budget`` and ``ledger``.

    Raises:
        FairlabError: The model is of an unsupported kind or cannot be loaded, a setting does not exist, or the model
            fails the check and ``strict`` is true.

    Example:
        >>> import fairlab
        >>> model = fairlab.load("minilm")
        >>> model.embed(["He is a nurse."]).shape
        torch.Size([1, 384])
    """
    from fairlab.benchmarks.validity import refuse_failed, validity, warn_if_failed

    backbone = _load_named(str(model), settings) if isinstance(model, str | Path) else _convert_model(model, settings)
    if backbone is None:
        raise FairlabError(
            f"a {type(model).__name__} is not a model that fairlab knows; give a name, a folder, a "
            "SentenceTransformer, a pair (model, tokenizer), an object with encode(texts) or a function from texts "
            "to vectors"
        )
    if strict:
        refuse_failed(validity(backbone), model_name(model))
    elif backbone is not model:
        backbone.on_first_embedding = warn_if_failed
    return backbone


def load_trainable(model: Any) -> Backbone:
    """Load a model whose weights can be trained and saved.

    Raises:
        FairlabError: :func:`load` fails, or the model only returns embeddings or has adapters that are not merged.
    """
    from fairlab.backbones.backbone import Backbone

    backbone = load(model)
    if not isinstance(backbone, Backbone):
        raise FairlabError(f"{backbone.name} has no weights to train; give a name, a folder or (model, tokenizer)")
    if any(".lora_" in name for name, _ in backbone.named_parameters()):
        raise FairlabError("the adapters of the model are not merged; give what model.merge_and_unload() returns")
    return backbone


def _load_named(model: str, settings: dict[str, Any]) -> Backbone | ModelObject:
    """Load a model by name, folder or address, and move it to the device."""
    with composing():
        if (served := served_node(model)) is not None:
            _refuse_unknown(settings, SERVED)
            return build({**plain(served), **settings})  # type: ignore[no-any-return]
        _refuse_misfits(settings, (*SETTINGS, DEVICE))
        own = {key: value for key, value in settings.items() if key != DEVICE}
        return build(backbone_node(model, own)).to(device(settings.get(DEVICE)))  # type: ignore[no-any-return]


def _refuse_unknown(settings: Mapping[str, Any], known: Sequence[str]) -> None:
    if unknown := sorted(set(settings) - set(known)):
        raise FairlabError(f"there is no setting '{unknown[0]}' of a model; there are: {', '.join(known)}")


def _refuse_misfits(settings: dict[str, Any], known: Sequence[str]) -> None:
    """Check the names and types of settings. Paths are converted to text in place."""
    _refuse_unknown(settings, known)
    settings.update({name: str(value) for name, value in settings.items() if isinstance(value, Path)})
    for name, value in settings.items():
        for fault in faults(name, value, TYPES[name], nodes=False):
            raise FairlabError(fault)


def _convert_model(model: Any, settings: dict[str, Any]) -> Backbone | ModelObject | None:
    """Convert a model in memory to a backbone. Return None if the object is not a model."""
    from sentence_transformers import CrossEncoder, SentenceTransformer
    from transformers import PreTrainedModel, PreTrainedTokenizerBase

    from fairlab.backbones.backbone import Backbone
    from fairlab.backbones.model_object import ModelObject

    _refuse_misfits(settings, [name for name in (*SETTINGS, DEVICE) if name != "base"])
    if isinstance(model, CrossEncoder):
        if not isinstance(model.model, PreTrainedModel):
            raise FairlabError("this CrossEncoder has no PyTorch weights; load it with backend='torch'")
        model = (model.model, model.tokenizer)
    if isinstance(model, tuple) and len(model) == 2:
        model = (_unwrap(model[0]), model[1])
    if isinstance(model, Backbone | SentenceTransformer | ModelObject) and settings:
        raise FairlabError(f"a {type(model).__name__} has its own settings; leave out {', '.join(settings)}")
    if isinstance(model, Backbone | ModelObject):
        return model
    if isinstance(model, SentenceTransformer):
        return _convert_sentence_transformer(model)
    if isinstance(model, tuple) and len(model) == 2 and isinstance(model[0], PreTrainedModel):
        if not isinstance(model[1], PreTrainedTokenizerBase):
            raise FairlabError(
                f"the second element of (model, tokenizer) is a {type(model[1]).__name__}; give the tokenizer"
            )
        if fixed := [name for name in ("dtype", "attention", DEVICE) if name in settings]:
            raise FairlabError(f"a model in memory has its own {fixed[0]}; leave {fixed[0]} out")
        chosen: dict[str, Any] = FALLBACK | settings
        if chosen["pooling"] not in ("mean", "cls"):
            raise FairlabError(f"pooling of (model, tokenizer) must be mean or cls, not {chosen['pooling']}")
        name = f"this {type(model[0]).__name__}"
        refuse_without_texts(model[0].config, name)
        chosen["max_length"] = readable_length(*model, chosen["max_length"], name, chosen.pop("longest"))
        return Backbone(*model, **chosen)
    if isinstance(model, PreTrainedModel):
        raise FairlabError(f"a {type(model).__name__} needs its tokenizer; give the pair (model, tokenizer)")
    return _wrap_object(model, settings)


def _unwrap(model: Any) -> Any:
    """Return the transformers model inside wrappers of torch.compile or PEFT; its adapters stay active.

    Raises:
        FairlabError: The adapters are learned prompts, which are prepended to the tokens and are not part of the model.
    """
    model = getattr(model, "_orig_mod", model)
    settings = getattr(model, "peft_config", None)
    if not isinstance(settings, Mapping) or not hasattr(model, "get_base_model"):
        return model
    if any(getattr(one, "is_prompt_learning", False) for one in settings.values()):
        raise FairlabError("adapters that learn a prompt are not part of the model; give adapters such as LoRA")
    return model.get_base_model()


def _wrap_object(model: Any, settings: Mapping[str, Any]) -> ModelObject | None:
    """Wrap an object that encodes or scores texts, or a function, as a model. Return None for any other object."""
    from fairlab.backbones.foreign_objects import (
        HarnessScorer,
        is_harness_model,
        is_mteb_encoder,
        limit_of,
        mteb_encode,
    )
    from fairlab.backbones.model_object import ModelObject

    encode, harness = getattr(model, "encode", None), is_harness_model(model)
    if isinstance(model, type | str | bytes) or not (callable(encode) or callable(model) or harness):
        return None
    own = getattr(model, "__name__", "")
    name = f"the function {own}" if own else f"this {type(model).__name__}"
    if settings:
        raise FairlabError(f"{name} has its own settings; leave out {', '.join(settings)}")
    if harness:
        if not callable(getattr(model, "tok_encode", None)):
            raise FairlabError(
                f"{name} has no tok_encode, which is needed to count its tokens; derive it from TemplateLM"
            )
        return ModelObject(name, scorer=HarnessScorer(model, name))
    if is_mteb_encoder(model):
        return ModelObject(name, mteb_encode(model), limit=limit_of(model))
    return ModelObject(name, encode if callable(encode) else model, limit=limit_of(model))


def _convert_sentence_transformer(sentence: Any) -> Backbone | ModelObject:
    """Convert a SentenceTransformer with all its modules, its prompt and its maximum length.

    Models other than PyTorch transformers with pooling (for example ONNX or OpenVINO backends, or static embeddings)
    are wrapped as objects with ``encode``.
    """
    from transformers import PreTrainedModel

    from fairlab.backbones.backbone import Backbone
    from fairlab.backbones.sentence_pipeline import SentencePipeline, is_pooled_transformer

    first = sentence[0]
    transformer = _unwrap(getattr(first, "model", None))
    if not isinstance(transformer, PreTrainedModel) or not is_pooled_transformer(sentence):
        model = _wrap_object(sentence, {})
        assert model is not None
        return model
    return Backbone(
        transformer,
        first.tokenizer,
        pooling=PUBLISHED,
        max_length=sentence.max_seq_length or first.tokenizer.model_max_length,
        normalize=False,
        published=SentencePipeline(sentence),
    )


def loaded_with_facts(model: Any, config: Mapping[str, Any]) -> tuple[Any, dict[str, Any]]:
    """Load a model, and return it with the name and hash of its weights for the record.

    Args:
        model: Any value that :func:`load` accepts.
        config: Configuration of ``fairlab.evaluate``, whose settings for the model and the server (``llm``) are used.
    """
    given = {name: config[name] for name in (*SETTINGS, DEVICE) if config[name] is not None}
    if isinstance(model, str | Path):
        with composing():
            place = device(given.pop(DEVICE, None))
            node = backbone_node(str(model), given, config["llm"])
            facts = model_facts(node)
            found = build(node).to(place)
        return found, facts
    backbone = load(model, **given)
    return backbone, {"name": model_name(model), "sha256": backbone.digest()}


def model_name(model: Any) -> str:
    """Return the name or folder under which a record lists a model; for an object, its type and source of weights."""
    if isinstance(model, str | Path):
        return str(model)
    from fairlab.backbones.model_object import ModelObject

    if isinstance(model, ModelObject):
        return model.name
    whole = _unwrap(model[0]) if isinstance(model, tuple) else model
    weights = getattr(whole, "model", None) or (whole[0].model if hasattr(whole, "max_seq_length") else whole)
    source = getattr(weights, "name_or_path", "")
    return f"{type(whole).__name__} object{f' of {source}' if source else ''}"
