"""Data for the example in docs/audit.md: abusive and other tweets for training, fitting thresholds and auditing.

    FAIRLAB_DATA=... python -m experiments.audit.own FOLDER

Hateful and offensive tweets (Davidson et al. 2017) count as abusive. Rows are assigned to files by a hash of the text,
with the same number of rows per label.
"""

from __future__ import annotations

import argparse
import hashlib
from pathlib import Path

import pandas

from experiments.audit.measure import DATA

PARTS = {"train": (0, 40, 700), "fit": (40, 70, 1200), "test": (70, 100, 1200)}  # bounds of hash % 100, rows per label


def tweets() -> pandas.DataFrame:
    """Return distinct tweets as ``text``, with the ``label`` ``abusive`` or ``fine``, sorted by a hash of the text."""
    table = pandas.read_csv(DATA / "hate_speech_offensive" / "labeled_data.csv")
    table = table.rename(columns={"tweet": "text"}).drop_duplicates("text")
    table["label"] = table["class"].map({0: "abusive", 1: "abusive", 2: "fine"})
    table["place"] = [int.from_bytes(hashlib.sha256(f"walk {text}".encode()).digest()[:4]) for text in table["text"]]
    return table[["text", "label", "place"]].sort_values("place")


def main() -> None:
    """Write ``train.csv``, ``fit.csv`` and ``test.csv``."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    folder = parser.parse_args().folder
    folder.mkdir(parents=True, exist_ok=True)
    table = tweets()
    for name, (low, high, each) in PARTS.items():
        part = table[(table["place"] % 100 >= low) & (table["place"] % 100 < high)]
        halves = pandas.concat([group.head(each) for _, group in part.groupby("label")]).sort_values("place")
        halves[["text", "label"]].to_csv(folder / f"{name}.csv", index=False)


if __name__ == "__main__":
    main()
