"""Methods that debias a classifier by training a copy of it on labelled texts: fairtuning and logit pairing."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from fairlab.audit.any_classifier import AnyClassifier
from fairlab.audit.data import LabelledRows
from fairlab.audit.running import Settings
from fairlab.files import write_whole
from fairlab.mend.parts import run_part
from fairlab.types import FairlabError

FIT = "fit.jsonl"  # rows to train on
NAMES = ("text", "second_text")  # columns of the fields
LABEL = "label"
PAIRING = "logit_pairing"
TRAININGS = ("fairtuning", PAIRING)


def train_classifier(
    way: str, model: AnyClassifier, rows: LabelledRows, settings: Settings, scale: str, folder: Path
) -> None:
    """Train a copy of a transformers classifier with a new head, unless this step is already finished.

    Args:
        way: ``fairtuning`` changes one person in every training text; ``logit_pairing`` makes the logits of a text
            similar to the logits of its changed copy.
        model: Classifier to start from.
        rows: Rows to train on.
        settings: Settings of the audits, whose axes, mode and seed are used.
        scale: ``quickstart`` or ``paper``, which selects the default settings of training.
        folder: Folder of the run; the rows are written next to it.

    Raises:
        FairlabError: The model is not a transformers classifier, the rows have several labels per text, or training
            fails.
    """
    if not model.weights:
        raise FairlabError(f"{way} can only train a transformers classifier; give it by folder or hub name")
    if rows.kind != "one":
        raise FairlabError(f"{way} needs data with one label per text, but this data has {rows.kind}")
    file = folder.parent / FIT
    _write_rows(rows, file)
    given = ["+experiment=fairtune", f"scale={scale}"]
    given += ["augmentation=none", f"debiasing={PAIRING}"] if way == PAIRING else []
    part = "debiasing" if way == PAIRING else "augmentation"
    width = len(rows.fields[0])
    values: Mapping[str, Any] = {
        "model": model.weights,
        "data.path": str(file),
        "data.field": NAMES[0] if width == 1 else list(NAMES[:width]),
        "data.label": LABEL,
        "data.labels": list(rows.labels),
        f"{part}.axes": list(settings.axis),
        f"{part}.mode": settings.mode,
        "seed": settings.seed,
        "measure_before": False,
    }
    run_part("train", given, values, folder)


def _write_rows(rows: LabelledRows, file: Path) -> None:
    """Write texts with the names of their labels in the columns that training reads."""
    lines = [
        json.dumps({**dict(zip(NAMES, fields, strict=False)), LABEL: rows.named_truth(k)}, ensure_ascii=False)
        for k, fields in enumerate(rows.fields)
    ]
    write_whole(file, "".join(f"{line}\n" for line in lines))
