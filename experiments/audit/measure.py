"""Audits of three classifiers on the shared data: biographies, film reviews and hate speech in tweets.

    FAIRLAB_DATA=... python -m experiments.audit.measure [NAME...]

Each classifier is a scikit-learn pipeline of word counts and logistic regression, and is audited on held-out rows.
``sheets/NAME.csv.gz`` contains the checked rewrites, up to 100 per axis. Records are written to
``records/NAME``, and forty review pairs with changed predictions to ``flips/reviews.csv.xz``;
:mod:`experiments.audit.flips` writes the pairs for the other classifiers.
"""

from __future__ import annotations

import argparse
import csv
import gzip
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
READ = 40  # number of flips to read
MENDED = "mended"


def pipeline() -> Pipeline:
    """Build an untrained classifier."""
    return make_pipeline(
        TfidfVectorizer(ngram_range=(1, 2), min_df=2, sublinear_tf=True), LogisticRegression(C=10, max_iter=2000)
    )


def biographies() -> tuple[pandas.DataFrame, pandas.DataFrame, dict[str, Any]]:
    """Return training rows, rows to audit and audit settings for biographies of accountants (1) and others (0).

    The others have 27 occupations. Rows are halved by a hash of the text.
    """
    files = [file for file in sorted((DATA / "bias_in_bios").glob("*.csv")) if file.stem != "accountant"]
    table = pandas.concat([pandas.read_csv(file) for file in files])
    table = table.rename(columns={"hard_text": "text"}).drop_duplicates("text")
    table["label"] = (table["profession"] == "accountant").astype(int)
    train = table["text"].map(lambda text: hashlib.sha256(text.encode()).digest()[0] % 2 == 0)
    return table[train], table[~train], {"group": "gender", "axis": ["gender"]}


def reviews() -> tuple[pandas.DataFrame, pandas.DataFrame, dict[str, Any]]:
    """Return SST-2's training sentences, its development and test sentences, and audit settings."""
    read = {
        part: pandas.read_csv(
            DATA / "sst2" / f"{part}.tsv", sep="\t", header=None, names=["text", "label"], quoting=csv.QUOTE_NONE
        )
        for part in ("train", "dev", "test")
    }
    return read["train"], pandas.concat([read["dev"], read["test"]]), {"axis": ["gender", "age"]}


def hate() -> tuple[pandas.DataFrame, pandas.DataFrame, dict[str, Any]]:
    """Return training rows, rows to audit and audit settings for tweets: hateful, offensive or neither.

    Three quarters of the tweets are training rows.
    """
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
    """Return training rows and copies of them in which one person's gender is changed, as in fairtuning."""
    pairs = turned_people([[text] for text in train["text"]], "gender", mode="lexical").pairs
    copies = pandas.DataFrame([{"text": one.after[0], "label": train["label"].iloc[one.row]} for one in pairs])
    return pandas.concat([train[["text", "label"]], copies])


def mended(folder: Path) -> None:
    """Audit the classifier of biographies, and compare it with one that was also trained on rewritten copies."""
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
    """Unpack the rewrites that were checked, and return the path of the unpacked file from the working directory."""
    packed, path = FOLDER / "sheets" / f"{name}.csv.gz", Path("outputs") / "sheets" / f"{name}.csv"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(gzip.decompress(packed.read_bytes()))
    return os.fspath(path)


def audited(name: str, folder: Path) -> None:
    """Train and audit a classifier, and write the record and, for reviews, the flips to a folder."""
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
        folder / "flips" / f"{name}.csv.xz", index=False
    )


def main() -> None:
    """Run the audits, and write records and flips."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", default=[*SETS, MENDED], metavar="NAME")
    parser.add_argument("--folder", type=Path, default=FOLDER, help="folder of records/ and flips/")
    given = parser.parse_args()
    for name in given.names:
        mended(given.folder) if name == MENDED else audited(name, given.folder)


if __name__ == "__main__":
    main()
