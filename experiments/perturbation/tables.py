"""Tables of the perturbation page."""

from __future__ import annotations

import json
from pathlib import Path
from statistics import fmean, stdev
from typing import Any

from experiments.rendering import interval, markdown, matrix_table, methods_table
from fairlab.metrics.power import detectable_difference
from fairlab.metrics.significance import holm
from fairlab.record import Reading, Record
from fairlab.reporting.audit import JUDGED, TAGS, label_agreement, read_sheet, tag_rates
from fairlab.reporting.reproduction import read_matrix
from fairlab.reproduce import finished_records

FOLDER = Path(__file__).parent
TWINS = {"roberta": "text as it was", "fairberta": "perturbed text"}
QUALITY = {"bleu": "BLEU", "rouge_2": "ROUGE-2", "levenshtein": "Levenshtein, words", "exact": "equal, %"}
METHODS = {
    "RoBERTa orig. 16GB": "text as it was, finetuned",
    "RoBERTa fair 16GB": "text as it was, fairtuned",
    "FairBERTa orig. 16GB": "perturbed text, finetuned",
    "FairBERTa fair 16GB": "perturbed text, fairtuned",
}
LOWER, CARD = ", lower case", "PANDA's card"
NEW = "perturber, SmolLM2"
REWRITERS = {
    "rules": "rules",
    "word swap": "listed words turned",
    "57 pairs": "57 pairs swapped",
    "AugLy 1.0.0": "AugLy 1.0.0, gendered words swapped",
    NEW: "perturber from SmolLM2-135M",
    "language model": "Qwen2.5-Coder-1.5B, by prompt",
    "unchanged": "unchanged",
}
AUDITED = ("race", "age", "gender")
KINDS = ("orig", "fair")
TASKS = {"cola": "CoLA", "sst2": "SST-2", "rte": "RTE", "mrpc": "MRPC", "qnli_halves": "QNLI"}
USEFUL = {task: f"{task}/dev/{'matthews' if task == 'cola' else 'accuracy'}" for task in TASKS}
FAIR = {task: f"{task}_fairscore/dev/fairscore" for task in TASKS}


def novels() -> str:
    """Masked words of novels held out as they were written: perplexity and accuracy of both twins in the end."""
    rows = []
    for run, name in TWINS.items():
        for file in sorted((FOLDER / "records" / run).glob("*/record.json")):
            record = Record.load(file.parent)
            last = [row for row in record.history if "validation/perplexity" in row][-1]
            data = record.provenance["data"]
            changed = f"{data['passages_changed']:,} of {data['passages']:,}"
            figures = [f"{last['validation/perplexity']:.1f}", f"{100 * last['validation/accuracy']:.1f}"]
            seed = file.parent.name.removeprefix("seed_")
            rows.append([name, seed, f"{data['train_tokens']:,}", changed, *figures])
    header = ["trained on", "seed", "tokens", "passages changed", "perplexity", "masked words right, %"]
    return markdown(header, rows)


def rewriters() -> str:
    """How near rewriters come to the rule rewriter on pairs that each perturber did not see."""
    records = FOLDER / "records"
    rows = []
    for name, folder in (
        ("perturber without pretraining", records / "perturber" / "seed_42"),
        (REWRITERS[NEW], records / "perturber_smollm2" / "measured"),
    ):
        found = {reading.key.removeprefix("after/"): reading for reading in Record.load(folder).readings}
        names = {"perturber": name, "word_swap": "words swapped, on its pairs", "original": "unchanged, on its pairs"}
        rows += [[shown, *qualities(found, rewriter)] for rewriter, shown in names.items()]
    return markdown(["", *QUALITY.values()], rows)


def qualities(found: dict[str, Reading], rewriter: str) -> list[str]:
    """The measures of table 2 of a rewriter."""
    return [interval(found[f"perturber/{rewriter}/{quantity}"], 1) for quantity in QUALITY]


def training_pairs() -> str:
    """What the perturber of pretrained weights was trained on."""
    found = json.loads((FOLDER / "pairs.json").read_text(encoding="utf-8"))
    names = {"rules, gender": "rules, on gender", "rules, race": "rules, on race", "rules, age": "rules, on age"}
    names |= {"written": "written for fairlab", "model": "the language model"}
    rows = [[names[sort], f"{count:,}"] for sort, count in found["sorts"].items()]
    return markdown(["rewritten by", "pairs"], [*rows, ["all", f"{found['pairs']:,}"]])


