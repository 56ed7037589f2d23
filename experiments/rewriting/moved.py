"""Count what moved in four studies that use the rule rewriter: their inputs and their results, then and now.

    FAIRLAB_DATA=... python -m experiments.rewriting.moved rewrite PART FILE      # in the record's checkout and here
    python -m experiments.rewriting.moved rewritten PART FORMER_FILE PRESENT_FILE
    python -m experiments.rewriting.moved fairscore FORMER_FILE PRESENT_FILE MODEL   # a classifier of SNLI
    python -m experiments.rewriting.moved people FORMER_FILE PRESENT_FILE
    python -m experiments.rewriting.moved news PRESENT_FILE
    python -m experiments.rewriting.moved groups FORMER_FILE FORMER_GROUPS         # of ccd
    python -m experiments.rewriting.moved ccd RUN RUN_ON_FORMER_GROUPS

Parts are fairscore, ccd, biasers, people and news; ``SINCE`` names the checkouts of their records. ``rewrite`` takes
about half a minute of processor time. The other commands write their part of moved.json; ``rewritten`` also prints the
differences whose verdicts are in moved_sheet.csv. The classifier and the runs are made, with seed 42 and at quickstart
scale, by

    fairlab.train +experiment=fairtune_glue task=snli_validation augmentation=none data.limit=6000 method.epochs=2
        training=mixed benchmark=none
    fairlab.train +experiment=ccd_bert augmentation=rules benchmark=[cced,seat,stsb] measure_before=false
    fairlab.train +experiment=ccd_bert data.path=FORMER_GROUPS benchmark=cced measure_before=false
"""

from __future__ import annotations

import argparse
import hashlib
import json
import random
from collections.abc import Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

Rewritten = dict[str, tuple[str, str]]  # text and rewrite, by a name that both checkouts give to the text

RECORD = Path(__file__).parent / "moved.json"
STUDIES = Path(__file__).parents[1]
SEED, READ = 57, 20  # seed and number of the differences that were read
AXES = ("gender", "race", "age")
EXAMPLES = 3000  # of SNLI, spread evenly over its test file
NEWS = "corpora/newstest/newstest2012.en"  # sentences of the perturber's benchmark
PAIRS = 300  # of news sentences
DRAW, SAMPLE, HELD_OUT = 1, 10, 100  # of the biasers' controls: draw, its entries, held-out entries
RUN_SEED = 42
TASK = "snli_validation"
# Checkouts of the records; "news" is the record of the perturber that was trained from pretrained weights.
SINCE = {"fairscore": "7f4377c9", "ccd": "5672e4ac", "biasers": "01b03882", "people": "4315dd66", "news": "4315dd66"}
FORMER_RUNS = STUDIES / "ccd/records/study/ccd_rules"
MEASURES = {  # results of CCD: name in the table, benchmark, subset and quantity
    "gap, written groups": ("cced", "embedded", "gap"),
    "gap, Winogender": ("cced", "winogender", "gap"),
    "SEAT, mean absolute effect size": ("seat", "average", "absolute_effect_size"),
    "STS-B, Spearman correlation": ("stsb", "dev", "spearman"),
}


GAPS = {name: place for name, place in MEASURES.items() if place[0] == "cced"}


# Modules that only one part needs are imported there, because earlier checkouts do not have all of them.
def copies_of_fairscore() -> Rewritten:
    """Return pairs of SNLI's test file with their copy on each axis, as in the fine-tunings of fairtuning's page."""
    from fairlab.benchmarks.fairscore import Fairscore

    benchmark = Fairscore(TASK, axes=AXES, sampling="inverse_frequency", copies="axis", limit=EXAMPLES)
    examples, made = benchmark.pairs("test")
    return {
        f"{axis} {k}": ("\n".join(example.fields), "\n".join(copy.fields))
        for axis, copies in zip(benchmark.axes, made, strict=True)
        for k, (example, copy) in enumerate(zip(examples, copies.examples, strict=True))
    }


