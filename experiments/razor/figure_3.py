"""Sample of 500 pairs with claims rewritten by RAZOR, in their original and rewritten form, for figure 3.

    python experiments/razor/figure_3.py MADE OUT

MADE is an output of ``fairlab.augment +augmentation=razor`` for the study's pairs. The script writes
``original/train.jsonl`` and ``rewritten/train.jsonl`` to the folder OUT, with the same pairs in the same order and
without the study's held-out pairs. It also writes ``record.json`` with the number of occurrences of "no" and "not" per
100 claims in each file.
"""

from __future__ import annotations

import argparse
import json
import random
from collections import Counter
from pathlib import Path
from statistics import fmean

from experiments.over_seeds import record_in, save
from experiments.razor.pairs import FIELDS, SHARE
from fairlab.data.stream.manifest import dataset_rows
from fairlab.data.text import held_out
from fairlab.files import write_whole
from fairlab.metrics.bootstrap import mean_draws, percentile_interval
from fairlab.record import Reading
from fairlab.text.fields import split_fields
from fairlab.text.surface_tokens import surface_tokens
from fairlab.types import Row

COUNT = 500
SEED = 42
WORDS = ("no", "not")  # words counted in the paper


def sample_rows(made: Path) -> list[Row]:
    """Sample rewritten rows, and return them in the order of the data."""
    rows = [one for one in dataset_rows(str(made), FIELDS) if isinstance(one, Row) and one.extra["rewritten"]]
    kept = [one for one in rows if not held_out(one.fields[0], SHARE)]
    places = sorted(random.Random(SEED).sample(range(len(kept)), COUNT))
    return [kept[place] for place in places]


def original(row: Row) -> str:
    """Return the original claim of a rewritten row."""
    fields = split_fields(row.extra["source_text"], row.fields)
    assert fields is not None  # RAZOR keeps the number of fields
    return fields[1]


def counts(claims: list[str]) -> list[float]:
    """Return, for each claim, the number of counted words times 100."""
    found = (Counter(surface_tokens(claim)) for claim in claims)
    return [100.0 * sum(one[word] for word in WORDS) for one in found]


def main() -> None:
    """Write the pairs and the record."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("made", type=Path)
    parser.add_argument("out", type=Path)
    arguments = parser.parse_args()
    rows = sample_rows(arguments.made)
    record = record_in(arguments.out, "experiments/razor/figure_3.py")
    claims = {
        "original": [original(one) for one in rows],
        "rewritten": [one.fields[1] for one in rows],
    }
    for name, some in claims.items():
        both = zip(rows, some, strict=True)
        lines = (
            dict(zip(FIELDS, (row.fields[0], claim), strict=True)) | {"label": row.extra["label"]}
            for row, claim in both
        )
        written = "".join(json.dumps(one, ensure_ascii=False) + "\n" for one in lines)
        write_whole(arguments.out / name / "train.jsonl", written)
        place = ("negations", "claims", "no_or_not")
        found = counts(some)
        bounds = percentile_interval(mean_draws(found))
        record.readings.append(Reading(*place, fmean(found), "of 100 claims", None, len(some), *bounds, phase=name))
    save(record, {})


if __name__ == "__main__":
    main()
