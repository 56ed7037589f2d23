"""Tables of the ensemble page."""

from __future__ import annotations

import csv
from pathlib import Path

import yaml

from experiments.rendering import interval, markdown
from fairlab.ensemble.strengths import Candidate, pareto_front
from fairlab.record import Reading, Record
from fairlab.reporting.report import PUBLISHED
from fairlab.reporting.reweighting import compare_strengths, strength_lines, strength_verdict
from fairlab.reporting.seeds import median_run

RECORDS = Path(__file__).parent / "records"
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
PLACES = {
    "hate": "safety/hate",
    "violence": "safety/violence",
    "hate on HateCheck": "safety_hatecheck/hate",
    "hate on the madlibs": "safety_bias_madlibs/hate",
    "violence on HateCheck": "safety_hatecheck/violence",
    "violence on the madlibs": "safety_bias_madlibs/violence",
}


def strengths(harm: str) -> str:
    """The sweep over strengths of reweighting on validation, and what is chosen of it."""
    records = [Record.load(file.parent) for file in (RECORDS / "sweep").glob("*/record.json")]
    records.sort(key=lambda record: list(record.config["method"]["reweighting"][harm].values()))
    return (
        markdown(*strength_lines(records, harm)) + f"\n\nChosen: {strength_verdict(compare_strengths(records)[harm])}."
    )


def over_seeds() -> list[dict[str, Reading]]:
    """Readings of the committed runs on the test folds, one mapping a seed, by benchmark, subset and quantity."""
    found = []
    for folder in sorted((RECORDS / "sets").glob("seed_*")):
        readings = [one for one in Record.load(folder).readings if one.phase == "after"]
        found.append({f"{one.benchmark}/{one.subset}/{one.quantity}": one for one in readings})
    return found


def cell(seeds: list[dict[str, Reading]], key: str) -> str:
    """The median over seeds with its interval, and how far the seeds lie apart; empty where nothing was measured."""
    found = [readings[key] for readings in seeds if key in readings]
    if not found:
        return ""
    values = [one.value for one in found]
    apart = f" ({min(values):.1f} to {max(values):.1f})" if len(values) > 1 else ""
    return interval(median_run(found), 1) + apart


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
    records = [Record.load(folder) for folder in sorted((RECORDS / "sets").glob("seed_*"))]
    seconds = ", ".join(f"{record.provenance['wall_seconds']:,.0f}" for record in records)
    facts = records[0].provenance
    note = (
        f"Revision `{facts['revision'][:12]}`, {facts['hardware']['cores']} cores; {seconds} s, on a machine that was "
        "busy with much other work."
    )
    return markdown(["", *QUANTITIES], rows) + f"\n\n{note}"


def goals() -> str:
    """Each part of the goal, by harm: what the seeds gave, and whether the worst seed's interval keeps the bound."""
    seeds = over_seeds()
    rows = []
    for harm in HARMS:
        for label, (benchmark, quantity, bound) in GOALS.items():
            found = [readings[f"{benchmark}/{harm}/{quantity}"] for readings in seeds]
            least, limit = bound.startswith("at least"), float(bound.split()[-1])
            worst = (min if least else max)(found, key=lambda one: one.value)
            met = worst.value >= limit if least else worst.value <= limit
            sure = worst.low >= limit if least else worst.high <= limit
            values = ", ".join(f"{one.value:.1f}" for one in found)
            verdict = "beyond chance" if sure else "within chance of it" if met else "no"
            rows.append([harm, label, bound, values, interval(worst, 1), "yes" if met else "no", verdict])
    return markdown(["harm", "per cent", "goal", "seeds", "worst seed", "met", "by its interval"], rows)


def settings_compared() -> str:
    """What the settings did on validation in each run, which were chosen, and for how many test folds."""
    records = [Record.load(folder) for folder in sorted((RECORDS / "sets").glob("seed_*"))]
    rows = []
    for harm in HARMS:
        found = [record.provenance["method"]["settings"][harm] for record in records]
        for k, one in enumerate(found[0]["validation"]):
            name = one["name"]
            cells = [
                "; ".join(f"{of['validation'][k][part]:.1f}" for of in found) for part in ("precision", "variance")
            ]
            times = "; ".join(str(of["by_test_fold"].count(name)) for of in found)
            exported = ", ".join(str(42 + seed) for seed, of in enumerate(found) if of["exported"] == name)
            rows.append([harm, name, *cells, times, exported])
    head = ["harm", "setting", "AU-PRC, validation", "ACV, validation", "test folds that took it", "exported, seed"]
    return markdown(head, rows)


def thresholds() -> str:
    """What the thresholds give on the test folds, by seed."""
    seeds = over_seeds()
    rows = []
    for harm in HARMS:
        for name in ("threshold", "recall_at_threshold", "precision_at_threshold", "false_positive_rate_at_threshold"):
            found = [readings[f"safety/{harm}/{name}"] for readings in seeds]
            label = name.removesuffix("_at_threshold").replace("_", " ")
            rows.append([harm, label, *(interval(one, 2) for one in found)])
    return markdown(["harm", "at the threshold", *(f"seed {42 + k}" for k in range(len(seeds)))], rows)


def rival_changes() -> str:
    """Controls and rivals of both harms by what they do to the baseline, on validation and on the test folds."""
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
        front = [one.name for one in pareto_front([Candidate(name, *pair) for name, pair in medians.items()])]
        for name, suffix in suffixes.items():
            keys = [
                f"{place}/{harm}/{quantity}_change{suffix}"
                for place, quantities in (("safety", OF_RIVALS), ("safety_hatecheck", OF_RIVALS[1:2]))
                for quantity in quantities
            ]
            rows.append([harm, name, *(cell(seeds, key) for key in keys), "yes" if name in front else ""])
    columns = ["AU-PRC, test", "ACV, test", "ACV uncalibrated, test", "ACV, HateCheck"]
    return markdown(["harm", "model", *columns, "none beats it on test"], rows)


def tried() -> str:
    """What the debiased model did in runs whose rules of choice were given up."""
    rows = []
    for folder in sorted((RECORDS / "tried").iterdir()):
        record = Record.load(folder)
        found = {f"{one.benchmark}/{one.subset}/{one.quantity}": one for one in record.readings if one.phase == "after"}
        rule = record.provenance["method"]["settings"]["hate"]["most_lost"]
        for harm in HARMS:
            cells = [interval(found[f"safety/{harm}/{quantity}_change"], 1) for quantity in OF_RIVALS]
            rows.append(
                [f"{record.config['data']['repeats']}", f"{rule:g} %", str(record.config["seed"]), harm, *cells]
            )
    return markdown(["divisions", "most lost", "seed", "harm", "AU-PRC", "ACV", "ACV uncalibrated"], rows)


def versions_read() -> str:
    """How many of the versions that a person read were sound."""
    with (Path(__file__).parent / "versions_read.csv").open(encoding="utf-8", newline="") as lines:
        read = list(csv.DictReader(lines))
    broken = [row for row in read if row["verdict"] != "sound"]
    reasons = "; ".join(f"{row['changed']}: {row['note']}" for row in broken)
    return f"{len(read)} versions read, {len(broken)} broken ({reasons})."


PAGES = {
    "experiments/ensemble/README.md": {
        "goals": goals,
        "changes": safety_changes,
        "settings": settings_compared,
        "thresholds": thresholds,
        "rivals": rival_changes,
        "tried": tried,
        "read": versions_read,
        "hate": lambda: strengths("hate"),
        "violence": lambda: strengths("violence"),
    },
}