def groups_of_ccd() -> Rewritten:
    """Return the source texts of CCD's training and validation groups with all versions made from them."""
    from fairlab.augmentation.rules import Rules
    from fairlab.data.groups import read_groups

    groups = [group for group in read_groups("embedded/people") if group.extra["split"] != "test"]
    made = {group.id: json.dumps(group.versions, ensure_ascii=False) for group in Rules().groups(groups)}
    sources = {group.id: group.versions[group.source] for group in groups}
    return {name: (text, made.get(name, text)) for name, text in sources.items()}


def rewrites_beside_people() -> Rewritten:
    """Return the texts that people rewrote too, rewritten by the rules."""
    from experiments.perturbation.references import references
    from fairlab.benchmarks.perturber import by_rules

    return {
        f"{name} {k}": (pair.original, text)
        for name, pairs in references().items()
        for k, (pair, text) in enumerate(zip(pairs, by_rules(pairs), strict=True))
    }


def references_by_rules() -> Rewritten:
    """Return news sentences with the word, the target and the rewrite to which a perturber is compared."""
    from fairlab.data.perturbation_pairs import axis_of, find_pairs

    pairs, _ = find_pairs(None, [NEWS], AXES, 0, PAIRS)
    return {
        f"{axis_of(pair.target)} {pair.original}": (
            pair.original,
            "\n".join((pair.word, pair.target, pair.perturbed)),
        )
        for pair in pairs
    }


def copies_of_biasers() -> Rewritten:
    """Return the sampled paragraphs of a draw of the controls with their copies about the other peoples."""
    from fairlab.data.entries import read_entries
    from fairlab.lexicons import load_lexicon
    from fairlab.rewriting.biasers import BiaserRewriter

    rewriter = BiaserRewriter(lexicon=load_lexicon("ethnicity"), seed=RUN_SEED)
    entries, _ = read_entries("corpora/state_union", "paragraph")
    order = np.random.default_rng(DRAW).permutation(len(entries))[HELD_OUT:]
    made = ((entries[k], rewriter.copies([entries[k]], mentions="first")[0]) for k in order)
    expanded = ((text, copies) for text, copies in made if isinstance(copies, list) and copies)
    return {text: (text, "\n".join(copy.text for copy in copies)) for text, copies in islice(expanded, SAMPLE)}


PARTS = {
    "fairscore": copies_of_fairscore,
    "ccd": groups_of_ccd,
    "biasers": copies_of_biasers,
    "people": rewrites_beside_people,
    "news": references_by_rules,
}


def read_rewritten(file: Path) -> Rewritten:
    """Return the rewritten texts in a file of ``rewrite``."""
    return {name: tuple(pair) for name, pair in json.loads(file.read_text(encoding="utf-8")).items()}


def digest(name: str) -> str:
    """Return the hash of a text's name, which stands for the text in the sheet."""
    return hashlib.sha256(name.encode()).hexdigest()[:12]


def differences(former: Rewritten, present: Rewritten) -> tuple[dict[str, Any], list[str]]:
    """Count the texts, those that either checkout changes, and those that they change differently.

    Returns:
        Counts, and the names of the texts that are changed differently.
    """
    names = list(dict.fromkeys([*former, *present]))
    turned, other = 0, []
    for name in names:
        text = (former.get(name) or present[name])[0]
        old, new = (found.get(name, ("", text))[1] for found in (former, present))
        turned += {old, new} != {text}
        if old != new:
            other.append(name)
    return {"texts": len(names), "turned": turned, "other": len(other)}, other


def drawn(names: Sequence[str]) -> list[str]:
    """Draw the differences to read."""
    return random.Random(SEED).sample(names, min(READ, len(names)))


def fairscores(former: Rewritten, present: Rewritten, model: str) -> dict[str, Any]:
    """Return the fairscore of one classifier on the former and on the present copies, and their difference."""
    import fairlab
    from fairlab.backbones.classification import Classifier
    from fairlab.data.published.tasks import TASKS

    classifier = Classifier(fairlab.load(model), TASKS[TASK].labels)
    texts = list(dict.fromkeys(text for found in (former, present) for pair in found.values() for text in pair))
    outputs = classifier.outputs([tuple(text.split("\n")) for text in texts], progress=TASK)
    label = dict(zip(texts, outputs.argmax(axis=1).tolist(), strict=True))
    return compare_fairscores(former, present, label)


