"""Real sentences with gendered words, from which rules make more and more groups to train CCD on.

    FAIRLAB_DATA=... python -m experiments.ccd.sizes outputs/sizes/texts.jsonl

The command writes all such sentences from the sources that were also used for the language model's groups. The order is
random, so that the first 400 groups are a sample of the first 5,000. ``fairlab.augment
+augmentation=counterfactual_groups`` makes groups from the sentences.
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
    """Write the sentences to a JSON Lines file."""
    polarity = Polarity(load_lexicon("gender"))
    found: dict[str, dict[str, str]] = {}
    for source, kind in SOURCES.items():
        for text in sorted(set(sentences(source, kind))):
            if any(polarity.counts(text).values()):
                found.setdefault(text.casefold(), {"text": text, "source": source})
    rows = list(found.values())
    random.Random(SEED).shuffle(rows)
    write_whole(out, "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows))
    print(len(rows), "sentences")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
