"""Compare the pairs that two versions of the rules change, in 1,000 random pairs of each task.

    FAIRLAB_DATA=... python -m experiments.perturbation.linked_pairs measure outputs/present.json
    python -m experiments.perturbation.linked_pairs compare outputs/earlier.json outputs/present.json

The first command is run with each version; it takes some minutes. The second writes the counts to
``records/linked_pairs.json``.
"""

from __future__ import annotations

import json
import random
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from experiments.rendering import markdown
from fairlab.augmentation.perturbation import Perturbation
from fairlab.data.published.task_files import read_task
from fairlab.text.fields import join_fields

RECORD = Path(__file__).parent / "records" / "linked_pairs.json"
SEED, COUNT = 20261128, 1000
TASKS = {
    "snli_validation": ("test", "SNLI, test file"),
    "qqp": ("train", "QQP, training file"),
    "stsb": ("train", "STS-B, training file"),
    "rte": ("train", "RTE, training file"),
    "mrpc": ("train", "MRPC, training file"),
}
AXES = {"gender": ["gender"], "three axes": ["gender", "race", "age"]}
Changed = list[list[str] | None]


def changed_pairs(task: str, axes: Sequence[str]) -> Changed:
    """Return the fields of each random pair after its perturbation, or None for a pair that stays."""
    examples = read_task(task, TASKS[task][0])
    rows = random.Random(f"{SEED} {task}").sample(range(len(examples)), COUNT)
    fields = [list(examples[row].fields) for row in rows]
    augmentation = Perturbation(axes=list(axes), sampling="uniform")
    texts = [join_fields(one) for one in fields]
    drawn = augmentation.choose(texts, rows, dict.fromkeys(augmentation.words.finders, 1.0))
    some = [(k, selection) for k, selection in enumerate(drawn) if selection]
    made = augmentation.rewrite([fields[k] for k, _ in some], [selection for _, selection in some])
    found: Changed = [None] * COUNT
    for (k, _), one in zip(some, made, strict=True):
        found[k] = None if one.fault[0] else list(one.fields)
    return found


def counts(earlier: Mapping[str, Changed], present: Mapping[str, Changed]) -> dict[str, int]:
    """Return how the pairs of a task that two versions change differ.

    Args:
        earlier: Pairs changed by the earlier version, for ``gender`` and for ``three axes``.
        present: Pairs changed by the present version.
    """
    gender = list(zip(earlier["gender"], present["gender"], strict=True))
    three = list(zip(earlier["three axes"], present["three axes"], strict=True))
    return {
        "earlier": sum(then is not None for then, _ in gender),
        "present": sum(now is not None for _, now in gender),
        "new": sum(then is None and now is not None for then, now in gender),
        "gone": sum(then is not None and now is None for then, now in gender),
        "other": sum(then != now for then, now in three),
        "either": sum(then is not None or now is not None for then, now in three),
    }


def linked_pairs() -> str:
    """Return the table of the counts."""
    record: dict[str, Any] = json.loads(RECORD.read_text(encoding="utf-8"))
    rows = [
        [TASKS[task][1], *(str(one[key]) for key in ("earlier", "present", "new", "gone")), _share(one)]
        for task, one in record["tasks"].items()
    ]
    header = ["pairs of", "changed on gender, earlier rules", "changed on gender, present rules", "new"]
    header += ["no longer changed", "another result on three axes, of all pairs that either version changes"]
    return markdown(header, rows)


def _share(one: Mapping[str, int]) -> str:
    return f"{one['other']} of {one['either']}"


def main(arguments: Sequence[str]) -> None:
    """Run the command that the arguments name."""
    if arguments[0] == "measure":
        found = {task: {name: changed_pairs(task, axes) for name, axes in AXES.items()} for task in TASKS}
        Path(arguments[1]).write_text(json.dumps(found), encoding="utf-8")
        return
    earlier, present = (json.loads(Path(name).read_text(encoding="utf-8")) for name in arguments[1:3])
    tasks = {task: counts(earlier[task], present[task]) for task in TASKS}
    RECORD.write_text(json.dumps({"seed": SEED, "pairs": COUNT, "tasks": tasks}, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