def compare_fairscores(former: Rewritten, present: Rewritten, label: dict[str, int]) -> dict[str, Any]:
    """Compare two sets of copies by the labels that a classifier gives to their texts; examples are resampled."""
    from fairlab.metrics.bootstrap import ratio_of_means

    def flips(copies: Rewritten) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        sums, counts = np.zeros(len(places)), np.zeros(len(places))
        for name, (text, copy) in copies.items():
            if copy != text:
                sums[places[name.split()[1]]] += label[text] != label[copy]
                counts[places[name.split()[1]]] += 1
        return sums, counts

    def percent(sums: Any, counts: Any, axis: int = -1) -> Any:
        return 100 * ratio_of_means(sums, counts, axis=axis)

    def change(*both: Any, axis: int = -1) -> Any:
        return percent(*both[2:], axis=axis) - percent(*both[:2], axis=axis)

    places = {k: place for place, k in enumerate(dict.fromkeys(name.split()[1] for name in present))}
    old, new = flips(former), flips(present)
    return {
        "former": estimate(percent, *old, n=int(old[1].sum())),
        "present": estimate(percent, *new, n=int(new[1].sum())),
        "difference": estimate(change, *old, *new),
    }


def estimate(statistic: Any, *samples: NDArray[Any], n: int | None = None) -> dict[str, Any]:
    """Return a statistic with its bootstrap interval and the number of items."""
    from fairlab.metrics.bootstrap import bootstrap_draws

    low, high = np.percentile(bootstrap_draws(statistic, *samples), (2.5, 97.5))
    found = {"value": float(statistic(*samples)), "low": float(low), "high": float(high)}
    return {key: round(value, 6) for key, value in found.items()} | {"n": len(samples[0]) if n is None else n}


def readings(run: Path, measures: dict[str, tuple[str, str, str]]) -> dict[str, Any]:
    """Return the results of a trained encoder with their intervals, by their names in the table."""
    from fairlab.record import Record

    found = [one for one in Record.load(run).readings if one.phase == "after"]
    after = {(one.benchmark, one.subset, one.quantity): one for one in found}
    keys = ("value", "low", "high", "n")
    return {name: {key: getattr(after[place], key) for key in keys} for name, place in measures.items()}


def results_of_ccd(run: Path, again: Path) -> dict[str, Any]:
    """Return the results of a run beside the record with the same seed, and beside a run on the record's groups.

    Args:
        run: Run on the present groups.
        again: Run of the present code on the record's groups, which shows what the groups alone change.
    """
    former = {path.name: readings(path, MEASURES) for path in sorted(FORMER_RUNS.iterdir())}
    present = readings(run, MEASURES)
    found = {
        name: {
            "former": former[f"seed_{RUN_SEED}"][name],
            "present": present[name],
            "seeds": [values[name]["value"] for values in former.values()],
        }
        for name in MEASURES
    }
    for name in GAPS:
        found[f"{name}, both trained now"] = {
            "former": readings(again, GAPS)[name],
            "present": present[name],
            "difference": gap_change(again, run, MEASURES[name][1]),
        }
    return found


def write_groups(former: Rewritten, file: Path) -> None:
    """Write the groups that an earlier checkout made, with the test groups as they are, for ``data.path``."""
    from fairlab.data.groups import read_groups

    with file.open("w", encoding="utf-8") as out:
        for group in read_groups("embedded/people"):
            text, made = former.get(group.id, ("", json.dumps(group.versions)))
            if made != text:  # a group that was dropped has no versions
                row = {"id": group.id, "axis": group.axis, **group.extra, "versions": json.loads(made)}
                out.write(json.dumps(row, ensure_ascii=False) + "\n")


