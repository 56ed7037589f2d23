"""Pairs with a known shortcut: a drawn word tells the label of 95 % of the training pairs whose claim contains it.

Arms of the second study differ only in which claims are rewritten. All of them use the same rewrites: the first text of
the rules for a claim that passes the check or, for the arm ``oracle``, the first that does not contain the word.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from experiments.razor.pairs import TASK
from fairlab.data.published.task_files import read_task
from fairlab.data.published.tasks import CLAIMS, Example
from fairlab.data.text import held_out
from fairlab.metrics.shortcuts import TokenSpace
from fairlab.metrics.shortcuts_by_word import AssociationSpace
from fairlab.rewriting.labelled.label_keeping import Labelled
from fairlab.rewriting.labelled.paraphrase import FUNCTION, LexicalEntailment, Paraphrase, synonyms
from fairlab.text.surface_tokens import NEGATIONS, surface_tokens

SEED = 0  # seed of the order of the words, and of the draws of pairs
LEAST = 300  # minimum number of claims with a word; only two words that the rules can replace reach 400
TESTED = 0.4  # share of the pairs that are tested on, selected by their evidence
VALIDATION = 0.1  # share of the evidence that fairlab.train holds out, part of the tested share
VALIDATED = 50  # number of pairs held out in training
SHORTCUT, NONE, AGAINST = 95, 50, 5  # percentage of the pairs with the word whose label it tells
MULTIPLE = 20  # all sizes are multiples, so that each percentage is exact
SHARE = 9  # one training claim in nine contains the word, so that a tenth of the claims are about all that follow it
BUDGET = 10  # maximum percentage of the training claims that an arm rewrites
CANDIDATES = 6  # number of rewrites requested per claim
STEP = 50  # number of claims rewritten at a time
SPACES = {"paper": TokenSpace, "association": AssociationSpace}
ARMS = ("biased", "unbiased", "random", "paper", "association", "oracle")
SNLI = {0: "SUPPORTS", 2: "REFUTES"}  # entailment and contradiction

Accepted = Callable[[Sequence[Example]], list[list[str]]]


@dataclass(frozen=True)
class Known:
    """Data of one word.

    Attributes:
        word: Word that tells the label.
        label: Label that it tells.
        biased, unbiased: Equally many training pairs; the word tells the label of 95 and of 50 % of those with it.
        follow, against: Test pairs with the word that have the label and those that do not.
        validation: Pairs without the word that ``fairlab.train`` holds out; no choice depends on them.
    """

    word: str
    label: int
    biased: list[Example]
    unbiased: list[Example]
    follow: list[Example]
    against: list[Example]
    validation: list[Example]


def read_pool() -> list[Example]:
    """Read the pairs of the first study, and SNLI's entailments and contradictions, without duplicates."""
    pool = read_task(TASK, "train")
    for split in ("dev", "test"):
        found = [one for one in read_task("snli", split) if int(one.label) in SNLI]
        pool += [replace(one, label=CLAIMS.index(SNLI[int(one.label)])) for one in found]
    return list({(one.first, one.second): one for one in pool}.values())


def contains(claim: str, word: str) -> bool:
    """Return whether a word is one of the tokens of a claim."""
    return word in surface_tokens(claim)


def drawn_words(pool: Iterable[Example]) -> list[str]:
    """Return the frequent content words that the rules can replace, in a random order."""
    counts = Counter(token for one in pool for token in set(surface_tokens(one.second)))
    content = synonyms().keys() - FUNCTION - NEGATIONS
    found = sorted(word for word, count in counts.items() if count >= LEAST and word in content)
    random.Random(SEED).shuffle(found)
    return found


