"""How many texts the present rewriter turns in another way than a former one, by axis, target and way of rewriting.

FAIRLAB_DATA=... python -m experiments.rewriting.former made FILE       # in each checkout
python -m experiments.rewriting.former compare FORMER_FILE PRESENT_FILE   # writes former.json
"""

from __future__ import annotations

import argparse
import json
import random
from pathlib import Path
from typing import Any

from experiments.rewriting.natural import SOURCES, sentences
from fairlab.files import write_whole
from fairlab.lexicons import load_lexicon
from fairlab.rewriting.biasers import BiaserRewriter
from fairlab.rewriting.english.rules import RuleRewriter
from fairlab.rewriting.english.word_swap import WordSwap

RECORD = Path(__file__).parent / "former.json"
GOALS = {
    "gender": ("neutral", "man", "woman"),
    "race": ("black",),
    "age": ("senior", "adult"),
    "religion": ("muslim",),
    "nationality": ("french",),
}
EACH, SEED = 150, 3  # sentences of each source


def made() -> dict[str, list[str]]:
    """Return the drawn sentences, and what each way of rewriting makes of them."""
    texts = [text for source in SOURCES for _, text in random.Random(SEED).sample(sentences(source), EACH)]
    found = {"texts": texts}
    for axis, targets in GOALS.items():
        lexicon = load_lexicon(axis)
        swap = WordSwap(lexicon)
        for target in targets:
            goals = [target] * len(texts)
            found[f"rules, {axis} to {target}"] = RuleRewriter(lexicon).rewrite_all(texts, goals)
            lexical = RuleRewriter(lexicon, mode="lexical")
            found[f"rules by neighbours, {axis} to {target}"] = lexical.rewrite_all(texts, goals)
            found[f"word swap, {axis} to {target}"] = [swap(text, target) for text in texts]
    copies = BiaserRewriter(lexicon=load_lexicon("ethnicity")).copies(texts, mentions="first")
    found["copies of biasers"] = [
        "\n".join(copy.text for copy in some) if isinstance(some, list) else "" for some in copies
    ]
    return found


def compared(former: dict[str, list[str]], present: dict[str, list[str]]) -> dict[str, Any]:
    """Return number of texts, of those that either turns, and of those that are turned in another way, by way."""
    texts = former["texts"]
    found = {}
    for way in [name for name in former if name != "texts"]:
        pairs = list(zip(texts, former[way], present[way], strict=True))
        turned = sum({before, after} not in ({text}, {""}) for text, before, after in pairs)
        other = sum(before != after for _, before, after in pairs)
        found[way] = {"texts": len(texts), "turned": turned, "other": other, "share of turned": other / max(1, turned)}
    return found


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("action", choices=("made", "compare"))
    parser.add_argument("files", nargs="+", type=Path)
    given = parser.parse_args()
    if given.action == "made":
        write_whole(given.files[0], json.dumps(made()))
    else:
        before, after = (json.loads(file.read_text(encoding="utf-8")) for file in given.files)
        write_whole(RECORD, json.dumps(compared(before, after), indent=2) + "\n")
