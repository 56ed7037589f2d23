"""Training and held-out pairs of the study, written to files for the X-ray and for augmentation.

    python experiments/razor/pairs.py OUT

The script writes four files to OUT, with the columns of FoolMeTwice: ``held_out.jsonl``; ``original.jsonl`` with all
other pairs; ``crossaug.jsonl`` with these pairs, each followed by the pairs that rule-based CrossAug generates from it;
and ``drawn.jsonl`` with 120 short pairs per label, for a language model to rewrite. Augmentations of ``original.jsonl``
therefore contain neither texts nor labels of held-out pairs.
"""

from __future__ import annotations

import argparse
import json
import random
from collections.abc import Iterable
from pathlib import Path

from fairlab.augmentation.crossaug import RULES, CrossAug
from fairlab.data.labelled_tasks import with_more
from fairlab.data.published.task_files import read_task
from fairlab.data.published.tasks import CLAIMS, Example, find_task
from fairlab.data.text import held_out

TASK = "fool_me_twice+vitaminc_two_way+mnli_two_way"
FIELDS = ["gold_evidence", "text"]  # column names of FoolMeTwice: evidence and claim
SHARE = 0.1  # as in conf/data/glue.yaml
DRAWN = 120  # number of pairs sampled per label
LONGEST = (45, 30)  # maximum number of words in the evidence and claim of sampled pairs
SEED = 42


def write(examples: Iterable[Example], file: Path) -> None:
    """Write examples as JSON lines."""
    rows = (dict(zip(FIELDS, one.fields, strict=True)) | {"label": CLAIMS[int(one.label)]} for one in examples)
    file.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")


def drawn(examples: Iterable[Example]) -> list[Example]:
    """Sample the same number of short pairs for each label, and return them in random order."""
    by_label: dict[int, list[Example]] = {}
    for one in examples:
        if all(len(str(text).split()) <= most for text, most in zip((one.first, one.second), LONGEST, strict=True)):
            by_label.setdefault(int(one.label), []).append(one)
    rng = random.Random(SEED)
    found = [one for _, some in sorted(by_label.items()) for one in rng.sample(some, DRAWN)]
    rng.shuffle(found)
    return found


def main() -> None:
    """Write all files."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path)
    out = parser.parse_args().out
    out.mkdir(parents=True, exist_ok=True)
    examples = read_task(TASK, "train")
    kept = [one for one in examples if not held_out(one.first, SHARE)]
    write((one for one in examples if held_out(one.first, SHARE)), out / "held_out.jsonl")
    write(kept, out / "original.jsonl")
    write(drawn(kept), out / "drawn.jsonl")
    write(with_more(kept, find_task(TASK), CrossAug(generator=RULES)), out / "crossaug.jsonl")


if __name__ == "__main__":
    main()
