"""A sheet of claims that a language model rewrote, drawn from all that it offered, with what checks say of them.

    python experiments/razor/llm_sheet.py OUT PAIRS NAME=RUN ...

PAIRS is the file that was rewritten, ``drawn.jsonl`` of ``pairs.py``. Each RUN is an output of ``fairlab.augment
+augmentation=razor`` of these pairs, by the same rewriter with one rewrite a claim, under another check, of that NAME.
OUT gets ``sheet.csv`` with a row for each of 100 rewrites drawn at random: the pair's number, its label, a hash of the
rewrite, the words of the claim before and after, and what each check objects to; and ``texts.jsonl``, with evidence,
claim and rewrite, to be read.
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


def offered(run: Path) -> dict[int, tuple[str, str]]:
    """By place the rewrite that was offered for a pair, and what the check objects to, empty where it lets it pass."""
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
    """Draw, and write both files."""
    rows = [one for one in dataset_rows(str(pairs), FIELDS) if isinstance(one, Row)]
    by_check = {name: offered(run) for name, run in runs.items()}
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
