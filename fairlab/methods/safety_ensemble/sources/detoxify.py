"""Source of all outputs of a Detoxify checkpoint, computed on a GPU if available.

Source: Hanu and Unitary team 2020, "Detoxify".
"""

from __future__ import annotations

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
from fairlab.methods.safety_ensemble.sources.transformer import scored
from fairlab.types import DataUnavailable, FairlabError

MOST_OUTPUTS = 1_000


class Detoxify(Source):
    """Source of all outputs of a Detoxify checkpoint: six or seven toxicity labels, and identity mentions.

    Args:
        checkpoint: Path of the ``.ckpt`` file of the project's releases.
        config: Folder of the encoder's configuration and tokenizer; None loads them from the hub, by the name in the
            checkpoint.

    Raises:
        DataUnavailable: The file or the configuration is not available.
        FairlabError: The file is not a Detoxify checkpoint.
    """

    title = "toxicity according to a Detoxify checkpoint"
    limits = "Trained on English comments from Wikipedia and Civil Comments; mentions of some groups raise its scores."
    citation = """@misc{hanu2020detoxify,
  title = {Detoxify},
  author = {Hanu, Laura and {Unitary team}},
  howpublished = {Github. https://github.com/unitaryai/detoxify},
  year = {2020}
}"""
    paths = ("checkpoint", "config")
    hub = "config"
    name = "detoxify"

    def __init__(self, *, checkpoint: str, config: str | None = None) -> None:
        from transformers import AutoConfig, AutoModelForSequenceClassification, AutoTokenizer

        file = Path(checkpoint)
        if not file.is_file():
            raise DataUnavailable(f"{checkpoint} does not exist; give a checkpoint file of Detoxify")
        check_tensor_archive(file)
        with loading(f"the checkpoint {file}"):
            held = torch.load(file, map_location="cpu", weights_only=True)
        try:
            settings, state = held["config"], held["state_dict"]
            dataset, encoder = settings["dataset"]["args"], settings["arch"]["args"]
            labels = [*dataset["classes"], *dataset.get("identity_classes", ())]
            count = int(encoder["num_classes"])
        except (KeyError, TypeError, ValueError) as error:
            raise FairlabError(f"{checkpoint} is not a checkpoint of Detoxify: {error} is missing") from error
        if not 0 < count <= min(len(labels), MOST_OUTPUTS) or not all(isinstance(label, str) for label in labels):
            raise FairlabError(f"{checkpoint} names {len(labels)} of its {count} outputs; give a released checkpoint")
        source = config or str(encoder["model_type"])
        if Path(source).is_dir():
            check_model_folder(Path(source), elsewhere=[file])
        try:
            shape = AutoConfig.from_pretrained(source, num_labels=count, trust_remote_code=False)
            self.tokenizer: Any = AutoTokenizer.from_pretrained(source, trust_remote_code=False)
        except (OSError, ValueError) as error:
            raise DataUnavailable(f"the configuration {source} of {checkpoint} was not found; give config=") from error
        self.model: Any = AutoModelForSequenceClassification.from_config(shape, trust_remote_code=False)
        with loading(f"the checkpoint {file} into the encoder {source}"):
            state = {key.removeprefix("model."): value for key, value in state.items()}
            missing, _ = self.model.load_state_dict(state, strict=False)  # older buffers may be missing
        if missing:
            raise FairlabError(f"{checkpoint} lacks the weights {missing[0]}; is {source} its encoder?")
        self.model.eval().to(device())
        self.outputs = tuple(labels[:count])
        self.version = sha256(file)

    def score(self, texts: Sequence[str]) -> NDArray[np.float64]:
        """Return the scores of L labels for each text, (N, L), in [0, 1]."""
        return scored(self.model, self.tokenizer, texts, several=True)
