"""Folders of static embeddings of sentence-transformers and model2vec: one vector per token, averaged per text."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from fairlab.backbones.loading import find_weights
from fairlab.backbones.model_object import ModelObject
from fairlab.backbones.trust import OLD_WEIGHTS, WEIGHTS, check_model_folder, loading, sentence_modules
from fairlab.files import sha256


def load_static(name: str) -> ModelObject:
    """Load static embeddings from a folder or the hub as a model object, which can be measured but not trained.

    Raises:
        FairlabError: If the folder is damaged, or holds a module that is not permitted.
    """
    folder = _folder(name)
    reader, *others = sentence_modules(folder)

    from sentence_transformers.sentence_transformer.modules import StaticEmbedding

    from fairlab.backbones.sentence_pipeline import later_modules, with_settings

    with loading(f"the model {name}"):
        first: Any = StaticEmbedding.load(str(folder), subfolder=reader.path, local_files_only=True)
        sentence = with_settings(folder, [first, *later_modules(folder, others)])
    return ModelObject(f"the static embeddings {name}", lambda texts: sentence.encode(texts, show_progress_bar=False))


def static_facts(name: str) -> dict[str, Any]:
    """Return the name and the SHA-256 of static embeddings, including their tokenizer."""
    folder = _folder(name)
    places = [folder / module.path for module in sentence_modules(folder)]
    weights = [place / file for place in dict.fromkeys(places) for file in (WEIGHTS, OLD_WEIGHTS)]
    settings = [place / "tokenizer.json" for place in places[:1]]
    return {"name": name, "sha256": sha256(*(file for file in [*weights, *settings] if file.is_file()))}


def _folder(name: str) -> Path:
    if not Path(name).is_dir():
        return find_weights(name)
    check_model_folder(Path(name))
    return Path(name)
