"""Texts of biographies and tweets whose prediction flips when a person changes, sampled for reading.

    FAIRLAB_DATA=... python -m experiments.audit.flips [NAME...]

The audits in :mod:`experiments.audit.measure` find too few flips. The texts are therefore divided into four parts by a
hash, and each part is audited with a classifier trained on the other three. If one draw of persons and target
attributes gives fewer than forty flips, further draws follow. Forty flips per classifier, sampled by a hash of the
text, are written to ``flips/NAME.csv.xz``, and the counts of the first draw to ``flips/counts.json``.
"""

from __future__ import annotations

import argparse
import hashlib
import json
from pathlib import Path

import pandas

import fairlab
from experiments.audit.measure import FOLDER, READ, SETS, pipeline

NAMES = ("biographies", "hate")
PARTS = 4
DRAWS = 5  # maximum number of draws of persons and target attributes
COLUMNS = ["benchmark", "id", "text 1", "text 2", "changed in control", "change of score", "before", "after"]


def digest(text: str) -> bytes:
    """Return a hash of a text."""
    return hashlib.sha256(text.encode()).digest()


def audited_items(name: str, seed: int) -> pandas.DataFrame:
    """Audit all parts, and return the items.

    Persons and target attributes are drawn with a seed.
    """
    train, measured, settings = SETS[name]()
    rows = pandas.concat([train, measured])
    part = rows["text"].map(lambda text: digest(text)[0] % PARTS)
    found = []
    for k in range(PARTS):
        others, own = rows[part != k], rows[part == k]
        model = pipeline().fit(others["text"], others["label"])
        found.append(fairlab.audit(model, own, axis=settings["axis"], mode="lexical", seed=seed).items())
    return pandas.concat(found)


def counted(items: pandas.DataFrame) -> dict[str, dict[str, int]]:
    """Count the pairs, the flips and the changed controls of each axis."""
    names = {"flips": "changed", "in_control": "changed in control"}
    return {
        axis: {"pairs": len(some), **{name: int(some[column].sum()) for name, column in names.items()}}
        for axis, some in items.groupby("benchmark")
    }


def flips_to_read(name: str) -> tuple[pandas.DataFrame, dict[str, dict[str, int]]]:
    """Return sampled flips, and the counts of the first draw."""
    items = audited_items(name, 0)
    counts, changed = counted(items), items[items["changed"] == 1]
    for seed in range(1, DRAWS):
        if len(changed) >= READ:
            break
        more = audited_items(name, seed)
        changed = pandas.concat([changed, more[more["changed"] == 1]]).drop_duplicates(["text 1", "text 2"])
    order = changed["text 1"].map(lambda text: digest(f"{name}:{text}").hex())
    return changed.loc[:, COLUMNS].iloc[order.argsort().to_numpy()[:READ]].round(6), counts


def main() -> None:
    """Write the flips and their counts."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", default=NAMES, metavar="NAME")
    parser.add_argument("--folder", type=Path, default=FOLDER / "flips")
    given = parser.parse_args()
    given.folder.mkdir(parents=True, exist_ok=True)
    file = given.folder / "counts.json"
    counts = json.loads(file.read_text(encoding="utf-8")) if file.exists() else {}
    for name in given.names:
        drawn, counts[name] = flips_to_read(name)
        drawn.to_csv(given.folder / f"{name}.csv.xz", index=False)
        file.write_text(json.dumps(counts, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
