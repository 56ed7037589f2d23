"""Words and word pairs that are most strongly associated with each label in each dataset.

    python experiments/razor/ngrams.py RUN OUT

RUN is a run of ``benchmark=shortcuts``. The script writes the CSV file OUT with the eight n-grams of each dataset and
label that have the highest local mutual information in this dataset: the share of their occurrences that have the
label, and the number of occurrences.
"""

from __future__ import annotations

import argparse
import csv
from pathlib import Path

from safetensors.numpy import load_file

STRONGEST = 8


def strongest_ngrams(file: Path) -> list[list[str]]:
    """Return the rows of a dataset: label, n-gram, share in per cent and occurrences, strongest n-grams first."""
    found: dict[str, list[tuple[float, str, float, int]]] = {}
    for name, values in load_file(file).items():
        if name.startswith("lmi/"):
            _, label, ngram = name.split("/", 2)
            value, share, count = map(float, values)
            found.setdefault(label, []).append((-value, ngram, 100 * share, int(count)))
    return [
        [label, ngram, f"{share:.0f}", str(count)]
        for label, some in sorted(found.items())
        for _, ngram, share, count in sorted(some)[:STRONGEST]
    ]


def main() -> None:
    """Write the CSV file."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run", type=Path)
    parser.add_argument("out", type=Path)
    arguments = parser.parse_args()
    with arguments.out.open("w", encoding="utf-8", newline="") as out:
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow(["data", "label", "ngram", "share", "occurrences"])
        for file in sorted((arguments.run / "items").glob("*/shortcuts.safetensors")):
            writer.writerows([file.parent.name, *row] for row in strongest_ngrams(file))


if __name__ == "__main__":
    main()
