"""Make the pairs on which the perturber with pretrained weights is trained, in PANDA's columns.

    FAIRLAB_DATA=... python -m experiments.perturbation.pairs OUT.jsonl     # also writes pairs.json

There are two sources of pairs:

- sentences of published corpora in which the rules rewrite one person. The word and target are sampled as in algorithm
  1 of Qian et al. 2022, and the verifiers must pass the result. The word can be a name or an age in figures;
- the training split of the groups that were written for fairlab.

Some pairs are then corrupted on both sides alike: in lower case, in capitals, without the final punctuation, with a
typing error, or without a clause. Rules, which need capitals and a parse, could not have made such pairs. The pairs
contain sentences by other authors, so only their counts and hash are part of the project.
"""

from __future__ import annotations

import argparse
import json
import random
import re
from collections import Counter
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import TypeGuard

from experiments.llm.texts import SOURCES, sentences
from experiments.perturbation.references import references
from experiments.rewriting.sets import published
from fairlab.data.groups import read_groups
from fairlab.data.perturbation_pairs import PerturbationPair, axis_of, silver_pairs
from fairlab.files import sha256, write_whole
from fairlab.lexicons import load_lexicon
from fairlab.rewriting.english.rules import RuleRewriter
from fairlab.rewriting.verifiers import load_verifiers
from fairlab.text.difference import stretches

RECORD = Path(__file__).parent / "pairs.json"
SEED = 7
MEASURED_ON = "corpora/newstest/newstest2012.en"  # used by benchmark=perturber, so excluded from training
SHORTEST, LONGEST = 5, 20  # number of words; short sentences, so that training is possible on one processor
WITH_FIGURE = 30  # largest number of words of a sentence on age with a figure; few short sentences state an age
PER_SOURCE = {"gender": 1600, "race": 2500, "age": 4000}  # sentences
RULES = {"gender": 8000, "race": 6000, "age": 6000}  # pairs
WRITTEN = 400
SPOILED = {"lower": 0.22, "upper": 0.04, "unsigned": 0.08, "typo": 0.08, "clause": 0.08}
WORD = re.compile(r"\w+(?:['’-]\w+)*")


def corpus(axis: str) -> list[str]:
    """Return sentences that the rules may rewrite on an axis, from all sources except the one for measuring.

    At most ``PER_SOURCE`` sentences are taken from each source, in random order.
    """
    finder = RuleRewriter(load_lexicon(axis), seed=SEED).finder
    found = []
    for source, texts in all_sentences():
        pool = sorted(
            {text for text in texts if "<" not in text and SHORTEST <= len(text.split()) <= longest(text, axis)}
        )
        random.Random(f"{SEED} {axis} {source}").shuffle(pool)
        found += list(islice((text for text in pool if finder.may_change(text)), PER_SOURCE[axis]))
    return found


def longest(text: str, axis: str) -> int:
    """Return how many words a sentence may have: more if it has a figure, which may be an age."""
    return WITH_FIGURE if axis == "age" and re.search(r"\d", text) else LONGEST


def all_sentences() -> Iterator[tuple[str, Iterator[str]]]:
    """Yield every source with its sentences."""
    for source, kind in SOURCES.items():
        if source != MEASURED_ON:
            yield source, sentences(source, kind)
    for end in ("pos", "neg"):
        source = f"corpora/rt_polarity/rt-polarity.{end}"
        yield source, (line.strip() for line in published(source).read_text(encoding="latin-1").splitlines())
    lines = published("glue/SNLI/validation.tsv").read_text(encoding="utf-8").splitlines()[1:]
    yield "glue/SNLI/validation.tsv", (line.split("\t")[0] for line in lines)


def by_rules(axis: str) -> list[PerturbationPair]:
    """Return pairs of an axis that pass the verifiers. If there are few sentences, each is perturbed several times."""
    verifiers = load_verifiers(["words", "harms", *(["kinds"] if axis == "gender" else [])], load_lexicon(axis))
    texts = corpus(axis)
    found: dict[PerturbationPair, None] = {}
    for draw in range(8):
        for pair in silver_pairs(texts, [axis], SEED + draw):
            if not any(one.fault(pair.original, {pair.target: pair.perturbed}) for one in verifiers):
                found.setdefault(pair)
        if len(found) >= RULES[axis]:
            break
    return drawn(list(found), RULES[axis], axis)


def written() -> list[PerturbationPair]:
    """Return a pair of versions from each bundled group of the training split."""
    groups = [group for name in ("people", "short") for group in read_groups(f"embedded/{name}")]
    made = [between(group.versions) for group in groups if group.extra.get("split", "train") == "train"]
    return drawn([pair for pair in made if fits(pair)], WRITTEN, "written")


def fits(pair: PerturbationPair | None) -> TypeGuard[PerturbationPair]:
    """Return whether there is a pair, and its sentence has a suitable length."""
    return pair is not None and SHORTEST <= len(pair.original.split()) <= LONGEST


def between(versions: dict[str, str]) -> PerturbationPair | None:
    """Return a pair of versions with the first differing word, or None if no word differs."""
    draw = random.Random(f"{SEED} {sorted(versions.items())}")
    original = versions[draw.choice([name for name in versions if name != "neutral"])]
    target = draw.choice(sorted(name for name in versions if versions[name] != original))
    words, others = WORD.findall(original), WORD.findall(versions[target])
    word = next((old[0] for old, new in stretches(words, others) if old and old != new), None)
    if word is None:
        return None
    return PerturbationPair(original, word, "non-binary" if target == "neutral" else target, versions[target])


