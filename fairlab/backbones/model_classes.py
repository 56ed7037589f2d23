"""Choice of transformers' class that loads a checkpoint with all its heads."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fairlab.backbones.heads import CAUSAL_LM, CLASSIFIER, MASKED_LM, SEQ2SEQ
from fairlab.backbones.trust import is_safe, loading, weights_files
from fairlab.checks.tensor_archive import described_names
from fairlab.types import FairlabError

if TYPE_CHECKING:
    from transformers import PretrainedConfig
    from transformers.models.auto.auto_factory import _BaseAutoModelClass

ENCODER_HALF = "EncoderModel"  # of T5 and similar models, saved without the decoder


def model_class(config: PretrainedConfig, folder: Path, gguf: str | None) -> type[_BaseAutoModelClass]:
    """Return transformers' class that loads all language-model heads of a checkpoint, or its classifier."""
    from transformers import (
        AutoModel,
        AutoModelForCausalLM,
        AutoModelForMaskedLM,
        AutoModelForPreTraining,
        AutoModelForSeq2SeqLM,
        AutoModelForSequenceClassification,
        AutoModelForTextEncoding,
    )

    named = tuple(config.architectures or ())
    if gguf or any(name.endswith(CAUSAL_LM) for name in named):
        return AutoModelForCausalLM
    if any(name.endswith(SEQ2SEQ) for name in named):
        # Language models that also read images have such names too, and are decoder-only.
        return AutoModelForSeq2SeqLM if config.is_encoder_decoder else AutoModelForCausalLM
    if any(name.endswith(CLASSIFIER) for name in named):
        return AutoModelForSequenceClassification
    if any(name.endswith(ENCODER_HALF) for name in named):
        return AutoModelForTextEncoding
    # BERT was pretrained with two heads; its published checkpoint names one class but contains both heads.
    if _next_sentence_head(weights_files(folder)):
        return AutoModelForPreTraining
    if any(name.endswith(MASKED_LM) for name in named):
        return AutoModelForMaskedLM
    return AutoModel


def refuse_without_texts(config: PretrainedConfig, name: str) -> None:
    """Raise for a model that reads images or sounds, even if a part of it reads texts.

    Raises:
        FairlabError: If the model does not take texts, or has separate parts for texts and images.
    """
    from transformers import AutoModel

    try:
        found: Any = AutoModel._model_mapping[type(config)]
    except KeyError:  # a family without a plain body, loaded by its own class
        return
    kind = found[0] if isinstance(found, tuple | list) else found
    if kind.main_input_name not in (None, "input_ids"):
        raise FairlabError(
            f"{name} is a {kind.__name__}, which reads {kind.main_input_name} instead of texts; "
            "give a model that reads texts"
        )
    if hasattr(kind, "get_text_features"):
        raise FairlabError(
            f"{name} is a {kind.__name__} with one part for texts and one for images; give the part for texts: save "
            f"what {kind.__name__.removesuffix('Model')}TextModel.from_pretrained loads, with its tokenizer"
        )


def _next_sentence_head(files: Sequence[Path]) -> bool:
    """Return whether a checkpoint contains both BERT's complete next-sentence head and its masked-LM head."""
    from safetensors import safe_open

    keys = [] if is_safe(files) else [key for file in files for key in described_names(file)]
    for file in files if is_safe(files) else ():
        with loading(f"the weights {file}"), safe_open(file, framework="pt") as held:
            keys += held.keys()
    masked_lm = any(key.startswith("cls.predictions.") for key in keys)
    pooler = any(key.endswith("pooler.dense.weight") for key in keys)
    return "cls.seq_relationship.weight" in keys and masked_lm and pooler
