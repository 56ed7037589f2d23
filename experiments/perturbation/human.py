"""Measure rewriters with the metrics of table 2 against sentences by people, and compare them with the rules.

    FAIRLAB_DATA=... python -m experiments.perturbation.human [--perturber NAME=MODEL]... [--groups FOLDER]
        [--augly PYTHON] [--half development] [--texts OUT.json] [--stored OUT.json]

Results are written to human.json.xz; those of the development half are written only to OUT.json.

``references.py`` describes the references. Three rewriters need no further input: the rules, swapping of all listed
words, and *57 pairs*, which swaps words by a fixed list as AugLy does with its own. A perturber is the ``model`` folder
of a run. The language model's versions are the output folder of ``fairlab.augment`` on the sentences of
:mod:`experiments.llm.human`, which are some of the references. Earlier results of rewriters that are not given are
kept. AugLy runs in its own environment, whose Python is given:

    pip install augly==1.0.0 nlpaug==1.1.11

The labelled sentences of ``experiments/rewriting/labelled`` (test half) were not written by people, but list every
correct rewrite. Table 2 is that of Qian et al. 2022, "Perturbation Augmentation for Fairer NLP".
"""

from __future__ import annotations

import argparse
import json
import lzma
import random
import re
import subprocess
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from experiments.llm.compare import versions
from experiments.llm.human import sentences
from experiments.perturbation.references import LOWER, Half, lowered, references
from experiments.rewriting.labelled import AXES, Labelled, read_labelled
from experiments.rewriting.sets import exchanged, partners
from fairlab.benchmarks.perturber import by_rules, by_word_swap
from fairlab.data.perturbation_pairs import PerturbationPair
from fairlab.files import compressed, replaced_when_written, write_whole
from fairlab.lexicons import load_lexicon
from fairlab.lexicons.names import find_name
from fairlab.metrics.rewriting import bleu, bleu_counts, rouge_2, word_levenshtein
from fairlab.metrics.significance import wilson_interval
from fairlab.rewriting.perturber import load_perturber
from fairlab.run.environment import environment

RECORD = Path(__file__).parent / "human.json.xz"
OTHER = "AugLy 1.0.0"
MODEL = "language model"
Rewriter = Callable[[Sequence[PerturbationPair]], Sequence[str | None]]


def by_pairs(pairs: Sequence[PerturbationPair]) -> list[str]:
    """Replace every word of the 57 word pairs by its counterpart, preserving case."""
    partner = partners()
    return [exchanged(pair.original, partner) for pair in pairs]


# Script for AugLy's environment, which reads and writes sentences as JSON.
AUGLY = """
import json, sys
import augly.text
print(json.dumps(augly.text.swap_gendered_words(json.load(sys.stdin), aug_word_p=1.0)))
"""


def by_augly(python: str, pairs: Sequence[PerturbationPair]) -> list[str]:
    """Rewrite every text with AugLy's swapping of gendered words."""
    texts = json.dumps([pair.original for pair in pairs])
    answer = subprocess.run([python, "-c", AUGLY], input=texts, capture_output=True, text=True, check=True)
    made: list[str] = json.loads(answer.stdout.splitlines()[-1])
    return made


def by_perturber(model: str, pairs: Sequence[PerturbationPair]) -> list[str]:
    """Rewrite every text with a trained perturber."""
    texts, words, targets = ([getattr(pair, name) for pair in pairs] for name in ("original", "word", "target"))
    return load_perturber(model, None, "auto").rewrite(texts, words, targets)


def by_groups(folder: Path, pairs: Sequence[PerturbationPair]) -> list[str | None]:
    """Return the language model's version of every text, or None for a text that the model did not get."""
    made = versions(folder)
    known = {
        (one.text, name): made.get(one.id, {}).get(name, one.text) for one in sentences() for name in one.references
    }
    return [known.get((pair.original, pair.target)) for pair in pairs]


def by_stored(texts: dict[str, Any], name: str, pairs: Sequence[PerturbationPair]) -> list[str | None]:
    """Return the stored rewrite of every text, from an earlier run with ``--texts``."""
    known = {
        (pair["original"], pair["word"], pair["target"]): text
        for found in texts.values()
        for pair, text in zip(found["pairs"], found[name], strict=True)
    }
    return [known[pair.original, pair.word, pair.target] for pair in pairs]


