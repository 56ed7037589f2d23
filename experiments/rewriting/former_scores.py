"""Compare results on data from the former and the current rules: a classifier's fairscore and a trained perturber.

    FAIRLAB_DATA=... python -m experiments.rewriting.former_scores fairscore FORMER_FILE PRESENT_FILE  # of former.py
    python -m experiments.rewriting.former_scores perturber FORMER_RUN PRESENT_RUN
    # runs of fairlab.train +experiment=perturber data.path=PAIRS data.paths=null data.test=0.1

Both commands write their part of former_scores.json. The classifier is a logistic regression on MiniLM embeddings,
trained on up to 10,000 training examples of a task. For pairs of texts, the features are both embeddings, their product
and their absolute difference.
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

import fairlab
from experiments.rewriting.labelled import share
from fairlab.backbones.backbone import Backbone
from fairlab.data.published.task_files import read_task
from fairlab.files import write_whole

RECORD = Path(__file__).parent / "former_scores.json"
TASKS = ("sst2", "rte")
EXAMPLES, SEED = 10_000, 3
MEASURES = {"exact": "% equal to the reference", "bleu": "BLEU", "perplexity_changed": "perplexity of changed words"}


def features(backbone: Backbone, rows: list[list[str]]) -> np.ndarray:
    """Return the features of rows that have one or two texts."""
    columns = [backbone.embed(list(texts)).numpy() for texts in zip(*rows, strict=True)]
    if len(columns) == 1:
        return columns[0]
    one, other = columns
    return np.hstack([one, other, one * other, np.abs(one - other)])


def scores(former: dict[str, Any], present: dict[str, Any], backbone: Backbone) -> dict[str, Any]:
    """Return a classifier's accuracy and the proportion of copies that change its prediction, by task.

    The copies are those of the former and of the current rules.
    """
    found: dict[str, Any] = {}
    for task in TASKS:
        train = read_task(task, "train", None)
        train = random.Random(SEED).sample(train, min(EXAMPLES, len(train)))
        model = make_pipeline(StandardScaler(), LogisticRegression(C=0.01, max_iter=500))
        model.fit(features(backbone, [list(one.fields) for one in train]), [one.label for one in train])
        dev = read_task(task, "dev", None)[: len(present[f"copies of fairscore, {task}"])]
        right = model.predict(features(backbone, [list(one.fields) for one in dev])) == [one.label for one in dev]
        found[f"{task}, right"] = {"both": share(int(right.sum()), len(dev))}
        for name, made in (("former", former), ("present", present)):
            pairs = [(text.split("\n"), copy.split("\n")) for text, copy in made[f"copies of fairscore, {task}"]]
            pairs = [(text, copy) for text, copy in pairs if text != copy]
            before, after = (model.predict(features(backbone, list(rows))) for rows in zip(*pairs, strict=True))
            one = found.setdefault(f"{task}, copies with another answer", {})
            one[name] = share(int((before != after).sum()), len(pairs))
    return found


def perturbers(former: Path, present: Path) -> dict[str, Any]:
    """Return the metrics of two runs, each on its own held-out pairs."""
    found: dict[str, Any] = {}
    for name, run in (("former", former), ("present", present)):
        readings = json.loads((run / "record.json").read_text(encoding="utf-8"))["readings"]
        for one in readings:
            if (one["phase"], one["subset"]) == ("after", "perturber") and one["quantity"] in MEASURES:
                rows = found.setdefault(f"perturber, {MEASURES[one['quantity']]}", {})
                rows[name] = {key: one[key] for key in ("value", "low", "high", "n")}
    return found


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("part", choices=("fairscore", "perturber"))
    parser.add_argument("made", nargs=2, type=Path)
    given = parser.parse_args()
    record = json.loads(RECORD.read_text(encoding="utf-8")) if RECORD.exists() else {}
    if given.part == "fairscore":
        encoder = fairlab.load("minilm")
        record |= scores(*(json.loads(file.read_text(encoding="utf-8")) for file in given.made), encoder)
    else:
        record |= perturbers(*given.made)
    write_whole(RECORD, json.dumps(record, indent=2) + "\n")