def measured_on_people() -> dict[str, Any]:
    """What ``human.py`` wrote."""
    found: dict[str, Any] = json.loads((FOLDER / "human.json").read_text(encoding="utf-8"))
    return found


def human() -> str:
    """How near rewriters come to sentences that people wrote."""
    rows = []
    for about, found in measured_on_people()["sets"].items():
        if about.startswith(CARD) or about.endswith(LOWER):
            continue
        for rewriter, name in REWRITERS.items():
            if rewriter not in found or (rewriter == "57 pairs" and not found[rewriter]["exact"]):
                continue
            one = found[rewriter]
            figures = [f"{one['bleu']:.1f}", f"{one['rouge_2']:.1f}", f"{one['levenshtein']:.2f}"]
            folded = f"{100 * one['but_for_capitals'] / one['n']:.1f}" if "but_for_capitals" in one else "not kept"
            rows.append([f"{about}, {one['n']}", name, *figures, equal(one), folded])
    return markdown(["references", "rewriter", *QUALITY.values(), "but for capitals, %"], rows)


def equal(one: dict[str, Any]) -> str:
    """Of how many in a hundred, with the interval."""
    low, high = (100 * bound for bound in one["interval"])
    return f"{100 * one['exact'] / one['n']:.1f} [{low:.1f}, {high:.1f}]"


def with_capitals(one: dict[str, Any]) -> str:
    """Of how many in a hundred, with the interval, and of how many where capitals do not count."""
    return f"{equal(one)}; {100 * one['but_for_capitals'] / one['n']:.1f}"


def human_lower() -> str:
    """Rewritings that equal the reference, or are among the right ones, of texts in lower case and labelled ones."""
    content = measured_on_people()
    shown = {
        name: found for name, found in content["sets"].items() if name.endswith(LOWER) and not name.startswith(CARD)
    }
    shown |= {f"labelled, {name}": found for name, found in content["labelled"].items()}
    names = {name: REWRITERS[name] for name in ("rules", "word swap", NEW)}
    rows = [
        [
            f"{about}, {found['rules']['n']}",
            *(with_capitals(found[name]) if name in found else "not run" for name in names),
        ]
        for about, found in shown.items()
    ]
    return markdown(["references", *(f"{name}, %" for name in names.values())], rows)


def beside_rules() -> str:
    """The perturber of pretrained weights and the rules on the same texts."""
    content = measured_on_people()
    found = {name: one[NEW] for name, one in content["beside_rules"].items() if not name.startswith(CARD)}
    found |= {f"labelled, {name}": one[NEW]["beside_rules"] for name, one in content["labelled"].items()}
    adjusted = holm([one["p"] for one in found.values()])
    rows = []
    for (about, one), p in zip(found.items(), adjusted, strict=True):
        folded = one["but_for_capitals"]
        counts = [str(one[key]) for key in ("both", "first_alone", "second_alone", "neither")]
        rest = f"{folded['first_alone']} and {folded['second_alone']}, {folded['p']:.1g}"
        alone = f"{one['of_these_right']} of {one['left_alone_by_rules']}"
        rows.append([f"{about}, {one['texts']}", *counts, f"{one['p']:.1g}", f"{p:.1g}", rest, alone])
    head = ["references", "both right", "perturber alone", "rules alone", "neither", "p (exact McNemar)", "p by Holm"]
    return markdown([*head, "but for capitals: alone, p", "right of those that rules leave alone"], rows)


def power() -> str:
    """What difference of two models' fairscores the tasks of table 5, and larger ones, could show."""
    matrix = read_matrix(FOLDER / "matrix.yaml", "quickstart")
    records = finished_records(FOLDER / "records", matrix)
    rows, shares = [], []
    for task, name in TASKS.items():
        runs = [records[f"{twin}_{kind}_{task}"][seed] for twin in TWINS for kind in KINDS for seed in matrix.seeds]
        found = [reading for run in runs for reading in run.readings if reading.key == f"after/{FAIR[task]}"]
        shares.append(fmean(reading.value for reading in found) / 100)
        rows.append([name, found[0].n, shares[-1], len(matrix.seeds)])
    rows += [["as the mean of these", pairs, fmean(shares), 5] for pairs in (1_000, 5_000, 20_000)]
    return markdown(
        ["task", "pairs", "fairscore, %", "seeds", "detectable, points", "if seeds were as good as pairs"],
        [
            [name, f"{pairs:,}", f"{100 * share:.1f}", str(seeds)]
            + [f"{100 * detectable_difference(share, pairs, seeds, own=own):.1f}" for own in (1.0, 0.0)]
            for name, pairs, share, seeds in rows
        ],
    )