def quality(made: Sequence[str | None], pairs: Sequence[PerturbationPair]) -> dict[str, Any] | None:
    """Return the metrics of table 2, and how many rewrites equal their reference with and without regard to capitals.

    The result is None if no text was rewritten.
    """
    both = [(one, pair.perturbed) for one, pair in zip(made, pairs, strict=True) if one is not None]
    if not both:
        return None
    texts, wanted = map(list, zip(*both, strict=True))
    measures = {
        "bleu": float(bleu(*bleu_counts(texts, wanted))),
        "rouge_2": 100 * float(rouge_2(texts, wanted).mean()),
        "levenshtein": float(word_levenshtein(texts, wanted).mean()),
    }
    return measures | counts(
        [one == other for one, other in both], [one.casefold() == other.casefold() for one, other in both]
    )


def counts(right: Sequence[bool], folded: Sequence[bool]) -> dict[str, Any]:
    """Return how many rewrites are right with and without regard to capitals, and which, as a string of 0 and 1."""
    return {
        "exact": sum(right),
        "interval": wilson_interval(sum(right), len(right)),
        "but_for_capitals": sum(folded),
        "n": len(right),
        "right": bits(right),
        "folded": bits(folded),
    }


def bits(values: Iterable[bool]) -> str:
    """Return one digit for each value: 1 if it is true, and 0 otherwise."""
    return "".join(str(int(value)) for value in values)


def measure(rewriters: dict[str, Rewriter], half: Half) -> tuple[dict[str, Any], dict[str, Any]]:
    """Measure every rewriter on every dataset.

    Returns:
        Results, and the rewrites of every rewriter.
    """
    found: dict[str, Any] = {"sets": {}, "labelled": {}, "traps": {}}
    texts: dict[str, Any] = {}
    for name, pairs in references(half).items():
        made = {rewriter: make(pairs) for rewriter, make in rewriters.items()}
        texts[name] = {"pairs": [vars(pair) for pair in pairs]} | made
        scores = {rewriter: quality(some, pairs) for rewriter, some in made.items()}
        found["sets"][name] = {rewriter: score for rewriter, score in scores.items() if score}
        found["sets"][name]["rules"]["left_alone"] = left_alone(made["rules"], pairs)
    for axis in AXES:
        for lower in (False, True):
            name = f"{axis}{LOWER if lower else ''}"
            found["labelled"][name], texts[f"labelled {name}"] = labelled(rewriters, axis, half, lower)
        found["traps"][axis], texts[f"traps {axis}"] = sprung(rewriters, axis, half)
    return found, texts


