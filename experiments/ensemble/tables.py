"""Tables of the ensemble page."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from experiments.rendering import interval, markdown
from experiments.shared.seeds import median_run
from fairlab.methods.safety_ensemble.strengths import Candidate, pareto_front
from fairlab.record import Reading, Record
from fairlab.reporting.many_runs.reweighting import CATEGORY, COLUMNS, GAP, setting
from fairlab.reporting.report import PUBLISHED
from fairlab.reporting.safety import LEAST

RECORDS = Path(__file__).parent / "records"
SETS, CONFIRMATION = "sets", "confirmation"  # folders of runs on the test folds; those of fresh seeds
QUANTITIES = {
    "AU-PRC, seeds": "average_precision_change",
    "AU-PRC, counterfactual": "average_precision_counterfactual_change",
    "ACV": "acv_change",
    "ACV uncalibrated": "acv_uncalibrated_change",
    "ACV, safe": "acv_safe_change",
    "ACV, unsafe": "acv_unsafe_change",
    "ACV from the equally smooth": "acv_change_from_smooth",
    "the same uncalibrated": "acv_uncalibrated_change_from_smooth",
    "above the best source": "gain_over_best_source",
}
# What was asked for: benchmark and quantity, and the bound that a change in per cent must keep.
GOALS = {
    "AU-PRC on the test folds": ("safety", "average_precision_change", "at least -2"),
    "ACV on the test folds": ("safety", "acv_change", "at most -62"),
    "the same uncalibrated": ("safety", "acv_uncalibrated_change", "at most -62"),
    "ACV on HateCheck": ("safety_hatecheck", "acv_change", "at most -55"),
    "ACV on HateCheck, uncalibrated": ("safety_hatecheck", "acv_uncalibrated_change", "at most -55"),
    "ACV on the madlibs": ("safety_bias_madlibs", "acv_change", "at most -55"),
    "ACV on the madlibs, uncalibrated": ("safety_bias_madlibs", "acv_uncalibrated_change", "at most -55"),
    "ACV from the equally smooth, test folds": ("safety", "acv_change_from_smooth", "at most -30"),
    "ACV from the equally smooth, uncalibrated": ("safety", "acv_uncalibrated_change_from_smooth", "at most -30"),
}
HARMS = ("hate", "violence")
OF_RIVALS = ("average_precision", "acv", "acv_uncalibrated")
# Where rivals are compared: benchmark and quantity.
COMPARED = {
    "AU-PRC, test": ("safety", "average_precision"),
    "ACV, test": ("safety", "acv"),
    "ACV uncalibrated, test": ("safety", "acv_uncalibrated"),
    "AU-PRC, HateCheck": ("safety_hatecheck", "average_precision"),
    "ACV, HateCheck": ("safety_hatecheck", "acv"),
    "ACV, madlibs": ("safety_bias_madlibs", "acv"),
}
USUAL = {"lambda_safe": 0.5, "lambda_unsafe": 0.05, "beta_unsafe": 10}  # of the sweep, where one of them varies
SAME_LISTS = ("blind", "average")  # use the lists that made the versions of the test folds
PLACES = {
    "hate": "safety/hate",
    "violence": "safety/violence",
    "hate on HateCheck": "safety_hatecheck/hate",
    "hate on the madlibs": "safety_bias_madlibs/hate",
    "violence on HateCheck": "safety_hatecheck/violence",
    "violence on the madlibs": "safety_bias_madlibs/violence",
}


def records_of(folder: str) -> list[Record]:
    """Return records of a folder of runs, one a seed, by seed."""
    return [Record.load(file.parent) for file in sorted((RECORDS / folder).glob("seed_*/record.json*"))]


def by_key(record: Record) -> dict[str, Reading]:
    """Return readings of the debiased model, or of its changes, by benchmark, subset and quantity."""
    return {f"{one.benchmark}/{one.subset}/{one.quantity}": one for one in record.readings if one.phase == "after"}


def over_seeds(folder: str = SETS) -> list[dict[str, Reading]]:
    """Return readings of the committed runs on the test folds, one mapping a seed."""
    return [by_key(record) for record in records_of(folder)]


def strengths(harm: str) -> str:
    """Return the sweep over strengths of reweighting on validation, the median of seeds, and printed values of hate."""
    published = yaml.safe_load((PUBLISHED / "ensemble.yaml").read_text(encoding="utf-8"))
    printed = {"lambda_safe": "table_7", "lambda_unsafe": "table_7_unsafe", "beta_unsafe": "table_8"}
    runs: dict[str, list[Record]] = {}
    for file in sorted((RECORDS / "sweep").glob("seed_*/*/record.json*")):
        record = Record.load(file.parent)
        runs.setdefault(setting(record, harm), []).append(record)
    rows = []
    for records in runs.values():
        values = records[0].config["method"]["reweighting"][harm]
        varied = [key for key in printed if values[key] != USUAL[key]] or list(printed)
        labels = [f"{key} {values[key]:g}".replace("beta_unsafe", "beta") for key in varied]
        seeds = [by_key(record) for record in records]
        cells = [cell(seeds, f"safety_validation/{harm}/{quantity}") for quantity in COLUMNS.values()]
        cells.append(cell(seeds, f"safety_validation/{harm}_{CATEGORY}/{GAP}", 3))
        found = [published[printed[key]]["rows"].get(one) for key, one in zip(varied, labels, strict=True)]
        cells += ["; ".join(f"{one[0]:g}" for one in found if one)] if harm == "hate" else []
        order = (len(labels) > 1, varied[0] == "beta_unsafe", varied[0], values[varied[0]])
        rows.append((order, [", ".join(labels), *cells]))
    head = ["strength", *COLUMNS, f"largest gap, {CATEGORY}, unsafe", *(["printed"] if harm == "hate" else [])]
    return markdown(head, [row for _, row in sorted(rows)])


def cell(seeds: list[dict[str, Reading]], key: str, digits: int = 1) -> str:
    """Return the median over seeds with its interval and the seeds' range; empty without measurements."""
    found = [readings[key] for readings in seeds if key in readings]
    if not found:
        return ""
    values = [one.value for one in found]
    apart = f" ({min(values):.{digits}f} to {max(values):.{digits}f})" if len(values) > 1 else ""
    return interval(median_run(found), digits) + apart


