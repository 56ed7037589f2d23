"""Audits of three classifiers of the shared data: biographies, film reviews, and hate in tweets.

    FAIRLAB_DATA=... python -m experiments.audit.measure [NAME...]

Each is a scikit-learn pipeline of word counts and a logistic regression, trained on training rows and audited on rows
that it was not trained on. ``sheets/NAME.csv`` holds the rewrites that were read, up to a hundred of each axis. Records
go to ``records/NAME``, and forty pairs of the reviews whose prediction changes to ``flips/reviews.csv``; those of the
others are of :mod:`experiments.audit.flips`.
"""

from __future__ import annotations

import argparse
import csv
import hashlib
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import Pipeline, make_pipeline

import fairlab
from fairlab.audit.pairs import make_pairs as turned_people

FOLDER = Path(__file__).parent
DATA = Path(os.environ["FAIRLAB_DATA"])
READ = 40  # flips to read
MENDED = "mended"


def pipeline() -> Pipeline:
    """Return an untrained classifier."""
    return make_pipeline(
        TfidfVectorizer(ngram_range=(1, 2), min_df=2, sublinear_tf=True), LogisticRegression(C=10, max_iter=2000)
    )


def biographies() -> tuple[pandas.DataFrame, pandas.DataFrame, dict[str, Any]]:
    """Return biographies of accountants (1) and of 27 other occupations (0), halved by a hash of the text."""
    files = [file for file in sorted((DATA / "bias_in_bios").glob("*.csv")) if file.stem != "accountant"]
    table = pandas.concat([pandas.read_csv(file) for file in files])
    table = table.rename(columns={"hard_text": "text"}).drop_duplicates("text")
    table["label"] = (table["profession"] == "accountant").astype(int)
    train = table["text"].map(lambda text: hashlib.sha256(text.encode()).digest()[0] % 2 == 0)
    return table[train], table[~train], {"group": "gender", "axis": ["gender"]}


def reviews() -> tuple[pandas.DataFrame, pandas.DataFrame, dict[str, Any]]:
    """Return SST-2's training sentences, and its development and test sentences."""
    read = {
        part: pandas.read_csv(
            DATA / "sst2" / f"{part}.tsv", sep="\t", header=None, names=["text", "label"], quoting=csv.QUOTE_NONE
        )
        for part in ("train", "dev", "test")
    }
    return read["train"], pandas.concat([read["dev"], read["test"]]), {"axis": ["gender", "age"]}


def hate() -> tuple[pandas.DataFrame, pandas.DataFrame, dict[str, Any]]:
    """Return tweets that are hateful, offensive or neither: three of four to train on."""
    table = pandas.read_csv(DATA / "hate_speech_offensive" / "labeled_data.csv")
    table = table.rename(columns={"tweet": "text"}).drop_duplicates("text")
    table["label"] = table["class"].map({0: "hate", 1: "offensive", 2: "neither"})
    table = table[["text", "label"]]
    measured = table["text"].map(lambda text: hashlib.sha256(text.encode()).digest()[0] % 4 == 0)
    return table[~measured], table[measured], {"axis": ["gender", "race"], "limit": 3000}


SETS: dict[str, Callable[[], tuple[pandas.DataFrame, pandas.DataFrame, dict[str, Any]]]] = {
    "biographies": biographies,
    "reviews": reviews,
    "hate": hate,
}


def with_copies(train: pandas.DataFrame) -> pandas.DataFrame:
    """Return training rows and their copies with one person turned, as fairtuning trains on."""
    pairs = turned_people([[text] for text in train["text"]], "gender", mode="lexical").pairs
    copies = pandas.DataFrame([{"text": one.after[0], "label": train["label"].iloc[one.row]} for one in pairs])
    return pandas.concat([train[["text", "label"]], copies])


def mended(folder: Path) -> None:
    """Audit the biographies' classifier beside one that was trained on changed people too, paired."""
    train, measured, settings = biographies()
    both = with_copies(train)
    models = {
        "plain": pipeline().fit(train["text"], train["label"]),
        "with copies": pipeline().fit(both["text"], both["label"]),
    }
    found = fairlab.audit(models, measured, mode="lexical", sheet=sheet_of("biographies"), **settings)
    print("mended", found, sep="\n", flush=True)
    found.save(folder / "records" / MENDED)


def sheet_of(name: str) -> str:
    """Return the path of the rewrites that were read, from the working directory, as a record keeps it."""
    return os.path.relpath(FOLDER / "sheets" / f"{name}.csv")


def audited(name: str, folder: Path) -> None:
    """Train, audit, and write the record, and flips of the reviews, to a folder."""
    train, measured, settings = SETS[name]()
    model = pipeline().fit(train["text"], train["label"])
    found = fairlab.audit(model, measured, mode="lexical", sheet=sheet_of(name), **settings)
    print(name, len(train), len(measured), found, sep="\n", flush=True)
    found.save(folder / "records" / name)
    if name != "reviews":
        return
    flips = found.items()
    (folder / "flips").mkdir(exist_ok=True)
    flips[flips["changed"] == 1].groupby("benchmark").head(READ).head(READ).to_csv(
        folder / "flips" / f"{name}.csv", index=False
    )


def main() -> None:
    """Write records and flips."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", default=[*SETS, MENDED], metavar="NAME")
    parser.add_argument("--folder", type=Path, default=FOLDER, help="folder of records/ and flips/")
    given = parser.parse_args()
    for name in given.names:
        mended(given.folder) if name == MENDED else audited(name, given.folder)


if __name__ == "__main__":
    main()