def fairtuning_changes() -> str:
    """Fairtuned minus finetuned, of each twin on each task, seed by seed."""
    matrix = read_matrix(FOLDER / "matrix.yaml", "quickstart")
    records = finished_records(FOLDER / "records", matrix)
    rows = []
    for task, name in TASKS.items():
        for twin, about in TWINS.items():
            fair, plain = records[f"{twin}_fair_{task}"], records[f"{twin}_orig_{task}"]
            changes = [
                [fair[seed].metrics()[key] - plain[seed].metrics()[key] for seed in matrix.seeds]
                for key in (f"after/{USEFUL[task]}", f"after/{FAIR[task]}")
            ]
            rows.append([name, about, *map(spread, changes)])
    return markdown(["task", "twin", "accuracy (CoLA: Matthews)", "fairscore"], rows)


def audits() -> str:
    """Labels kept in each of two readings of one sheet an axis, on how many rows a tag was put, and agreement."""
    head = ["axis", "rows", "labels kept, first", "labels kept, second", "both readings agree on the label", "harmful"]
    rows, harmful = [], json.loads((FOLDER / "audits" / "harmful.json").read_text(encoding="utf-8"))
    for axis in AUDITED:
        first, second = readings(axis)
        kept = [label_agreement(sheet) for sheet in (first, second)]
        shares = [f"{one}/{all_} [{100 * low:.0f} %, {100 * high:.0f} %]" for one, all_, low, high in kept]
        alike = sum(one[JUDGED] == two[JUDGED] for one, two in zip(first, second, strict=True))
        rows.append([axis, str(len(first)), *shares, f"{alike}/{len(first)}", str(harmful[axis])])
    return markdown(head, rows)


def audit_tags() -> str:
    """Of each tag of table 9, rows under which either reading put it, and on which both agree, in per cent."""
    rates = {axis: tag_rates(*readings(axis)) for axis in AUDITED}
    rows = [
        [tag, *(f"{100 * rates[axis][tag][0]:.0f}; {100 * rates[axis][tag][1]:.0f}" for axis in AUDITED)]
        for tag in TAGS
    ]
    return markdown(["tag", *AUDITED], rows)


def readings(axis: str) -> list[list[dict[str, str]]]:
    """The two filled sheets of an axis."""
    return [read_sheet(FOLDER / "audits" / f"{axis}_{number}.csv") for number in (1, 2)]


def spread(values: list[float]) -> str:
    """Mean and standard deviation over seeds, and every one of them."""
    each = ", ".join(f"{value:+.1f}" for value in values)
    return f"{fmean(values):+.1f} ± {stdev(values):.1f} ({each})"


PAGES = {
    "docs/results.md": {
        "power": power,
        "fairtuned": lambda: methods_table(FOLDER, "4", {USEFUL[task]: TASKS[task] for task in TASKS}, METHODS),
        "fairscores": lambda: methods_table(FOLDER, "5", {FAIR[task]: TASKS[task] for task in TASKS}, METHODS),
    },
    "experiments/perturbation/README.md": {
        "table_2": lambda: matrix_table(FOLDER, "2"),
        "rewriters": rewriters,
        "training_pairs": training_pairs,
        "human": human,
        "human_lower": human_lower,
        "beside_rules": beside_rules,
        "power": power,
        "novels": novels,
        "twins": lambda: matrix_table(FOLDER, "twins"),
        "table_3": lambda: matrix_table(FOLDER, "3"),
        "table_4": lambda: matrix_table(FOLDER, "4"),
        "table_5": lambda: matrix_table(FOLDER, "5"),
        "changes": fairtuning_changes,
        "table_13": lambda: matrix_table(FOLDER, "13"),
        "audits": audits,
        "audit_tags": audit_tags,
    },
}
