"""Measure how often the rewriter changes labelled mentions in sources whose texts were not read for its word lists.

    FAIRLAB_DATA=... python -m experiments.rewriting.mentions.halves now

The sources were split by :data:`SEED` before missed words were looked at. Words were added after the development half
had been read. ``halves.json`` contains the counts before these words were added and now.
"""

from __future__ import annotations

import json
import random
import sys
from pathlib import Path
from typing import Any

from experiments.rewriting.mentions.draw import SOURCES
from experiments.rewriting.mentions.labels import DOUBT, TEST_SEEDS, read_labels
from experiments.rewriting.mentions.measure import rates
from fairlab.files import write_whole
from fairlab.lexicons import load_lexicon

RECORD = Path(__file__).with_name("halves.json")
SEED = 5900


def held_out() -> frozenset[str]:
    """Return the sources of the half that was only used for measuring."""
    order = list(SOURCES)
    random.Random(SEED).shuffle(order)
    return frozenset(order[1::2])


def measure() -> dict[str, Any]:
    """Return the rates by half and kind of word.

    On axes with a judge, mentions on which it was not trained are also counted separately.
    """
    held, found = held_out(), dict[str, Any]()
    mentions = [one for one in read_labels() if one.label != DOUBT]
    for kind in dict.fromkeys(one.kind for one in mentions):
        lexicon = load_lexicon(kind.split()[0])
        for half in ("development", "held out"):
            rows = [one for one in mentions if one.kind == kind and (one.source in held) == (half == "held out")]
            found.setdefault(half, {})[kind] = rates(rows, lexicon)
            if lexicon.judged:
                unseen = [one for one in rows if one.seed in TEST_SEEDS]
                found[half][f"{kind}, unknown to the judge"] = rates(unseen, lexicon)
    return found


if __name__ == "__main__":
    print(f"seed {SEED}; held out: {', '.join(sorted(held_out()))}")
    record = json.loads(RECORD.read_text(encoding="utf-8")) if RECORD.is_file() else {}
    write_whole(RECORD, json.dumps(record | {sys.argv[1]: measure()}) + "\n")
