"""Tables of the RAZOR documentation page."""

from __future__ import annotations

import csv
from collections import Counter
from pathlib import Path
from statistics import fmean, stdev

from experiments.razor import budget_tables, known_truth_tables, study
from experiments.rendering import interval, markdown, matrix_table, significant, trials
from experiments.shared.power import detectable_mean
from fairlab.record import Reading, Record
from fairlab.reporting.headlines import title
from fairlab.reporting.many_runs.reproduction import read_matrix

FOLDER = Path(__file__).parent
RECORDS = FOLDER / "records"
PROBES = ("probes", "probes_chance", "probes_checked")  # the original pairs are in each, with the same readings
XRAYED = {  # datasets of the X-ray
    "original": "original",
    "rewritten": "RAZOR (rules, offline)",
    "at_random": "rules at random",
    "repeated": "balanced by repeating",
    "symmetric_kept": "symmetric, others kept",
}
CHECKS = {  # checks of a language model's rewrites
    "equation_13": "equation 13",
    "facts_equation_13": "the same facts and equation 13",
    "facts_verdict": "the same facts and the same verdict as for the original",
}


def seconds(folder: str) -> str:
    """Return a table of the size and duration of all runs in a folder of records."""
    rows = []
    for file in sorted((RECORDS / folder).glob("*/*/record.json*")):
        record = Record.load(file.parent)
        facts, precision = record.provenance, record.config["trainer"]["precision"]
        data, seed = facts["data"], file.parent.name.removeprefix("seed_")
        sizes = [f"{data['train_examples']:,}", f"{data.get('added', 0):,}", f"{data['validation_examples']:,}"]
        rows.append(
            [
                file.parent.parent.name,
                seed,
                *sizes,
                precision,
                f"{facts['wall_seconds']:,.0f}",
                f"`{facts['revision'][:12]}`",
            ]
        )
    return markdown(
        [
            "run",
            "seed",
            "training pairs",
            "added pairs among them",
            "held-out pairs",
            "precision",
            "seconds",
            "revision",
        ],
        rows,
    )


def accuracies(run: str) -> str:
    """Return a table of the accuracy and macro-F1 of a run's classifier on all sets, and of the majority class."""
    found = {reading.key: reading for reading in Record.load(RECORDS / run).readings}
    rows = []
    for key, reading in found.items():
        place, _, quantity = key.rpartition("/")
        if quantity in ("accuracy", "macro_f1"):
            name = "majority" if quantity == "accuracy" else "majority_macro_f1"
            other = interval(found[f"{place}/{name}"], 1) if f"{place}/{name}" in found else ""
            rows.append([title(reading), interval(reading, 1), other, str(reading.n)])
    return markdown(["result", "value", "commonest label", "n"], rows)


def association(kind: str) -> str:
    """Return a table of the association between negations and labels in each dataset, before and after rewriting."""
    rows = []
    for folder in sorted((RECORDS / kind).glob("*/")):
        record = Record.load(folder)
        if "augmentation" not in record.config:
            continue
        found = {reading.key: reading for reading in record.readings}
        before, after = (found[f"{phase}/razor/negation/association"] for phase in ("before", "after"))
        made = sum(row.get("rewritten", 0) for row in record.history)
        setting = record.config["augmentation"]
        rows.append(
            [
                folder.name,
                setting["features"],
                setting["accept"],
                f"{made:,.0f} of {before.n:,}",
                interval(before, 3),
                interval(after, 3),
                f"{1 - after.value / before.value:.0%}",
            ]
        )
    return markdown(
        ["rewritten by", "score", "accept", "texts rewritten", "association before", "association after", "decrease"],
        rows,
    )


def xray() -> str:
    """Return a table of the readings that show how claims reveal their label, for each dataset of the X-ray."""
    rows: dict[tuple[str, str], dict[str, Reading]] = {}
    for reading in Record.load(RECORDS / "xray" / "claims").readings:
        rows.setdefault((reading.subset, reading.quantity), {})[reading.phase] = reading
    shown = [
        [f"{subset}/{quantity}", *(significant(found[phase]) for phase in XRAYED)]
        for (subset, quantity), found in rows.items()
    ]
    return markdown(["reading", *XRAYED.values()], shown)


def ngrams() -> str:
    """Return a table of the words and word pairs most strongly associated with each label in each dataset."""
    read = read_sheet("ngrams")
    labels = sorted({row["label"] for row in read})
    rows = [
        [
            name,
            *(
                ", ".join(
                    f"{row['ngram']} ({row['share']} % of {row['occurrences']})"
                    for row in read
                    if (row["data"], row["label"]) == (data, label)
                )
                for label in labels
            ),
        ]
        for data, name in XRAYED.items()
    ]
    return markdown(["dataset", *labels], rows)


def planted_ranking() -> str:
    """Return a table of how well each score ranks reviews with the planted shortcut above the others."""
    readings = Record.load(RECORDS / "planted" / "association_classifiers").readings
    rows = [[one.subset, interval(one, 3), str(one.n)] for one in readings if one.phase == "data"]
    return markdown(["score", "area under the ROC curve", "n"], rows)