def gap_change(former: Path, present: Path, groups: str) -> dict[str, Any]:
    """Return the change of the mean gap between two runs, paired by group."""
    from safetensors.numpy import load_file

    from fairlab.benchmarks.cced import distances
    from fairlab.metrics.bootstrap import mean

    items = [load_file(run / "items/after/cced.safetensors")[groups] for run in (former, present)]
    before, after = (np.abs(np.diff(distances(values), axis=1))[:, 0] for values in items)
    return estimate(mean, after - before)


def agreement_with_people(former: Rewritten, present: Rewritten) -> dict[str, Any]:
    """Return the percentage of rewrites that equal those of people, for every dataset where a rewrite has changed."""
    from experiments.perturbation.references import references
    from fairlab.metrics.bootstrap import mean

    found: dict[str, Any] = {}
    for name, pairs in references().items():
        names = [f"{name} {k}" for k in range(len(pairs))]
        if len(pairs) < READ or all(former[key] == present[key] for key in names):
            continue
        right = {
            age: 100 * np.array([made[key][1] == pair.perturbed for key, pair in zip(names, pairs, strict=True)])
            for age, made in (("former", former), ("present", present))
        }
        found[f"{name}, equal to reference, %"] = {age: estimate(mean, values) for age, values in right.items()} | {
            "difference": estimate(mean, right["present"] - right["former"])
        }
    return found


def swap_on_news(present: Rewritten) -> dict[str, Any]:
    """Return BLEU of the word swap and of no change on news, from the perturber's record and to present references."""
    from fairlab.benchmarks.perturber import by_word_swap
    from fairlab.data.perturbation_pairs import PerturbationPair
    from fairlab.metrics.rewriting import bleu, bleu_counts
    from fairlab.record import Record

    pairs = [PerturbationPair(text, *made.split("\n")) for text, made in present.values()]
    pairs = [pairs[k] for k in sorted(random.Random(0).sample(range(len(pairs)), PAIRS))]
    wanted = [pair.perturbed for pair in pairs]
    record = Record.load(STUDIES / "perturbation/records/perturber_smollm2/measured").readings
    subsets = {"word_swap": "word swap", "original": "unchanged"}
    earlier = {subsets.get(one.subset, ""): one for one in record if one.quantity == "bleu"}
    rows = {"word swap": by_word_swap(pairs), "unchanged": [pair.original for pair in pairs]}
    return {
        f"{name}, BLEU": {
            "former": {key: getattr(earlier[name], key) for key in ("value", "low", "high", "n")},
            "present": estimate(bleu, *bleu_counts(made, wanted)),
        }
        for name, made in rows.items()
    }


def main() -> None:
    """Run the command that was given."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("action", choices=("rewrite", "groups", "rewritten", "fairscore", "people", "news", "ccd"))
    parser.add_argument("given", nargs="+")
    action, given = (parsed := parser.parse_args()).action, parsed.given
    if action == "rewrite":
        Path(given[1]).write_text(json.dumps(PARTS[given[0]]()), encoding="utf-8")
        return
    if action == "groups":
        write_groups(read_rewritten(Path(given[0])), Path(given[1]))
        return
    found = json.loads(RECORD.read_text(encoding="utf-8")) if RECORD.exists() else {"inputs": {}, "results": {}}
    if action == "rewritten":
        former, present = map(read_rewritten, map(Path, given[1:]))
        found["inputs"][given[0]], names = differences(former, present)
        for name in drawn(names):
            print(digest(name), name, *(made.get(name, ("", "-"))[1] for made in (former, present)), sep="\n    ")
    elif action == "fairscore":
        found["results"][action] = {"fairscore": fairscores(*map(read_rewritten, map(Path, given[:2])), given[2])}
    elif action == "people":
        found["results"][action] = agreement_with_people(*map(read_rewritten, map(Path, given)))
    elif action == "news":
        found["results"][action] = swap_on_news(read_rewritten(Path(given[0])))
    else:
        found["results"][action] = results_of_ccd(*map(Path, given))
    RECORD.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