def safety_changes() -> str:
    """Table 3 and what stands beside it, per cent of the baseline, from the committed runs on the test folds."""
    seeds = over_seeds()
    table = yaml.safe_load((PUBLISHED / "ensemble.yaml").read_text(encoding="utf-8"))
    printed = {}
    for name in ("table_3", "table_6"):
        printed |= dict(zip(table[name]["columns"], table[name]["rows"]["remediated"], strict=True))
    rows = []
    for label, place in PLACES.items():
        keys = [f"{place}/{quantity}" for quantity in QUANTITIES.values()]
        rows.append([label, *(cell(seeds, key) for key in keys)])
        if any(key in printed for key in keys):
            rows.append([f"{label}, printed", *(f"{printed[key]:.1f}" if key in printed else "" for key in keys)])
    records = [*records_of(SETS), *records_of(CONFIRMATION)]
    seconds = ", ".join(f"{record.provenance['processor_seconds']:,.0f}" for record in records)
    facts = records[0].provenance
    seen = ", ".join(str(record.config["seed"]) for record in records)
    note = (
        f"Revision `{facts['revision'][:12]}`; seeds {seen}: {seconds} s of a processor, scores of the sources held "
        "in the cache after the first run."
    )
    default = records_of("default")[0].provenance
    note += (
        f" `+experiment=safety_ensemble` alone, with the three sources of the default and no cache: "
        f"{default['processor_seconds']:,.0f} s of a processor, {default['wall_seconds']:,.0f} s by the clock beside "
        "other work."
    )
    return markdown(["", *QUANTITIES], rows) + f"\n\n{note}"


def goals() -> str:
    """Each part of the goal, by harm: what the seeds gave, and whether the worst seed's interval keeps the bound."""
    groups = [(records_of(folder), over_seeds(folder)) for folder in (SETS, CONFIRMATION)]
    rows = []
    for harm in HARMS:
        for label, (benchmark, quantity, bound) in GOALS.items():
            cells = [
                _against(bound, [readings[f"{benchmark}/{harm}/{quantity}"] for readings in seeds])
                for _, seeds in groups
            ]
            rows.append([harm, label, bound, *cells[0], *cells[1]])
    head = []
    for records, _ in groups:
        head += [f"seeds {', '.join(str(one.config['seed']) for one in records)}", "worst seed", "met"]
    return markdown(["harm", "per cent", "goal", *head], rows)


def _against(bound: str, found: list[Reading]) -> list[str]:
    """Values of the seeds, the worst one with its interval, and whether it keeps the bound, also by its interval."""
    least, limit = bound.startswith("at least"), float(bound.split()[-1])
    worst = (min if least else max)(found, key=lambda one: one.value)
    met = worst.value >= limit if least else worst.value <= limit
    sure = worst.low >= limit if least else worst.high <= limit
    verdict = "yes, beyond chance" if sure else "yes, within chance" if met else "no"
    return [", ".join(f"{one.value:.1f}" for one in found), interval(worst, 1), verdict]


