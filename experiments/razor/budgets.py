"""Rewrites of a language model within a budget, for each order of claims of the second study.

    python -m experiments.real_models.fetch qwen
    python -m experiments.razor.budgets OUT

OUT receives the two classifiers that check rewrites, the ledger of the language model, and one training file per arm
and budget (``OUT/data/ARM_PERCENT/train.jsonl``). All tried rewrites are written to ``budget_rewrites.jsonl.xz``, and
their counts to ``budget_arms.json``. The same command resumes; if no rewrite is missing, it needs no model.

Every arm goes down its own order of claims until it has as many accepted rewrites as its budget, so that all arms have
the same number. A claim that two arms try has one rewrite.
"""

from __future__ import annotations

import argparse
import json
import lzma
import random
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from experiments.razor.known_truth_runs import TRAINING, options
from experiments.razor.pairs import SHARE, TASK, write
from experiments.shared import resumed
from fairlab.backbones.loading import load_backbone
from fairlab.data.published.task_files import read_task
from fairlab.data.published.tasks import CLAIMS, Example
from fairlab.data.text import held_out
from fairlab.files import compressed, replaced_when_written, write_whole
from fairlab.llm.loading import load_local
from fairlab.metrics.shortcuts import TokenSpace
from fairlab.metrics.surface_probe import probe, transferred
from fairlab.rewriting.labelled.classifier_check import ClassifierCheck
from fairlab.rewriting.labelled.label_keeping import Labelled, LLMLabelled
from fairlab.rewriting.labelled.same_facts import SameFacts
from fairlab.run.config.backbone_nodes import backbone_node
from fairlab.run.config.composing import composing
from fairlab.text.surface_tokens import surface_tokens

FILE = Path(__file__).with_name("budget_rewrites.jsonl.xz")
COUNTS = Path(__file__).with_name("budget_arms.json")
PROMPT = Path(__file__).with_name("budget_rewrite.yaml")
PERCENT = (25, 10)  # accepted rewrites, in per cent of the claims
ARMS = ("random", "paper")
SEED = 0
STEP = 128  # number of claims rewritten together
CHECK_STEPS = 300
SAME, DECLINED = "unchanged", "no rewrite"
Tried = dict[int, tuple[str, str | None]]  # by index of the pair: rewrite, and fault or None
Make = Callable[[Sequence[int]], list[tuple[str, str | None]]]


def read_pairs() -> tuple[list[Example], list[Example]]:
    """Read the training pairs and the held-out pairs of the first study."""
    parts: tuple[list[Example], list[Example]] = ([], [])
    for one in read_task(TASK, "train"):
        parts[held_out(one.first, SHARE)].append(one)
    return parts


def half_of(pair: Example) -> int:
    """Return 0 or 1; pairs with the same evidence are in the same half."""
    return int(held_out(f"half {pair.first}", 0.5))


def order_of(arm: str, rows: Sequence[Example]) -> list[int]:
    """Return the indices of all pairs in the order of an arm, ``random`` or ``paper``."""
    if arm == "random":
        return random.Random(SEED).sample(range(len(rows)), len(rows))
    space = TokenSpace([str(one.second) for one in rows], [one.label for one in rows])
    return [int(place) for place in np.argsort(-space.gamma(), kind="stable")]


def settings_of(data: Path, steps: int, every: int, training: str = TRAINING) -> list[str]:
    """Return the options of ``fairlab.train`` for mpnet, trained on a folder of training and held-out pairs."""
    return [*options(data, steps, every, training), f"data.validation={SHARE}", "backbone=mpnet", "method.epochs=8"]


def checker(half: int, rows: Sequence[Example], held: Sequence[Example], out: Path) -> ClassifierCheck:
    """Return the check of one half's claims: mpnet, trained on the pairs of the other half."""
    folder = out / f"check_{half}"
    data = folder / "data"
    data.mkdir(parents=True, exist_ok=True)
    write([*(one for one in rows if half_of(one) != half), *held], data / "train.jsonl")
    resumed.trained(folder / "run", [*settings_of(data, CHECK_STEPS, CHECK_STEPS), f"seed={SEED}"])
    model = load_backbone(
        str(folder / "run" / "model"), pooling="mean", max_length=128, normalize=True, dtype="bfloat16"
    )
    return ClassifierCheck(model, CLAIMS)


def same_words(old: str, new: str) -> bool:
    """Return whether two texts consist of the same words in the same order."""
    return surface_tokens(old) == surface_tokens(new)


def maker(rows: Sequence[Example], rewriter: LLMLabelled, checks: Sequence[ClassifierCheck]) -> Make:
    """Return the function that rewrites pairs, given by index, and checks each rewrite.

    The rewriter does not see the evidence; the check does.
    """
    facts = SameFacts()

    def made(places: Sequence[int]) -> list[tuple[str, str | None]]:
        items = [Labelled(str(rows[k].second), CLAIMS[int(rows[k].label)], rows[k].first) for k in places]
        texts = [some[0] if some else "" for some in rewriter.rewrites([replace(one, context="") for one in items], 1)]
        faults = facts.faults(items, texts)
        for n, (item, text) in enumerate(zip(items, texts, strict=True)):
            if not text:
                faults[n] = DECLINED
            elif same_words(item.text, text):
                faults[n] = SAME
        for half, check in enumerate(checks):
            left = [n for n, k in enumerate(places) if faults[n] is None and half_of(rows[k]) == half]
            found = check.faults([items[n] for n in left], [texts[n] for n in left]) if left else []
            for n, fault in zip(left, found, strict=True):
                faults[n] = fault
        return list(zip(texts, faults, strict=True))

    return made


