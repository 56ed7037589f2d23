"""Measure the precision of first names without counts on natural text, from sampled uses that are read one by one.

    FAIRLAB_DATA=... python -m experiments.rewriting.new_names          # sample, and keep earlier verdicts
    FAIRLAB_DATA=... python -m experiments.rewriting.new_names --show   # print the uses for reading

A use is a word that the syntax rules take for a first name and that only the lists without counts contain. Because not
all sources may be stored, the sheet contains the location of a sentence and a hash instead of its text.
"""

from __future__ import annotations

import argparse
import csv
import io
import random
import re
from collections import Counter
from pathlib import Path
from typing import Any

from experiments.rewriting.labelled import share
from experiments.rewriting.natural import SOURCES, read_sheet, sentences, short_hash, write_table
from fairlab.lexicons import load_lexicon
from fairlab.lexicons.names import find_name
from fairlab.rewriting.english.casing import read_cased
from fairlab.rewriting.english.rules import RuleRewriter
from fairlab.rewriting.english.syntax import Syntax, parse_views

SHEET = Path(__file__).parent / "new_names.csv.gz"
SEED, USES, PER_SOURCE = 5151, 200, 3000
COLUMNS = ["source", "line", "sha256", "name", "verdict"]
_CAPITALISED = re.compile(r"[^\W\d_a-z]\w+")


def is_new(word: str) -> bool:
    """Return whether a word is a first name of the gender axis that only the lists without counts contain."""
    known = find_name(word)
    return known is not None and not known.is_counted and known.gender != "both" and known.other_sense != "rarely"


def draw() -> list[dict[str, str]]:
    """Sample uses with their texts, at most one per text, without verdicts."""
    pool = []
    for source in SOURCES:
        found = sentences(source)
        chosen = random.Random(f"{SEED} {source}").sample(found, min(PER_SOURCE, len(found)))
        pool += [(source, line, text) for line, text in chosen if any(map(is_new, _CAPITALISED.findall(text)))]
    random.Random(SEED).shuffle(pool)
    rules, rows = RuleRewriter(load_lexicon("gender")), []
    views = [read_cased(text) for _, _, text in pool]
    docs = parse_views(views, rules.finder.named_words)
    for (source, line, text), view, doc in zip(pool, views, docs, strict=True):
        names = [one.found for one in rules.finder.find(view.text, Syntax(doc)) if one.sense.pos == "name"]
        if new := [name for name in names if is_new(name)]:
            name = random.Random(f"{SEED} {text}").choice(new)
            rows.append({"source": source, "line": str(line), "sha256": short_hash(text), "name": name, "text": text})
        if len(rows) == USES:
            break
    return rows


def write_uses(rows: list[dict[str, str]]) -> None:
    """Write the sheet, and keep earlier verdicts on the same uses."""
    given = {(row["sha256"], row["name"]): row["verdict"] for row in read_sheet(SHEET)}
    text = io.StringIO()
    table = csv.DictWriter(text, COLUMNS, extrasaction="ignore", lineterminator="\n")
    table.writeheader()
    table.writerows({**row, "verdict": given.get((row["sha256"], row["name"]), "")} for row in rows)
    write_table(SHEET, text.getvalue())


def people() -> dict[str, Any]:
    """Return the proportion of read uses that are first names of people."""
    verdicts = Counter(row["verdict"] for row in read_sheet(SHEET) if row["verdict"])
    return share(verdicts["person"], verdicts.total())


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--show", action="store_true")
    drawn = draw()
    if parser.parse_args().show:
        print(f"seed {SEED}")
        for place, row in enumerate(drawn, start=1):
            print(f"{place}. [{row['name']}] {row['text']}")
    else:
        write_uses(drawn)
