"""Pairs for the X-ray that no output of ``fairlab.augment`` holds: those held out, and those with what CrossAug adds.

    python experiments/razor/pairs.py OUT

OUT gets ``held_out.jsonl``, the pairs that the runs of the study hold out, and ``crossaug.jsonl``, all pairs each
followed by those that CrossAug by rules makes of it. Both have the columns of FoolMeTwice.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterable
from pathlib import Path

from fairlab.augmentation.crossaug import RULES, CrossAug
from fairlab.data.labelled_tasks import with_more
from fairlab.data.published.task_files import read_task
from fairlab.data.published.tasks import CLAIMS, Example, find_task
from fairlab.data.text import held_out

TASK = "fool_me_twice+vitaminc_two_way+mnli_two_way"
SHARE = 0.1  # as conf/data/glue.yaml


def lines(examples: Iterable[Example]) -> str:
    """JSON lines of examples."""
    rows = ({"gold_evidence": one.first, "text": one.second, "label": CLAIMS[int(one.label)]} for one in examples)
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)


def main() -> None:
    """Write both files."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path)
    out = parser.parse_args().out
    out.mkdir(parents=True, exist_ok=True)
    examples = read_task(TASK, "train")
    more = with_more(examples, find_task(TASK), CrossAug(generator=RULES))
    (out / "held_out.jsonl").write_text(lines(one for one in examples if held_out(one.first, SHARE)), encoding="utf-8")
    (out / "crossaug.jsonl").write_text(lines(more), encoding="utf-8")


if __name__ == "__main__":
    main()