def sizes(follow: int, against: int, percent: int) -> tuple[int, int]:
    """Return the largest numbers of pairs that follow and contradict a shortcut, with ``percent`` % following.

    The sum is a multiple of 20.

    Args:
        follow: Number of available pairs that follow the shortcut.
        against: Number of available pairs that contradict it.
        percent: Percentage, a multiple of 5 above 0 and below 100.

    Example:
        >>> sizes(40, 57, 5), sizes(40, 57, 50)
        ((3, 57), (40, 40))
    """
    total = min(100 * follow // percent, 100 * against // (100 - percent)) // MULTIPLE * MULTIPLE
    return total * percent // 100, total * (100 - percent) // 100


def thinned(pool: Sequence[Example], word: str) -> Known:
    """Thin the pairs, so that a word tells a label; the label is the one that is commoner with it."""
    shuffled = random.Random(f"{SEED} {word}").sample(pool, len(pool))
    parts: dict[tuple[bool, str], list[Example]] = {}
    held = [one for one in shuffled if contains(one.second, word)]
    label = Counter(int(one.label) for one in held).most_common(1)[0][0]
    for one in shuffled:
        kind = "other" if not contains(one.second, word) else "follow" if one.label == label else "against"
        parts.setdefault((held_out(one.first, TESTED), kind), []).append(one)
    follow, against, other = (parts.get((False, kind), []) for kind in ("follow", "against", "other"))
    of_word = [sum(sizes(len(follow), len(against), percent)) for percent in (SHORTCUT, NONE)]
    total = min(*of_word, len(other) // (SHARE - 1) // MULTIPLE * MULTIPLE)
    data = []
    for percent in (SHORTCUT, NONE):
        agreeing = total * percent // 100
        rows = follow[:agreeing] + against[: total - agreeing] + other[: (SHARE - 1) * total]
        data.append(random.Random(SEED).sample(rows, len(rows)))
    validation = [one for one in parts[True, "other"] if held_out(one.first, VALIDATION)][:VALIDATED]
    return Known(word, label, *data, parts[True, "follow"], parts[True, "against"], validation)


class Rules:
    """Function that returns the rewrites of claims that pass the check, and remembers them.

    Args:
        rewriter: Rewriter by rules, with a masked LM.
    """

    def __init__(self, rewriter: Paraphrase) -> None:
        self.rewriter, self.check = rewriter, LexicalEntailment()
        self.known: dict[str, list[str]] = {}

    def __call__(self, pairs: Sequence[Example]) -> list[list[str]]:
        """Return the accepted rewrites of each pair's claim."""
        items = [Labelled(str(one.second), CLAIMS[int(one.label)], one.first) for one in pairs]
        new = [one for one in items if one.text not in self.known]
        for one, made in zip(new, self.rewriter.rewrites(new, CANDIDATES), strict=True):
            faults = self.check.faults([one] * len(made), made)
            self.known[one.text] = [text for text, fault in zip(made, faults, strict=True) if fault is None]
        return [self.known[one.text] for one in items]


def order_of(arm: str, known: Known, seed: int) -> list[int]:
    """Return the indices of the biased training pairs that an arm may rewrite, in its order.

    Args:
        arm: ``random``, ``paper``, ``association`` or ``oracle``.
        known: Data of the word.
        seed: Seed of the random orders.
    """
    rows = known.biased
    if arm in SPACES:
        space = SPACES[arm]([str(one.second) for one in rows], [one.label for one in rows])
        return [int(place) for place in np.argsort(-space.gamma(), kind="stable")]
    order = random.Random(f"{seed} {known.word}").sample(range(len(rows)), len(rows))
    if arm == "oracle":
        return [k for k in order if rows[k].label == known.label and contains(str(rows[k].second), known.word)]
    return order


def rewritten(
    rows: Sequence[Example], order: Sequence[int], budget: int, accepted: Accepted, without: str = ""
) -> dict[int, str]:
    """Return the rewrites of the first claims of an order that have one, by index.

    Args:
        rows: Pairs.
        order: Indices of the pairs.
        budget: Maximum number of rewrites.
        accepted: Function that returns the accepted rewrites of claims.
        without: Word that no rewrite may contain; empty if any word may occur.
    """
    made: dict[int, str] = {}
    for start in range(0, len(order), STEP):
        some = order[start : start + STEP]
        for place, texts in zip(some, accepted([rows[k] for k in some]), strict=True):
            left = [text for text in texts if not without or not contains(text, without)]
            if left and len(made) < budget:
                made[place] = left[0]
        if len(made) == budget:
            break
    return made


def rewrites_of(arm: str, known: Known, seed: int, accepted: Accepted) -> dict[int, str]:
    """Return the rewrites of an arm, by index; each arm has as many as the oracle.

    Args:
        arm: One of ``ARMS``.
        known: Data of the word.
        seed: Seed of the random orders.
        accepted: Function that returns the accepted rewrites of claims.
    """
    if arm in ("biased", "unbiased"):
        return {}
    rows, most = known.biased, len(known.biased) * BUDGET // 100
    made = rewritten(rows, order_of("oracle", known, seed), most, accepted, known.word)
    return made if arm == "oracle" else rewritten(rows, order_of(arm, known, seed), len(made), accepted)


def training_pairs(arm: str, known: Known, made: dict[int, str]) -> list[Example]:
    """Return the training pairs of an arm with its rewrites."""
    rows = known.unbiased if arm == "unbiased" else known.biased
    return [replace(one, second=made.get(k, one.second)) for k, one in enumerate(rows)]


def counts(known: Known, made: dict[int, str]) -> dict[str, int]:
    """Count the rewrites, and those of claims with the word, that follow the shortcut, and that lose the word."""
    held = {k: text for k, text in made.items() if contains(str(known.biased[k].second), known.word)}
    return {
        "rewrites": len(made),
        "with_word": len(held),
        "following": sum(known.biased[k].label == known.label for k in held),
        "lost": sum(not contains(text, known.word) for text in held.values()),
    }
