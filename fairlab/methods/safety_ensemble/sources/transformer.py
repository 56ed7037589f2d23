"""Sources that are text classifiers in transformers format, run on a GPU if one is available."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from fairlab.backbones.trust import check_model_folder, loading
from fairlab.checks.tensor_archive import check_tensor_archive
from fairlab.distributed import device
from fairlab.files import sha256
from fairlab.methods.safety_ensemble.sources.base import Source
from fairlab.types import DataUnavailable, FairlabError

TEXTS = 32  # texts per forward pass
SHOWN = 3  # number of missing weights that a message names


class TransformersClassifier(Source):
    """Source of a sequence classifier's probabilities.

    The probabilities are the sigmoid of each output if labels can co-occur, and otherwise the softmax.

    Args:
        name: Folder in transformers format, or hub name, of the classifier.

    Raises:
        DataUnavailable: The classifier is not available.
        FairlabError: The folder holds an encoder without a trained classification head.
    """

    title = "text classifier in transformers format"
    limits = "See the classifier's card; its training data defines the meaning of its outputs."
    citation = "The authors named in the classifier's card."
    paths = ("name",)
    hub = "name"

    def __init__(self, *, name: str) -> None:
        from transformers import AutoModelForSequenceClassification, AutoTokenizer

        if Path(name).is_dir():
            check_model_folder(Path(name))
            for file in sorted(Path(name).glob("*.bin")):
                check_tensor_archive(file)
        try:
            with loading(f"the classifier {name}"):
                self.tokenizer: Any = AutoTokenizer.from_pretrained(name, trust_remote_code=False)
                self.model: Any
                self.model, found = AutoModelForSequenceClassification.from_pretrained(
                    name, trust_remote_code=False, output_loading_info=True
                )
        except FairlabError as error:
            raise DataUnavailable(
                f"the classifier {name} cannot be loaded; give a folder of transformers files ({error})"
            ) from error
        if lacking := sorted(found["missing_keys"]):
            raise FairlabError(
                f"the classifier {name} has no weights {', '.join(lacking[:SHOWN])}, so its scores would be random; "
                "give a model that was trained to classify"
            )
        self.model.eval().to(device())
        config = self.model.config
        if self.tokenizer.pad_token is None:  # as with many causal LMs, whose head then reads the last other token
            self.tokenizer.pad_token = self.tokenizer.eos_token
        if config.pad_token_id is None:
            config.pad_token_id = self.tokenizer.pad_token_id
        labels = [str(label) for _, label in sorted(config.id2label.items())]
        self.several = config.problem_type == "multi_label_classification" or len(labels) == 1
        self.name = re.sub(r"\W+", "_", Path(name).name)
        self.outputs = tuple(labels)
        files = sorted(Path(name).glob("*.safetensors")) + sorted(Path(name).glob("*.bin"))
        self.version = sha256(*files) if files else str(getattr(config, "_commit_hash", None) or name)

    def score(self, texts: Sequence[str]) -> NDArray[np.float64]:
        """Return the probabilities of L labels for each text, (N, L)."""
        return scored(self.model, self.tokenizer, texts, several=self.several)


def scored(model: Any, tokenizer: Any, texts: Sequence[str], *, several: bool) -> NDArray[np.float64]:
    """Return a classifier's probabilities (N, L), computed in batches of texts of similar length."""
    longest = getattr(model.config, "max_position_embeddings", 512) or 512
    limit = min(int(tokenizer.model_max_length), 512, longest)
    order = sorted(range(len(texts)), key=lambda k: len(texts[k]))
    found = np.empty((len(texts), model.config.num_labels))
    for start in range(0, len(order), TEXTS):
        part = order[start : start + TEXTS]
        inputs = tokenizer(
            [texts[k] for k in part], truncation=True, max_length=limit, padding=True, return_tensors="pt"
        )
        with torch.inference_mode():
            logits = model(**inputs.to(model.device)).logits.double()
        found[part] = (logits.sigmoid() if several else logits.softmax(dim=-1)).cpu().numpy()
    return found