def labelled(
    rewriters: dict[str, Rewriter], axis: str, half: Half, lower: bool
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Measure rewriters on the labelled sentences of an axis that have a person to rewrite.

    Returns:
        Results, and the rewrites of every rewriter.
    """
    rows = [row for row in half_of(axis, half) if not row.trap and row.target]
    pairs = [asked(row) for row in rows]
    pairs = [lowered(pair) for pair in pairs] if lower else pairs
    made = {name: rewriter(pairs) for name, rewriter in rewriters.items()}
    found = {
        name: counts(*(judged(rows, some, lower, fold) for fold in (False, True)))
        for name, some in made.items()
        if name != "unchanged" and None not in some
    }
    found["rules"]["left_alone"] = left_alone(made["rules"], pairs)
    return found, {"pairs": [vars(pair) for pair in pairs]} | made


def left_alone(made: Sequence[str | None], pairs: Sequence[PerturbationPair]) -> str:
    """Return which texts a rewriter leaves unchanged, as a string of 0 and 1."""
    return bits(one == pair.original for one, pair in zip(made, pairs, strict=True))


def half_of(axis: str, half: Half) -> list[Labelled]:
    """Return the labelled sentences of an axis that belong to a half."""
    part = "test" if half == "held out" else half
    return [row for row in read_labelled(axis) if row.half == part]


def sprung(rewriters: dict[str, Rewriter], axis: str, half: Half) -> tuple[dict[str, Any], dict[str, Any]]:
    """Count the traps that rewriters change if they are asked for a listed word, which means nobody of the axis.

    Returns:
        Results, and the rewrites of every rewriter.
    """
    pairs = [pair for row in half_of(axis, half) if row.trap and not row.target for pair in trap(axis, row.text)]
    made = {name: rewriter(pairs) for name, rewriter in rewriters.items()}
    found: dict[str, Any] = {}
    for name, some in made.items():
        if name != "unchanged" and None not in some:
            changed = sum(one != pair.original for one, pair in zip(some, pairs, strict=True))
            found[name] = {"changed": changed, "interval": wilson_interval(changed, len(pairs)), "n": len(pairs)}
    return found, {"pairs": [vars(pair) for pair in pairs]} | made


def trap(axis: str, text: str) -> list[PerturbationPair]:
    """Return the request for the first listed word, first name or figure of a text, or nothing if it has none.

    The target is drawn from the attributes that the word does not have.
    """
    lexicon = load_lexicon(axis)
    listed: dict[str, set[str]] = {}
    for entry in lexicon.entries:
        for attribute, form in zip(lexicon.attributes, entry.forms[1:], strict=True):
            listed.setdefault(form.casefold(), set()).add(attribute)
    for word in re.findall(r"\w+", text):
        own = set(listed.get(word.casefold(), ()))
        if axis != "age" and word[0].isupper() and (name := find_name(word)):
            own |= {name.gender, name.race}
        if own or (axis == "age" and word.isdigit()):
            target = random.Random(text).choice([one for one in lexicon.attributes if one not in own])
            return [PerturbationPair(text, word, target, "")]
    return []


def judged(rows: Sequence[Labelled], made: Sequence[str | None], lower: bool, fold: bool) -> list[bool]:
    """Return whether each rewrite is correct, without regard to capitals if ``fold`` is set."""
    return [
        fits(row, text.lower() if fold and text else text, lower or fold) for row, text in zip(rows, made, strict=True)
    ]


def asked(row: Labelled) -> PerturbationPair:
    """Convert a labelled sentence to a pair without a reference.

    If the slot begins with an article, the word after it is the selected one.
    """
    words = row.text[slice(*row.selected)].split(" ")
    word = words[1] if len(words) > 1 and words[0].lower() in ("a", "an", "the") else words[0]
    return PerturbationPair(row.text, word, "non-binary" if row.target == "neutral" else row.target, "")


def fits(row: Labelled, text: str | None, lower: bool) -> bool:
    """Return whether a text is one of the correct rewrites.

    For a sentence in lower case, the text must be in lower case, and capitals are not compared.
    """
    if text is None or (lower and text != text.lower()):
        return False
    flags = re.IGNORECASE if lower else 0
    return any(re.fullmatch(pattern, text, flags) for pattern in row.right)


def kept(found: dict[str, Any], before: dict[str, Any]) -> dict[str, Any]:
    """Add the earlier results of rewriters that were not given, and return all results."""
    for part, sets in found.items():
        for name, scores in sets.items():
            for rewriter, score in before.get(part, {}).get(name, {}).items():
                scores.setdefault(rewriter, score)
    return found


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--perturber", action="append", default=[], metavar="NAME=MODEL", help="a model folder, by name"
    )
    parser.add_argument("--groups", type=Path, help="the language model's versions")
    parser.add_argument("--augly", metavar="PYTHON", help="the Python of an environment that has AugLy")
    parser.add_argument("--stored", type=Path, help="an earlier OUT.json, whose texts are measured again")
    parser.add_argument("--half", default="held out", choices=("development", "held out"))
    parser.add_argument("--texts", type=Path, help="folder for the texts of every rewriter, for development")
    arguments = parser.parse_args()
    rewriters: dict[str, Rewriter] = {"rules": by_rules, "word swap": by_word_swap, "57 pairs": by_pairs}
    for given in arguments.perturber:
        title, _, model = given.partition("=")
        rewriters[title] = lambda pairs, model=model: by_perturber(model, pairs)
    if arguments.groups is not None:
        rewriters[MODEL] = lambda pairs: by_groups(arguments.groups, pairs)
    if arguments.augly is not None:
        rewriters[OTHER] = lambda pairs: by_augly(arguments.augly, pairs)
    if arguments.stored is not None:
        stored = json.loads(arguments.stored.read_text(encoding="utf-8"))["texts"]
        names = [name for name in next(iter(stored.values())) if name != "pairs"]
        rewriters |= {name: lambda pairs, name=name: by_stored(stored, name, pairs) for name in names}
    rewriters["unchanged"] = lambda pairs: [pair.original for pair in pairs]
    content, texts = measure(rewriters, arguments.half)
    if arguments.texts is not None:
        write_whole(arguments.texts, json.dumps({"measured": content, "texts": texts}, separators=(",", ":")) + "\n")
    if arguments.half == "held out":
        before = json.loads(lzma.decompress(RECORD.read_bytes())) if RECORD.is_file() else {}
        content = {"revision": environment()["revision"]} | kept(content, before)
        with replaced_when_written(RECORD) as temporary:
            temporary.write_bytes(compressed(json.dumps(content, separators=(",", ":")) + "\n"))
