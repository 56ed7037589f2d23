"""Repetition rates of rewritten training claims in a test set, compared with those of the original claims.

If rewrites repeat the test set more often than the originals do, the rewriter's knowledge of the test set may leak into
training (RAZOR paper, section 4.2).

    python experiments/razor/repetition.py FOLDER fever_symmetric:test

FOLDER is an output of ``python -m fairlab.augment +augmentation=razor input=task:NAME:train``.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from tabulate import tabulate

from experiments.shared.repetition import repeated_share, repeated_whole
from fairlab.data.labelled_tasks import read_training
from fairlab.data.published.task_files import read_task
from fairlab.data.published.tasks import find_task
from fairlab.data.stream.manifest import NAME
from fairlab.types import FairlabError

RUN = 5  # number of words; our choice


def rates(folder: str, test: str) -> list[list[object]]:
    """Return the rows of the table.

    The columns are the type of claims, their number, the percentage of claims that occur in the test set, and the
    percentage of word sequences that occur there.

    Raises:
        FairlabError: The output was not made from a task, or has another number of examples than the task.
    """
    source = str(json.loads((Path(folder) / NAME).read_text(encoding="utf-8"))["source"]["name"])
    if not source.startswith("task:"):
        raise FairlabError(f"{folder} was made of {source}; give an output of input=task:NAME:train")
    name = source.removeprefix("task:").split(":")[0]
    original, made = read_task(name, "train"), read_training(find_task(name), folder)
    if len(original) != len(made):
        raise FairlabError(f"{folder} holds {len(made)} examples and {name} has {len(original)}; make it again")
    others = [example.fields[-1] for example in read_task(*test.split(":"))]
    changed = [k for k, pair in enumerate(zip(original, made, strict=True)) if pair[0] != pair[1]]
    rows: list[list[object]] = []
    for label, examples, chosen in (
        ("all, original", original, range(len(original))),
        ("rewritten, before", original, changed),
        ("rewritten, after", made, changed),
    ):
        texts = [examples[k].fields[-1] for k in chosen]
        if texts:
            whole, shares = repeated_whole(texts, others), repeated_share(texts, others, RUN)
            rows.append([label, len(texts), 100 * whole.mean(), 100 * shares.mean()])
    return rows


def main() -> None:
    """Print the table."""
    headers = ["claims", "n", "% in the test set", f"% of runs of {RUN} words there"]
    print(tabulate(rates(*sys.argv[1:]), headers=headers, tablefmt="github", floatfmt=".3f"))


if __name__ == "__main__":
    main()
