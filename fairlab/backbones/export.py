"""Export of a trained model in a format that transformers and sentence-transformers can load."""

from __future__ import annotations

import json
from pathlib import Path

from fairlab.backbones.backbone import Backbone
from fairlab.backbones.projection import save_mark, save_projection
from fairlab.backbones.subtraction import save_subtraction
from fairlab.files import folder_replaced_when_written, no_space_is_one_sentence

MODULES = "sentence_transformers.models"


def export_backbone(backbone: Backbone, folder: Path, card: str) -> None:
    """Write weights (safetensors), tokenizer, sentence-transformers modules and a model card to ``folder``.

    An encoder-decoder is written without sentence-transformers modules. A masked LM keeps its head, which ``AutoModel``
    omits and ``AutoModelForMaskedLM`` loads. A projection becomes a dense layer of sentence-transformers, which
    transformers alone ignores. Published sentence-transformers modules around the model are written as they were
    loaded. The folder appears atomically, replacing an existing one.
    """
    with no_space_is_one_sentence(folder), folder_replaced_when_written(folder) as temporary:
        if backbone.published is not None:
            backbone.published.save(backbone.transformer, backbone.projection, temporary)
        backbone.model.save_pretrained(temporary)
        backbone.tokenizer.save_pretrained(temporary)
        save_subtraction(backbone, temporary)
        if backbone.published is None and not backbone.model.config.is_encoder_decoder:
            _write_sentence_transformers_files(backbone, temporary)
        save_mark(backbone, temporary)
        (temporary / "README.md").write_text(card, encoding="utf-8")


def _write_sentence_transformers_files(backbone: Backbone, folder: Path) -> None:
    """Write the files that sentence-transformers needs to rebuild pooling, projection and normalisation."""
    names = (
        ["Transformer", "Pooling"] + ["Dense"] * (backbone.projection is not None) + ["Normalize"] * backbone.normalize
    )
    kinds = [(name, f"{index}_{name}" if index else "") for index, name in enumerate(names)]
    modules = [
        {"idx": index, "name": str(index), "path": path, "type": f"{MODULES}.{kind}"}
        for index, (kind, path) in enumerate(kinds)
    ]
    pooling = {
        "word_embedding_dimension": backbone.width,
        "pooling_mode_cls_token": backbone.pooling == "cls",
        "pooling_mode_mean_tokens": backbone.pooling == "mean",
        "pooling_mode_max_tokens": False,
        "pooling_mode_mean_sqrt_len_tokens": False,
    }
    for _, path in kinds[1:]:
        (folder / path).mkdir()
    (folder / "modules.json").write_text(json.dumps(modules, indent=2), encoding="utf-8")
    (folder / "1_Pooling" / "config.json").write_text(json.dumps(pooling, indent=2), encoding="utf-8")
    save_projection(backbone, folder)
    length = {"max_seq_length": backbone.max_length, "do_lower_case": False}
    (folder / "sentence_bert_config.json").write_text(json.dumps(length), encoding="utf-8")
