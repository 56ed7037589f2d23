"""Subtraction of the outputs for the second texts alone from the outputs of a classifier for text pairs.

Source: Xu et al. 2023, "Counterfactual Debiasing for Fact Verification", section 3.
"""

from __future__ import annotations

import json
from pathlib import Path

from transformers import AutoModelForSequenceClassification, PreTrainedModel

from fairlab.backbones.backbone import Backbone, Subtraction
from fairlab.backbones.trust import loading
from fairlab.checks.foreign import read_object
from fairlab.types import FairlabError

FOLDER = "claim_only"
SETTINGS = "subtraction.json"
SPACES = ("logits", "probabilities")


def subtract(backbone: Backbone, model: PreTrainedModel, *, scale: float, space: str) -> None:
    """Make a backbone subtract another classifier's outputs from its own outputs for pairs."""
    backbone.subtraction = Subtraction(model, scale, space).to(backbone.device)


def save_subtraction(backbone: Backbone, folder: Path) -> None:
    """Write the subtraction of a backbone, if it has one, to a model's folder."""
    subtraction = backbone.subtraction
    if subtraction is not None:
        subtraction.model.save_pretrained(folder / FOLDER)
        settings = {"scale": subtraction.scale, "space": subtraction.space}
        (folder / FOLDER / SETTINGS).write_text(json.dumps(settings), encoding="utf-8")


def load_subtraction(backbone: Backbone, folder: Path) -> None:
    """Restore the subtraction that ``save_subtraction`` wrote to a model's folder, if there is one."""
    if (folder / FOLDER / SETTINGS).is_file():
        settings = read_object(folder / FOLDER / SETTINGS)
        scale, space = settings.get("scale"), settings.get("space")
        if not isinstance(scale, int | float) or space not in SPACES:
            raise FairlabError(f"{folder / FOLDER / SETTINGS} must give a scale and a space; export the model again")
        with loading(f"the classifier {folder / FOLDER}"):
            model = AutoModelForSequenceClassification.from_pretrained(
                folder / FOLDER, use_safetensors=True, trust_remote_code=False
            )
        subtract(backbone, model.eval(), scale=scale, space=space)
