"""Real sentences that hold a word of gender, for groups made by rules, of which CCD is trained on more and more.

    FAIRLAB_DATA=... python -m experiments.ccd.sizes outputs/sizes/texts.jsonl

writes all such sentences of the sources that the language model's were drawn from, in random order, so that the first
400 groups are a sample of the first 5,000. Groups are made of them by ``fairlab.augment
+augmentation=counterfactual_groups``.
"""

from __future__ import annotations

import json
import random
import sys
from pathlib import Path

from experiments.llm.texts import SOURCES, sentences
from fairlab.files import write_whole
from fairlab.lexicons import load_lexicon
from fairlab.metrics.polarity import Polarity

SEED = 23


def main(out: Path) -> None:
    """Write the sentences as JSON lines."""
    polarity = Polarity(load_lexicon("gender"))
    found: dict[str, dict[str, str]] = {}
    for source, kind in SOURCES.items():
        for text in sorted(set(sentences(source, kind))):
            if any(polarity.counts(text).values()):
                found.setdefault(text.casefold(), {"text": text, "source": source})
    rows = list(found.values())
    random.Random(SEED).shuffle(rows)
    out.parent.mkdir(parents=True, exist_ok=True)
    write_whole(out, "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows))
    print(len(rows), "sentences")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