def filled(order: Sequence[int], budget: int, tried: Tried, made: Make, save: Callable[[], None]) -> list[int]:
    """Return the first claims of an order with an accepted rewrite, as many as the budget.

    Args:
        order: Indices of the pairs.
        budget: Number of accepted rewrites.
        tried: Results of former calls; new ones are added.
        made: Function that rewrites and checks pairs.
        save: Function that is called after new rewrites were added.
    """
    accepted: list[int] = []
    for start in range(0, len(order), STEP):
        if len(accepted) >= budget:
            break
        some = order[start : start + STEP]
        new = [k for k in some if k not in tried]
        if new:
            tried.update(zip(new, made(new), strict=True))
            save()
        accepted += [k for k in some if tried[k][1] is None]
    return accepted[:budget]


def saved(file: Path = FILE) -> Tried:
    """Return the rewrites that were tried."""
    if not file.is_file():
        return {}
    rows = [json.loads(line) for line in lzma.decompress(file.read_bytes()).decode().splitlines()]
    return {place: (text, fault) for place, text, fault in rows}


def save(tried: Tried, file: Path = FILE) -> None:
    """Write all tried rewrites, in the order of the pairs."""
    lines = [json.dumps([place, *tried[place]], ensure_ascii=False) for place in sorted(tried)]
    with replaced_when_written(file) as temporary:
        temporary.write_bytes(compressed("\n".join(lines)))


def language_model(ledger: Path) -> LLMLabelled:
    """Return the rewriter, the language model of ``backbone=qwen`` in this process."""
    with composing():
        node = backbone_node("qwen", {})
    same = {key: node[key] for key in ("name", "revision", "package", "gguf", "weights_sha256", "dtype")}
    llm = load_local(**same, batch_size=STEP, budget={}, ledger=str(ledger))
    return LLMLabelled(llm, prompt=str(PROMPT), seed=SEED)


def write_arm(
    rows: Sequence[Example], held: Sequence[Example], places: Iterable[int], tried: Tried, folder: Path
) -> None:
    """Write an arm's training pairs, with the accepted rewrites in place of their claims, and the held-out pairs."""
    folder.mkdir(parents=True, exist_ok=True)
    new = {k: tried[k][0] for k in places}
    changed = [replace(one, second=new.get(k, one.second)) for k, one in enumerate(rows)]
    write([*changed, *held], folder / "train.jsonl")


def counts(rows: Sequence[Example], tried: Tried, places: Sequence[int], accepted: Sequence[int]) -> dict[str, Any]:
    """Count an arm's tried claims by fault, and its tried and accepted claims by label.

    Args:
        rows: Training pairs.
        tried: All tried rewrites.
        places: Indices of the claims that the arm tried.
        accepted: Indices of the claims whose rewrites it uses.
    """
    by_label: dict[str, list[int]] = {}
    for name in (CLAIMS[int(label)] for label in {rows[k].label for k in places}):
        by_label[name] = [sum(CLAIMS[int(rows[k].label)] == name for k in some) for some in (places, accepted)]
    outcomes = Counter(outcome(tried[k][1]) for k in places)
    return {"tried": len(places), "outcomes": dict(outcomes), "labels": by_label}


def outcome(fault: str | None) -> str:
    """Return the kind of a fault, or that there is none."""
    if fault is None:
        return "accepted"
    if fault in (SAME, DECLINED):
        return fault
    return "another label" if fault.startswith("reads as") else "facts"


def probed(rows: Sequence[Example], held: Sequence[Example], tried: Tried, places: Iterable[int]) -> dict[str, float]:
    """Return the accuracy of a probe that reads only claims, out of fold and on the held-out pairs, in per cent."""
    new = {k: tried[k][0] for k in places}
    texts = [new.get(k, str(one.second)) for k, one in enumerate(rows)]
    labels, truth = ([CLAIMS[int(one.label)] for one in some] for some in (rows, held))
    others = [str(one.second) for one in held]
    right = {"out_of_fold": probe(texts, labels), "held_out": transferred(texts, labels, others, truth)}
    return {name: round(100 * float(values.mean()), 2) for name, values in right.items()}


def main() -> None:
    """Rewrite what is missing, and write the training files of all arms."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path)
    given = parser.parse_args()
    rows, held = read_pairs()

    @cache
    def rewriting() -> Make:
        """Prepare for rewriting, which is needed only if a rewrite is missing."""
        checks = [checker(half, rows, held, given.out) for half in (0, 1)]
        return maker(rows, language_model(given.out / "ledger.sqlite"), checks)

    tried = saved()
    facts: dict[str, Any] = {"none": {"probe": {"0": probed(rows, held, {}, [])}}}
    budget = len(rows) * max(PERCENT) // 100
    for arm in ARMS:
        order = order_of(arm, rows)
        places = filled(order, budget, tried, lambda some: rewriting()(some), lambda: save(tried))
        facts[arm] = counts(rows, tried, order[: order.index(places[-1]) + 1], places) | {"probe": {}}
        for percent in PERCENT:
            some = places[: len(rows) * percent // 100]
            write_arm(rows, held, some, tried, given.out / "data" / f"{arm}_{percent}")
            facts[arm]["probe"][str(percent)] = probed(rows, held, tried, some)
        write_whole(COUNTS, json.dumps(facts, indent=1) + "\n")
        print(arm, len(places), "accepted of", facts[arm]["tried"], "tried", flush=True)


if __name__ == "__main__":
    main()
