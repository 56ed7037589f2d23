"""Text classifiers of transformers as sources, Detoxify's checkpoints among them; on a GPU where there is one.

Source: Hanu and Unitary team 2020, "Detoxify".
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from fairlab.backbones.trust import check_model_folder, loading
from fairlab.distributed import device
from fairlab.files import sha256
from fairlab.types import DataUnavailable, FairlabError

TEXTS = 32  # in a forward pass


class TransformersClassifier:
    """Scores of a sequence classifier: a sigmoid of each output where labels may go together, else a softmax.

    Args:
        name: folder in transformers format, or hub name, of the classifier.

    Raises:
        DataUnavailable: it cannot be had.
    """

    def __init__(self, *, name: str) -> None:
        from transformers import AutoModelForSequenceClassification, AutoTokenizer

        if Path(name).is_dir():
            check_model_folder(Path(name))
        try:
            with loading(f"the classifier {name}"):
                self.tokenizer: Any = AutoTokenizer.from_pretrained(name, trust_remote_code=False)
                self.model: Any = AutoModelForSequenceClassification.from_pretrained(name, trust_remote_code=False)
        except FairlabError as error:
            raise DataUnavailable(
                f"the classifier {name} cannot be had; give a folder of transformers files ({error})"
            ) from error
        self.model.eval().to(device())
        config = self.model.config
        labels = [str(label) for _, label in sorted(config.id2label.items())]
        self.several = config.problem_type == "multi_label_classification" or len(labels) == 1
        self.name = re.sub(r"\W+", "_", Path(name).name)
        self.outputs = tuple(labels)
        files = sorted(Path(name).glob("*.safetensors")) + sorted(Path(name).glob("*.bin"))
        self.version = sha256(*files) if files else str(getattr(config, "_commit_hash", None) or name)

    def score(self, texts: Sequence[str]) -> NDArray[np.float64]:
        """Scores (N, L) in [0, 1]."""
        return scored(self.model, self.tokenizer, texts, several=self.several)


class Detoxify:
    """All outputs of a Detoxify checkpoint: its seven or six labels, and the identity mentions that it was trained on.

    Args:
        checkpoint: the ``.ckpt`` file of the project's releases.
        config: folder of the encoder's configuration and tokenizer; None asks the hub for those the file names.

    Raises:
        DataUnavailable: the file or the configuration cannot be had.
        FairlabError: it is no Detoxify checkpoint.
    """

    name = "detoxify"

    def __init__(self, *, checkpoint: str, config: str | None = None) -> None:
        from transformers import AutoConfig, AutoModelForSequenceClassification, AutoTokenizer

        file = Path(checkpoint)
        if not file.is_file():
            raise DataUnavailable(f"{checkpoint} is not there; give a checkpoint file of Detoxify")
        with loading(f"the checkpoint {file}"):
            held = torch.load(file, map_location="cpu", weights_only=True)
        try:
            settings, state = held["config"], held["state_dict"]
            dataset, encoder = settings["dataset"]["args"], settings["arch"]["args"]
            labels = [*dataset["classes"], *dataset.get("identity_classes", ())]
            count = int(encoder["num_classes"])
        except (KeyError, TypeError, ValueError) as error:
            raise FairlabError(f"{checkpoint} is no checkpoint of Detoxify: {error} is missing") from error
        if len(labels) < count:
            raise FairlabError(f"{checkpoint} names {len(labels)} of its {count} outputs; give a released checkpoint")
        source = config or encoder["model_type"]
        try:
            shape = AutoConfig.from_pretrained(source, num_labels=count, trust_remote_code=False)
            self.tokenizer: Any = AutoTokenizer.from_pretrained(source, trust_remote_code=False)
        except (OSError, ValueError) as error:
            raise DataUnavailable(f"the configuration {source} of {checkpoint} cannot be had; give config=") from error
        self.model: Any = AutoModelForSequenceClassification.from_config(shape, trust_remote_code=False)
        state = {key.removeprefix("model."): value for key, value in state.items()}
        missing, _ = self.model.load_state_dict(state, strict=False)  # strict: but for buffers of older transformers
        if missing:
            raise FairlabError(f"{checkpoint} lacks the weights {missing[0]}; is {source} its encoder?")
        self.model.eval().to(device())
        self.outputs = tuple(labels[:count])
        self.version = sha256(file)

    def score(self, texts: Sequence[str]) -> NDArray[np.float64]:
        """Scores (N, L) in [0, 1]."""
        return scored(self.model, self.tokenizer, texts, several=True)


def scored(model: Any, tokenizer: Any, texts: Sequence[str], *, several: bool) -> NDArray[np.float64]:
    """Probabilities (N, L), texts of like length together."""
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
