"""Two ways of asking for the same texts, compared text by text on union polarity.

    python -m experiments.llm.compare FIRST SECOND OUT.json

Both are output folders of ``fairlab.augment`` with ``augmentation.filter=keep``. Only counts are written: the texts are
their publishers'.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from fairlab.files import write_whole
from fairlab.lexicons import load_lexicon
from fairlab.metrics.polarity import Polarity
from fairlab.metrics.significance import sign_test_p


def outcomes(folder: Path) -> dict[str, bool]:
    """Whether all versions of a text read as they should, for every text with a word of the axis."""
    polarity = Polarity(load_lexicon("gender"))
    right = dict[str, bool]()
    for row in rows(folder, "data"):
        right[row["source_id"]] = all(polarity(text) == name for name, text in row["versions"].items())
    return right | {row["id"]: False for row in rows(folder, "rejected")}


def rows(folder: Path, kind: str) -> Iterator[dict[str, Any]]:
    """Rows of all files of a kind."""
    for file in sorted(folder.glob(f"{kind}-*.jsonl")):
        yield from map(json.loads, file.read_text(encoding="utf-8").splitlines())


def compared(first: Path, second: Path) -> dict[str, object]:
    """How many texts are right in both, in one alone and in neither, and the exact p of the difference (McNemar)."""
    one, other = outcomes(first), outcomes(second)
    shared = sorted(one.keys() & other.keys())
    pairs = [(one[key], other[key]) for key in shared]
    counts = {
        "texts": len(pairs),
        "both": pairs.count((True, True)),
        "first_alone": pairs.count((True, False)),
        "second_alone": pairs.count((False, True)),
        "neither": pairs.count((False, False)),
    }
    p = sign_test_p(counts["second_alone"], counts["first_alone"])
    return {"first": first.name, "second": second.name, **counts, "p": p}


if __name__ == "__main__":
    a, b, out = map(Path, sys.argv[1:])
    write_whole(out, json.dumps(compared(a, b), indent=1) + "\n")
