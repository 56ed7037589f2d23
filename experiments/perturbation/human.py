"""Table 2's measures against sentences that people wrote, of rewriters that need no training.

    FAIRLAB_DATA=... python -m experiments.perturbation.human [--augly PYTHON]     # writes human.json

References: Winogender's held-out groups, man to woman and back, and both directions of the 112 CrowS-Pairs whose sides
differ in gendered words alone, the held-out half. A rewriter is told the first differing word and the target, as in
PANDA. *57 pairs* swaps a fixed list of words, as AugLy does with its own list. AugLy runs in an environment of its own
(``pip install augly==1.0.0 nlpaug==1.1.11``), whose Python is given; without it its earlier figures stay.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from experiments.rewriting.sets import Rewriting, bias_words, crows, winogender
from fairlab.benchmarks.perturber import by_rules, by_word_swap
from fairlab.data.perturbation_pairs import PerturbationPair
from fairlab.files import write_whole
from fairlab.metrics.rewriting import bleu, bleu_counts, rouge_2, word_levenshtein
from fairlab.metrics.significance import wilson_interval
from fairlab.run.environment import environment

RECORD = Path(__file__).parent / "human.json"
OTHER = "AugLy 1.0.0"
WORD = re.compile(r"[\w']+")


def references() -> dict[str, list[PerturbationPair]]:
    """Pairs of each set, in PANDA's form."""
    groups = winogender()["held out"]
    both = [
        _pair(group.versions[one], group.versions[other], other)
        for group in groups
        for one, other in (("man", "woman"), ("woman", "man"))
    ]
    return {"Winogender": both, "CrowS-Pairs, gender": [_selected(one) for one in crows()["held out"]]}


def _pair(original: str, perturbed: str, target: str) -> PerturbationPair:
    words = zip(WORD.findall(original), WORD.findall(perturbed), strict=True)
    return PerturbationPair(original, next(one for one, other in words if one != other), target, perturbed)


def _selected(one: Rewriting) -> PerturbationPair:
    start, target = one.selected[0]
    found = WORD.match(one.source, start)
    assert found is not None
    return PerturbationPair(one.source, found[0], target, one.expected)


def by_pairs(pairs: Sequence[PerturbationPair]) -> list[str]:
    """Every text with each of the 57 pairs' words by its partner, case kept."""
    partner: dict[str, str] = {}
    for man, woman in bias_words():
        partner.setdefault(man, woman)
        partner.setdefault(woman, man)

    def swapped(match: re.Match[str]) -> str:
        found = match[0]
        new = partner.get(found.lower(), found)
        return new.capitalize() if found[0].isupper() and new != found else new

    return [WORD.sub(swapped, pair.original) for pair in pairs]


# Runs in AugLy's environment: sentences in, sentences out.
AUGLY = """
import json, sys
import augly.text
print(json.dumps(augly.text.swap_gendered_words(json.load(sys.stdin), aug_word_p=1.0)))
"""


def by_augly(python: str, pairs: Sequence[PerturbationPair]) -> list[str]:
    """Every text as AugLy swaps its gendered words."""
    texts = json.dumps([pair.original for pair in pairs])
    answer = subprocess.run([python, "-c", AUGLY], input=texts, capture_output=True, text=True, check=True)
    made: list[str] = json.loads(answer.stdout.splitlines()[-1])
    return made


def quality(made: Sequence[str], pairs: Sequence[PerturbationPair]) -> dict[str, Any]:
    """The measures of table 2, and how many equal their reference."""
    wanted = [pair.perturbed for pair in pairs]
    exact = sum(one == other for one, other in zip(made, wanted, strict=True))
    return {
        "bleu": float(bleu(*bleu_counts(made, wanted))),
        "rouge_2": 100 * float(rouge_2(made, wanted).mean()),
        "levenshtein": float(word_levenshtein(made, wanted).mean()),
        "exact": exact,
        "interval": wilson_interval(exact, len(wanted)),
        "n": len(wanted),
    }


def measure(augly: str | None) -> dict[str, Any]:
    """Every rewriter on every set."""
    rewriters = {"rules": by_rules, "word swap": by_word_swap, "57 pairs": by_pairs}
    before = json.loads(RECORD.read_text(encoding="utf-8"))["sets"] if RECORD.is_file() else {}
    found: dict[str, Any] = {}
    for name, pairs in references().items():
        found[name] = {rewriter: quality(make(pairs), pairs) for rewriter, make in rewriters.items()}
        if augly is not None:
            found[name][OTHER] = quality(by_augly(augly, pairs), pairs)
        elif OTHER in before.get(name, {}):
            found[name][OTHER] = before[name][OTHER]
        found[name]["unchanged"] = quality([pair.original for pair in pairs], pairs)
    return found


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--augly", metavar="PYTHON", help="the Python of an environment that has AugLy")
    content = {"revision": environment()["revision"], "sets": measure(parser.parse_args().augly)}
    write_whole(RECORD, json.dumps(content, indent=2) + "\n")