def settings_compared() -> str:
    """Return what the settings did on validation in each run, which were chosen, and for how many test folds."""
    records = records_of(SETS)
    rows = []
    for harm in HARMS:
        found = [record.provenance["method"]["settings"][harm] for record in records]
        for k, one in enumerate(found[0]["validation"]):
            name = one["name"]
            cells = [
                "; ".join(f"{of['validation'][k][part]:.1f}" for of in found) for part in ("precision", "variance")
            ]
            times = "; ".join(str(of["by_test_fold"].count(name)) for of in found)
            exported = ", ".join(
                str(record.config["seed"]) for record, of in zip(records, found, strict=True) if of["exported"] == name
            )
            rows.append([harm, name, *cells, times, exported])
    head = ["harm", "setting", "AU-PRC, validation", "ACV, validation", "test folds that took it", "exported, seed"]
    return markdown(head, rows)


def thresholds() -> str:
    """Return what the thresholds give on the test folds, by seed."""
    seeds = over_seeds()
    rows = []
    for harm in HARMS:
        for name in ("threshold", "recall_at_threshold", "precision_at_threshold", "false_positive_rate_at_threshold"):
            found = [readings[f"safety/{harm}/{name}"] for readings in seeds]
            label = name.removesuffix("_at_threshold").replace("_", " ")
            rows.append([harm, label, *(interval(one, 2) for one in found)])
    return markdown(["harm", "at the threshold", *(f"seed {42 + k}" for k in range(len(seeds)))], rows)


def rival_changes() -> str:
    """Return controls and rivals of both harms by what they do to the baseline, on validation and on the test folds."""
    seeds = over_seeds()
    rows = []
    for harm in HARMS:
        suffixes = {"debiased": ""} | {
            key.rpartition("_change_of_")[2].replace("_", " "): "_of_" + key.rpartition("_change_of_")[2]
            for key in seeds[0]
            if key.startswith(f"safety/{harm}/acv_change_of_")
        }
        medians = {
            name: [
                median_run([readings[f"safety/{harm}/{quantity}_change{suffix}"] for readings in seeds]).value
                for quantity in ("average_precision", "acv")
            ]
            for name, suffix in suffixes.items()
        }
        some = [Candidate(name, *pair) for name, pair in medians.items() if name not in SAME_LISTS]
        front = [one.name for one in pareto_front(some)]
        for name, suffix in suffixes.items():
            keys = [f"{place}/{harm}/{quantity}_change{suffix}" for place, quantity in COMPARED.values()]
            verdict = "same lists" if name in SAME_LISTS else "yes" if name in front else ""
            rows.append([harm, name, *(cell(seeds, key) for key in keys), verdict])
    return markdown(["harm", "model", *COMPARED, "none beats it on test"], rows)


def tried() -> str:
    """Return what the debiased model did in runs whose rules of choice were given up."""
    rows = []
    for folder in sorted((RECORDS / "tried").iterdir()):
        record = Record.load(folder)
        found = by_key(record)
        rule = record.provenance["method"]["settings"]["hate"]["most_lost"]
        for harm in HARMS:
            cells = [interval(found[f"safety/{harm}/{quantity}_change"], 1) for quantity in OF_RIVALS]
            rows.append(
                [f"{record.config['data']['repeats']}", f"{rule:g} %", str(record.config["seed"]), harm, *cells]
            )
    return markdown(["divisions", "most lost", "seed", "harm", "AU-PRC", "ACV", "ACV uncalibrated"], rows)


def embedding() -> str:
    """Return the sources with and without the similarity to a policy, by encoder, on validation."""
    quantities = {"AU-PRC": ("average_precision", 3), "ACV, times 10,000": ("acv", 2)}
    rows = []
    for harm in HARMS:
        for phase, model in (("before", "baseline"), ("after", "debiased")):
            for label, folder in (("none", SETS), ("MiniLM", "embedding"), ("mpnet", "mpnet")):
                cells = []
                for quantity, digits in quantities.values():
                    values = [
                        one.value
                        for record in records_of(folder)
                        for one in record.readings
                        if (one.phase, one.key.removeprefix(f"{phase}/"))
                        == (phase, f"safety_validation/{harm}/{quantity}")
                    ]
                    times = 10_000 if quantity == "acv" else 1
                    cells.append("; ".join(f"{times * value:.{digits}f}" for value in values))
                rows.append([harm, model, label, *cells])
    return markdown(["harm", "model", "embedding", *quantities], rows)


