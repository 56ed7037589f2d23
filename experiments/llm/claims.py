"""Sample eighty claim-evidence pairs of VitaminC, half of each label, for RAZOR with a language model.

FAIRLAB_DATA=... python -m experiments.llm.claims OUT.jsonl
"""

from __future__ import annotations

import json
import random
import sys
from pathlib import Path

from fairlab.data.labelled_tasks import Example, find_task, read_task
from fairlab.files import write_whole

TASK = "vitaminc_two_way"
SEED = 22
OF_LABEL = 40
LONGEST = (45, 30)  # maximum number of words of the evidence and of the claim


def draw() -> list[dict[str, str]]:
    """Sample rows with ``evidence``, ``claim`` and ``label``, in random order."""
    labels = find_task(TASK).labels
    by_label: dict[str, list[Example]] = {label: [] for label in labels}
    for one in [*read_task(TASK, "train"), *read_task(TASK, "test")]:
        if len(one.first.split()) <= LONGEST[0] and len((one.second or "").split()) <= LONGEST[1]:
            by_label[labels[int(one.label)]].append(one)
    rng = random.Random(SEED)
    drawn = [(label, one) for label, pool in sorted(by_label.items()) for one in rng.sample(pool, OF_LABEL)]
    rng.shuffle(drawn)
    return [
        {"id": str(k), "evidence": one.first, "claim": one.second or "", "label": label}
        for k, (label, one) in enumerate(drawn)
    ]


if __name__ == "__main__":
    write_whole(Path(sys.argv[1]), "".join(json.dumps(row) + "\n" for row in draw()))