def drawn(pairs: list[PerturbationPair], count: int, what: str) -> list[PerturbationPair]:
    """Sample at most ``count`` of the pairs."""
    return random.Random(f"{SEED} {what}").sample(pairs, min(count, len(pairs)))


def spoiled(pair: PerturbationPair) -> tuple[PerturbationPair, str]:
    """Corrupt both sides of a pair alike, and return the pair with the kind of change. Most pairs stay unchanged."""
    draw = random.Random(f"{SEED} {pair}")
    chosen = draw.random()
    for name, share in SPOILED.items():
        if chosen < share:
            made = CHANGES[name](pair, draw)
            return (pair, "as it was") if made is None else (made, name)
        chosen -= share
    return pair, "as it was"


def lower(pair: PerturbationPair, draw: random.Random) -> PerturbationPair:
    """Convert both sides of a pair to lower case."""
    return PerturbationPair(pair.original.lower(), pair.word.lower(), pair.target, pair.perturbed.lower())


def upper(pair: PerturbationPair, draw: random.Random) -> PerturbationPair:
    """Convert both sides of a pair to capitals."""
    return PerturbationPair(pair.original.upper(), pair.word.upper(), pair.target, pair.perturbed.upper())


def unsigned(pair: PerturbationPair, draw: random.Random) -> PerturbationPair | None:
    """Remove the final punctuation from both sides of a pair, or return None if there is none."""
    original, perturbed = (re.sub(r"\s*[.!?]+$", "", text) for text in (pair.original, pair.perturbed))
    return PerturbationPair(original, pair.word, pair.target, perturbed) if original != pair.original else None


def typo(pair: PerturbationPair, draw: random.Random) -> PerturbationPair | None:
    """Swap two letters, or drop one, in a long word that is not selected and is the same on both sides.

    The result is None if there is no such word.
    """
    both = [word for word in dict.fromkeys(WORD.findall(pair.original)) if len(word) > 4 and word != pair.word]
    kept = [
        word
        for word in both
        if all(len(re.findall(whole(word), text)) == 1 for text in (pair.original, pair.perturbed))
    ]
    if not kept:
        return None
    word = draw.choice(kept)
    place = draw.randrange(1, len(word) - 2)
    two = word[place : place + 2]
    slip = word[:place] + (two[::-1] if draw.random() < 0.5 else two[1]) + word[place + 2 :]
    texts = [re.sub(whole(word), slip, text) for text in (pair.original, pair.perturbed)]
    return PerturbationPair(texts[0], pair.word, pair.target, texts[1])


def clause(pair: PerturbationPair, draw: random.Random) -> PerturbationPair | None:
    """Remove a part between commas that does not contain the selected word, or return None if this is impossible."""
    parts = [re.split(r"(?<=[,;:]) ", text) for text in (pair.original, pair.perturbed)]
    if len(parts[0]) != len(parts[1]):
        return None
    places = [k for k, part in enumerate(parts[0]) if not re.search(whole(pair.word), part)]
    if not places:
        return None
    left_out = draw.choice(places)
    texts = [" ".join(part for k, part in enumerate(side) if k != left_out) for side in parts]
    if texts[0] == texts[1] or len(texts[0].split()) < SHORTEST:
        return None
    return PerturbationPair(texts[0], pair.word, pair.target, texts[1])


def whole(word: str) -> str:
    """Return a pattern that matches a whole word, but not a part of another word."""
    return rf"(?<!\w){re.escape(word)}(?!\w)"


CHANGES = {"lower": lower, "upper": upper, "unsigned": unsigned, "typo": typo, "clause": clause}


def main(out: Path) -> None:
    """Make the pairs, and write them with their counts."""
    sorts = {f"rules, {axis}": by_rules(axis) for axis in RULES}
    sorts["written"] = written()
    measured = {
        text.casefold() for pairs in references().values() for one in pairs for text in (one.original, one.perturbed)
    }
    lines, changes = [], Counter[str]()
    for name, pairs in sorts.items():
        sorts[name] = [pair for pair in pairs if not {pair.original.casefold(), pair.perturbed.casefold()} & measured]
        for pair in sorts[name]:
            made, how = spoiled(pair)
            changes[how] += 1
            values = (made.original, made.word, made.target, made.perturbed)
            columns = ("original", "selected_word", "target_attribute", "perturbed")
            lines.append(json.dumps(dict(zip(columns, values, strict=True)), ensure_ascii=False) + "\n")
    random.Random(SEED).shuffle(lines)
    write_whole(out, "".join(lines))
    axes = Counter(axis_of(pair.target) for pairs in sorts.values() for pair in pairs)
    content = {
        "pairs": len(lines),
        "sha256": sha256(out),
        "sorts": {name: len(pairs) for name, pairs in sorts.items()},
        "axes": dict(axes),
        "changes": dict(changes),
    }
    write_whole(RECORD, json.dumps(content, indent=2) + "\n")
    print(json.dumps(content, indent=2))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path)
    main(parser.parse_args().out)