def planted_classifiers() -> str:
    """Return a table of the accuracy on the balanced test set after training on original and on rewritten data."""
    rows = []
    for folder in sorted((RECORDS / "planted").glob("*/")):
        record = Record.load(folder)
        if "augmentation" in record.config:
            continue
        changes = {(one.subset, one.quantity): one for one in record.comparisons}
        for row in record.table():
            if "before" not in row:
                continue
            before, after = row["before"], row["after"]
            change = changes.get((before.subset, before.quantity))
            moved = "" if change is None else f"{change.difference:+.1f} [{change.low:+.1f}, {change.high:+.1f}]"
            name = before.quantity.replace("accuracy_seed_", "seed ").replace("accuracy", "mean of seeds")
            by = folder.name.removesuffix("_classifiers")
            cells = [by, before.subset, name, interval(before, 1), interval(after, 1), moved]
            rows.append([*cells, str(change.n if change else before.n)])
    return markdown(
        ["rewritten by", "test reviews", "classifiers", "trained on originals", "trained on rewrites", "change", "n"],
        rows,
    )


def probes(untouched: str) -> str:
    """Return a table of the gain of a bag-of-words probe on the claims alone, before and after augmentation.

    Args:
        untouched: Name of the pairs that are not augmented, on which the probe is tested as well.
    """
    named = {
        "gain of a probe that reads only the claims, points": ("claim_only", "gain", 1),
        f"gain on {untouched}, points": ("untouched", "gain", 1),
        "association of negation and label, Cramer's V": ("negation", "association", 2),
    }
    readings = [one for folder in PROBES for one in Record.load(RECORDS / folder).readings]
    found = {(one.subset, one.quantity, one.phase): one for one in readings}
    phases = dict.fromkeys(one.phase for one in readings)
    rows = [
        [
            study.names()[f"claims_{phase}"],
            f"{found['claim_only', 'gain', phase].n:,}",
            *(interval(found[subset, quantity, phase], digits) for subset, quantity, digits in named.values()),
        ]
        for phase in phases
    ]
    return markdown(["dataset", "pairs", *named], rows)


