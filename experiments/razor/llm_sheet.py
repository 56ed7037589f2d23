"""Annotation sheet of claims rewritten by a language model, with the objections of automatic checks.

    python experiments/razor/llm_sheet.py OUT PAIRS NAME=RUN ...

PAIRS is the file that was rewritten: ``drawn.jsonl`` of ``pairs.py``. Each RUN is an output of ``fairlab.augment
+augmentation=razor`` for these pairs, with the same rewriter, one rewrite per claim and the check called NAME. The
script samples 100 of all proposed rewrites and writes two files to OUT. ``sheet.csv`` has a row for each rewrite: the
number of the pair, its label, a hash of the rewrite, the number of words before and after, and the objection of each
check. ``texts.jsonl`` contains the evidence, the claim and the rewrite, for the reader.
"""

from __future__ import annotations

import csv
import io
import json
import random
import sys
from hashlib import sha256
from pathlib import Path

from experiments.razor.pairs import FIELDS
from fairlab.data.stream.manifest import dataset_rows
from fairlab.files import write_whole
from fairlab.text.words import WORD
from fairlab.types import Row

READ = 100
SEED = 42


def proposed_rewrites(run: Path) -> dict[int, tuple[str, str]]:
    """Return, by index of the pair, the proposed rewrite and the check's objection; no objection is an empty text."""
    found = {}
    for file in sorted((run / "rounds").glob("round-*.json")):
        for place, one in json.loads(file.read_text(encoding="utf-8"))["tried"].items():
            if one["text"] is not None:
                found[int(place)] = (one["text"], "")
            elif one["turned_down"]:
                text, objection = one["turned_down"][0]
                found[int(place)] = (text, objection)
    return found


def main(out: Path, pairs: Path, runs: dict[str, Path]) -> None:
    """Sample rewrites, and write both files."""
    rows = [one for one in dataset_rows(str(pairs), FIELDS) if isinstance(one, Row)]
    by_check = {name: proposed_rewrites(run) for name, run in runs.items()}
    first = next(iter(by_check.values()))
    places = sorted(random.Random(SEED).sample(sorted(first), READ))
    sheet, texts = io.StringIO(), []
    writer = csv.writer(sheet, lineterminator="\n")
    writer.writerow(["id", "label", "sha256", "words_before", "words_after", *by_check, "label_is", "natural"])
    for place in places:
        row, rewrite = rows[place], first[place][0]
        words = [len(WORD.findall(text)) for text in (row.fields[1], rewrite)]
        objections = [found[place][1] for found in by_check.values()]
        digest = sha256(rewrite.encode()).hexdigest()[:16]
        writer.writerow([row.id, row.extra["label"], digest, *words, *objections, "", ""])
        evidence, claim = row.fields
        texts.append(
            {"id": row.id, "label": row.extra["label"], "evidence": evidence, "claim": claim, "rewrite": rewrite}
        )
    out.mkdir(parents=True, exist_ok=True)
    write_whole(out / "sheet.csv", sheet.getvalue())
    write_whole(out / "texts.jsonl", "".join(json.dumps(one, ensure_ascii=False) + "\n" for one in texts))


if __name__ == "__main__":
    folder, file, *named = sys.argv[1:]
    main(Path(folder), Path(file), {name: Path(run) for name, run in (one.split("=") for one in named)})
