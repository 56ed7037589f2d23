"""Compare two ways of prompting for versions of the same texts, text by text, with verifiers.

    python -m experiments.llm.compare FIRST SECOND OUT.json

Both arguments are output folders of ``fairlab.augment`` with ``augmentation.filter=keep``. Only counts are written,
because the texts belong to their publishers.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from fairlab.files import write_whole
from fairlab.lexicons import load_lexicon
from fairlab.metrics.significance import sign_test_p
from fairlab.rewriting.verifiers import TextVerifier, load_verifiers


def outcomes(folder: Path, verifiers: Sequence[TextVerifier]) -> dict[str, bool]:
    """Return, for every text with a word of the axis, whether no verifier finds a fault with its versions."""
    right = {
        row["source_id"]: not any(one.fault(row["source_text"], row["versions"]) for one in verifiers)
        for row in rows(folder, "data")
    }
    return right | {row["id"]: False for row in rows(folder, "rejected")}


def versions(folder: Path) -> dict[str, dict[str, str]]:
    """Return the versions of every text, by its id."""
    return {row["source_id"]: row["versions"] for row in rows(folder, "data")}


def rows(folder: Path, kind: str) -> Iterator[dict[str, Any]]:
    """Yield the rows of all files of a kind."""
    for file in sorted(folder.glob(f"{kind}-*.jsonl")):
        yield from map(json.loads, file.read_text(encoding="utf-8").splitlines())


def compared(first: Path, second: Path, names: Sequence[str]) -> dict[str, object]:
    """Count the texts that are correct in both folders, in one alone and in neither, with the exact McNemar p-value."""
    verifiers = load_verifiers(names, load_lexicon("gender"))
    one, other = outcomes(first, verifiers), outcomes(second, verifiers)
    return counted([(one[key], other[key]) for key in sorted(one.keys() & other.keys())])


def counted(pairs: Sequence[tuple[bool, bool]]) -> dict[str, object]:
    """Count the texts that are correct in both ways, in one alone and in neither, with the exact McNemar p-value.

    Args:
        pairs: Whether each text is correct in the first way, and in the second.
    """
    counts = {
        "both": pairs.count((True, True)),
        "first_alone": pairs.count((True, False)),
        "second_alone": pairs.count((False, True)),
        "neither": pairs.count((False, False)),
    }
    return {"texts": len(pairs), **counts, "p": sign_test_p(counts["second_alone"], counts["first_alone"])}


if __name__ == "__main__":
    a, b, out = map(Path, sys.argv[1:])
    found = {" and ".join(names): compared(a, b, names) for names in (["polarity"], ["polarity", "kinds"])}
    one, other = versions(a), versions(b)
    equal = sum(one[key] == other[key] for key in one.keys() & other.keys())
    write_whole(out, json.dumps({"first": a.name, "second": b.name, "equal": equal, **found}, indent=1) + "\n")