def postprocessing() -> str:
    """Thresholds of subgroups after the fact, means over the seeds and their range."""
    files = sorted((RECORDS / "postprocessing").glob("seed_*.json"))
    found = [json.loads(file.read_text(encoding="utf-8")) for file in files]
    names = {
        "recall": ("recall", 2),
        "false-positive rate": ("false_positive_rate", 2),
        "sets with both labels, %": ("flip_rate", 1),
        "equalised-odds gap": ("equalised_odds_gap", 2),
    }
    rows = []
    for harm in HARMS:
        for way in found[0][harm]:
            cells = []
            for name, digits in names.values():
                values = [one[harm][way][name] for one in found]
                cells.append(f"{np.mean(values):.{digits}f} ({min(values):.{digits}f} to {max(values):.{digits}f})")
            rows.append([harm, way, *cells])
    seeds = ", ".join(str(one["seed"]) for one in found)
    return markdown(["harm", "model and thresholds", *names], rows) + f"\n\nSeeds {seeds}; means and ranges."


def overviews() -> list[dict[str, Any]]:
    """Return what the figures show, one a seed."""
    return [json.loads((record.folder / "overview.json").read_text(encoding="utf-8")) for record in records_of(SETS)]


def figure_3() -> str:
    """Sliced averages of hate on safe texts by race: the sources that correspond to the paper's, and both models."""
    found = [one["hate"]["averages"]["RaceEthnicity"] for one in overviews()]
    values = np.mean([[[np.nan if x is None else x for x in row] for row in one["values"]] for one in found], axis=0)
    rows = [
        [name, *(f"{value:.2f}" for value in row), f"{row.max() - row.min():.2f}"]
        for name, row in zip(found[0]["rows"], values, strict=True)
        if name.endswith(("identity_hate", ".toxic")) or name in ("baseline", "debiased")
    ]
    return markdown(["source score or model", *found[0]["subgroups"], "largest gap"], rows)


def figures_4_and_5() -> str:
    """Contributions to hate's forests of at least 5 %, and the largest gap of each such score, means over the seeds."""
    found = [one["hate"] for one in overviews()]
    before, after = (np.mean([one["contributions"][phase] for one in found], axis=0) for phase in ("before", "after"))
    gaps = np.mean([one["gaps"]["features"] for one in found], axis=0)
    order = [k for k in np.argsort(-before) if max(before[k], after[k]) >= LEAST]
    rows = [
        [found[0]["features"][k], f"{100 * before[k]:.0f} %", f"{100 * after[k]:.0f} %", f"{gaps[k]:.3f}"]
        for k in order
    ]
    models = (("baseline", "before"), ("debiased", "after"))
    rows += [
        [f"the model, {name}", "", "", f"{np.mean([one['gaps'][of] for one in found]):.3f}"] for name, of in models
    ]
    return markdown(["source score", "contribution, baseline", "debiased forest", "mean of largest gaps"], rows)


def versions_read() -> str:
    """How many of the versions that a person read were sound."""
    with (Path(__file__).parent / "versions_read.csv").open(encoding="utf-8", newline="") as lines:
        read = list(csv.DictReader(lines))
    broken = [row for row in read if row["verdict"] != "sound"]
    reasons = "; ".join(f"{row['changed']}: {row['note']}" for row in broken)
    return f"{len(read)} versions read, {len(broken)} broken ({reasons})."


def injected() -> str:
    """Return what a language model made of seeds, and how its verdicts compare with a reading."""
    folder = Path(__file__).parent
    record = json.loads((folder / "records" / "injection.json").read_text(encoding="utf-8"))
    with (folder / "injection_read.csv").open(encoding="utf-8", newline="") as lines:
        read = list(csv.DictReader(lines))
    told = {flagged: [row["right"] == "yes" for row in read if row["flagged"] == flagged] for flagged in ("yes", "no")}
    same = record["counts"]["versions equal to their seed"]
    return markdown(
        ["of versions asked for", "number", "of them right by reading"],
        [
            ["flagged by the model", str(len(told["yes"])), str(sum(told["yes"]))],
            ["not flagged", str(len(told["no"])), str(sum(told["no"]))],
            ["equal to the seed, so left out", str(same), "0"],
        ],
    )


PAGES = {
    "experiments/ensemble/README.md": {
        "goals": goals,
        "changes": safety_changes,
        "settings": settings_compared,
        "thresholds": thresholds,
        "rivals": rival_changes,
        "tried": tried,
        "embedding": embedding,
        "postprocessing": postprocessing,
        "figure 3": figure_3,
        "figures 4 and 5": figures_4_and_5,
        "read": versions_read,
        "injected": injected,
        "hate": lambda: strengths("hate"),
        "violence": lambda: strengths("violence"),
    },
}