def read_sheet(name: str) -> list[dict[str, str]]:
    """Read an annotated sheet, or another CSV file in this folder, by its name."""
    with (FOLDER / f"{name}.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def llm_checks() -> str:
    """Return a table of the rewrites that each check accepts, the correct ones among them, and the probe's gain."""
    read, rows = read_sheet("llm_sheet"), []
    for check, name in {"": "none", **CHECKS}.items():
        passed = [row for row in read if not check or not row[check]]
        cells = [f"{len(passed)}"]
        for label in ("SUPPORTS", "REFUTES"):
            of_label = [row for row in passed if row["label"] == label]
            cells.append(f"{sum(row['label_is'] == 'right' for row in of_label)} of {len(of_label)}")
        if not check:
            rows.append([name, "", *cells, ""])
            continue
        record = Record.load(RECORDS / "llm" / check)
        found = {reading.key: reading for reading in record.readings}
        before, after = (found[f"{phase}/razor/claim_only/gain"] for phase in ("before", "after"))
        made = sum(row.get("rewritten", 0) for row in record.history)
        gain = f"{interval(before, 1)} to {interval(after, 1)}"
        rows.append([name, f"{made:,.0f} of {before.n}", *cells, gain])
    passing = ["accepted of 100 rewrites read", "right among accepted, SUPPORTS", "right among accepted, REFUTES"]
    return markdown(["check", "rewritten", *passing, "gain of a probe that reads only the claims, points"], rows)


def sheet(name: str) -> str:
    """Return a table of the annotations in a sheet, by label."""
    found, rows = read_sheet(name), []
    for label in ("SUPPORTS", "REFUTES"):
        of_label = [row for row in found if row["label"] == label]
        judged = Counter(row["label_is"] for row in of_label)
        natural = sum(row["natural"] == "yes" for row in of_label)
        counts = [str(judged[one]) for one in ("right", "unproven", "wrong")]
        rows.append([label, str(len(of_label)), *counts, str(natural)])
    return markdown(["label", "rewrites read", "label right", "label unproven", "label wrong", "natural"], rows)


def until_gain() -> str:
    """Return a table of the probe's gain over the rounds of RAZOR, which uses this gain as a stopping criterion."""
    history = Record.load(RECORDS / "until_gain").history
    shown = [row for row in history if row["round"] % 5 == 0 or row is history[-1]]
    gains = [f"{row['gain']:.1f}" for row in shown]
    return markdown(["rounds", *(f"{row['round']:.0f}" for row in shown)], [["gain of the probe, points", *gains]])


def naturalness() -> str:
    """Return a table of how well a small language model detects unnatural exchanges made by ``symmetric``."""
    area, natural = Record.load(RECORDS / "naturalness").readings
    rows = [
        [
            "area under the ROC curve, if the rise is used to find unnatural rows",
            interval(area, 2),
            str(area.n),
        ],
        ["natural rows among those with a rise of at most 0.1, %", interval(natural, 0), str(natural.n)],
    ]
    return markdown(["quantity", "value", "rows"], rows)


def chance_sheet() -> str:
    """Return a table of the annotations of randomly rewritten claims, by type of change."""
    found = Counter((row["change"], row["natural"]) for row in read_sheet("chance_sheet"))
    changes = {"opener": "only an opener", "negation": "a negation in other words", "synonym": "a synonym"}
    rows = [[what, str(found[one, "yes"] + found[one, "no"]), str(found[one, "yes"])] for one, what in changes.items()]
    return markdown(["what changed", "claims read", "natural claims"], rows)


def figure_3() -> str:
    """Return a table of the accuracy after training on 500 original or rewritten pairs, and the paired difference."""
    rows = []
    for key, name in study.TEST_SETS.items():
        original, rewritten = (study.accuracies(run, key, RECORDS / "few") for run in ("original", "rewritten"))
        found = [rewritten[seed] - original[seed] for seed in original.keys() & rewritten.keys()]
        means = [f"{fmean(one.values()):.1f} ± {stdev(one.values()):.1f}" for one in (original, rewritten)]
        tested = [f"{fmean(found):+.1f}", f"{study.p_over_seeds(found):.3f}"]
        rows.append([name, str(len(found)), *means, *tested, f"{detectable_mean(stdev(found), len(found)):.1f}"])
    return markdown(["accuracy on", "seeds", "original", "rewritten", "difference", "p", "detectable difference"], rows)


def figure_4() -> str:
    """Return a table of the accuracy on the held-out pairs during training, for the classifiers of figure 4."""
    rows = []
    for row in read_matrix(FOLDER / "matrix.yaml", "quickstart").tables["figure_4"].rows:
        record = Record.load(RECORDS / "curves" / row.run / "seed_42")
        validated = [one for one in record.history if "validation/accuracy" in one]
        of_step = {one["step"]: 100 * one["validation/accuracy"] for one in validated}
        rows.append([row.name, *(f"{value:.1f}" for value in of_step.values())])
    return markdown(["trained on", *(f"{step} steps" for step in of_step)], rows)


PAGES = {
    "docs/shortcut_baselines.md": {"probes": lambda: probes("held-out pairs")},
    "docs/results.md": {"shortcuts": study.reached},
    "experiments/razor/second_study.md": known_truth_tables.TABLES | budget_tables.TABLES,
    "experiments/razor/README.md": {
        "planted_ranking": planted_ranking,
        "planted_association": lambda: association("planted"),
        "planted_classifiers": planted_classifiers,
        "probes": lambda: probes("held-out pairs"),
        "claims_steps": study.longer,
        "claims_study": study.reached,
        "claims_differences": study.differences,
        "claims_chance": study.against_chance,
        "chance_sheet": chance_sheet,
        "claims_precisions": study.precisions,
        "claims_evidence": lambda: study.evidence("without_evidence"),
        "claims_evidence_chance": lambda: study.evidence("without_evidence_chance"),
        "claims_evidence_long": lambda: study.evidence("without_evidence_long"),
        "claims_overlap": study.overlap,
        "claims_base_size": lambda: study.reached("study_mpnet"),
        "claims_base_size_differences": lambda: study.differences("study_mpnet"),
        "claims_evidence_mpnet": lambda: study.evidence("without_evidence_mpnet"),
        "claims_losses": study.losses,
        "claims_trials": lambda: trials(FOLDER / "trials.jsonl"),
        "claims_rates": lambda: trials(FOLDER / "rates.jsonl"),
        "claims_seconds": lambda: seconds("claims"),
        "mnli": lambda: matrix_table(FOLDER, "2_bert_mnli", "records/nli"),
        "snli": lambda: matrix_table(FOLDER, "2_bert_snli", "records/nli"),
        "figure_3": figure_3,
        "figure_4": figure_4,
        "llm_sheet": lambda: sheet("llm_sheet"),
        "llm_checks": llm_checks,
        "symmetric_sheet": lambda: sheet("symmetric_sheet"),
        "naturalness": naturalness,
        "until_gain": until_gain,
        "symmetric_checked_sheet": lambda: sheet("symmetric_checked_sheet"),
        "crossaug_sheet": lambda: sheet("crossaug_sheet"),
        "razor_study": lambda: matrix_table(FOLDER, "study_small", "records/study"),
        "study_data": lambda: association("made"),
        "xray": xray,
        "ngrams": ngrams,
        "study_seconds": lambda: seconds("study"),
        "razor_fever": lambda: accuracies("experiments/fever_original/seed_42"),
        "razor_nli": lambda: accuracies("experiments/nli_original/seed_42"),
        "razor_seconds": lambda: seconds("experiments"),
    },
}
