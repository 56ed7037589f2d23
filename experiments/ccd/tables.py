"""Tables of the CCD page and of the README's quickstart."""

from __future__ import annotations

import json
import re
from pathlib import Path
from statistics import fmean
from typing import Any

import yaml

from experiments.ccd.picture import points
from experiments.rendering import ideal, interval, markdown, matrix_table, measured, significant
from fairlab.record import Reading, Record
from fairlab.reporting.headlines import title, titled
from fairlab.reporting.report import PUBLISHED
from fairlab.reporting.reproduction import shown_cell

FOLDER = Path(__file__).parent
RECORDS = FOLDER / "records"
SEEDS = ["seed_42", "seed_43", "seed_44"]
ELSEWHERE = "seed_42_elsewhere"  # the same run on a processor that adds up in another order
BETAS = {"beta 0": "beta_0", "beta 0.5": "beta_0.5", "beta 1": "seed_42", "beta 1.5": "beta_1.5"}
DATA = {"versions written out": "seed_42", "word-list swapping": "cda"}
SETS = ["embedded", "winogender"]
MARGIN = "change/bias_ir/average/margin"
GLANCE = ["cced/winogender/gap", "seat/average/absolute_effect_size", "stsb/dev/spearman"]
AVERAGES = {"seat/average/absolute_effect_size": 3, "bias_ir/average/deviation": 3, "stsb/dev/spearman": 2}


def readings(name: str) -> dict[str, Reading]:
    """Readings of a committed record by key."""
    return {reading.key: reading for reading in Record.load(RECORDS / name).readings}


def sts_change(name: str) -> str:
    """How a committed run changed STS-B, with its interval."""
    changes = {comparison.key: comparison for comparison in Record.load(RECORDS / name).comparisons}
    change = changes["change/stsb/dev/spearman"]
    return f"{change.difference:+.2f} [{change.low:+.2f}, {change.high:+.2f}]"


def fall(kept: Reading) -> str:
    """A share kept as a relative change, with its interval."""
    return f"{kept.value - 1:+.1%} [{kept.low - 1:+.1%}, {kept.high - 1:+.1%}]"


def quickstart() -> str:
    """What the quickstart measures: before, the mean after it over seeds, and one seed on two kinds of processor."""
    found = [readings(name) for name in SEEDS]
    elsewhere = readings(ELSEWHERE)
    rows = []
    for key, digits in {"cced/embedded/gap": 4, "cced/winogender/gap": 4, **AVERAGES}.items():
        before, after = found[0][f"before/{key}"], [of_seed[f"after/{key}"] for of_seed in found]
        values = [reading.value for reading in after]
        spread = f"{fmean(values):.{digits}f} ({min(values):.{digits}f} to {max(values):.{digits}f})"
        both = f"{values[0]:.{digits}f}, {elsewhere[f'after/{key}'].value:.{digits}f}"
        rows.append([title(before), interval(before, digits), spread, both, str(before.n)])
    return markdown(["reading", "before", "after, mean of three seeds", "seed 42 on two processors", "n"], rows)


def linear() -> str:
    """The linear map on every encoder that has records: the mean of the original over seeds, and of what came after."""
    keys = {
        "cced/winogender/gap": 4,
        "cced/embedded/gap": 4,
        "seat/average/absolute_effect_size": 3,
        "bias_ir/average/deviation": 3,
        "stsb/dev/spearman": 2,
        "cced/winogender/direction_cosine": 3,
        "cced/winogender/direction_length_kept": 3,
    }
    folders = {folder.name: sorted(folder.iterdir()) for folder in sorted((RECORDS / "linear").iterdir())}
    header, rows = ["reading"], []
    found = {name: [readings(f"linear/{name}/{run.name}") for run in runs] for name, runs in folders.items()}
    for name, runs in found.items():
        header += [f"{name}: before", f"after, by seed ({len(runs)})", "change of the mean"]
    for key, digits in keys.items():
        cells = [title(next(iter(found.values()))[0][f"after/{key}"])]
        for runs in found.values():
            if f"before/{key}" not in runs[0]:
                cells += ["", ", ".join(f"{run[f'after/{key}'].value:.{digits}f}" for run in runs), ""]
                continue
            before, after = runs[0][f"before/{key}"].value, [run[f"after/{key}"].value for run in runs]
            change = fmean(after) - before
            relative = (
                f"{change / before:+.1%}" if "stsb" not in key and "bias_ir" not in key else f"{change:+.{digits}f}"
            )
            cells += [f"{before:.{digits}f}", ", ".join(f"{value:.{digits}f}" for value in after), relative]
        rows.append(cells)
    return markdown(header, rows)


def linear_tests() -> str:
    """Effect size of every association test before the linear map and after it, by seed."""
    rows = []
    for folder in sorted((RECORDS / "linear").iterdir()):
        runs = [readings(f"linear/{folder.name}/{run.name}") for run in sorted(folder.iterdir())]
        for test in ("6", "6b", "7", "7b", "8", "8b"):
            key = f"seat/{test}/effect_size"
            after = ", ".join(interval(run[f"after/{key}"], 2) for run in runs)
            rows.append([folder.name, test, interval(runs[0][f"before/{key}"], 2), after])
    return markdown(["encoder", "test", "before", "after, by seed"], rows)


def linear_retrieval() -> str:
    """How many queries of Bias-IR prefer the man's document, and the margin, with the linear map."""
    rows = []
    for folder in sorted((RECORDS / "linear").iterdir()):
        for run in sorted(folder.iterdir()):
            name = f"linear/{folder.name}/{run.name}"
            cells = [folder.name, run.name.removeprefix("seed_")]
            for phase in ("before", "after"):
                found = ratios_by_field(readings(name), phase)
                cells.append(f"{sum(one.value * one.n for one in found):.0f} of {sum(one.n for one in found)}")
            changes = {comparison.key: comparison for comparison in Record.load(RECORDS / name).comparisons}
            cells.append(
                f"{readings(name)['after/bias_ir/average/margin'].value:+.4f} (change p {changes[MARGIN].p:.3f})"
            )
            rows.append(cells)
    return markdown(["encoder", "seed", "men's document first, before", "after", "margin after"], rows)


def trials() -> str:
    """Readings on data for choosing, of every setting tried on the bench."""
    rows = []
    for one in tried("trials.jsonl"):
        setting = one["setting"] if "setting" in one else f"lean {one['lean']:g}, drift {one['drift']:.3g}"
        rows.append([one["encoder"], setting, str(one["short_groups"]), *bench_readings(one)])
    return markdown(["encoder", "setting", "short groups", *BENCH], rows)


def encoder_trials() -> str:
    """The same of encoders that were trained with options of CCD."""
    rows = []
    for one in tried("encoder_trials.jsonl"):
        options = f"neutral={one['neutral']}, alignment={one['alignment']:g}, more={','.join(one['more'])}"
        rows.append([one["encoder"], options, ", ".join(one["then"]) or "none", *bench_readings(one)])
    return markdown(["encoder", "CCD with", "then", *BENCH], rows)


BENCH = [f"gap, {name}" for name in ("pronouns", "clauses", "passages")]
BENCH += ["association", "lowest effect", "men's document first", "STS-B, training pairs"]


def tried(name: str) -> list[dict[str, Any]]:
    """Trials on the bench, in the order they were made."""
    lines = (FOLDER / "validation" / name).read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines]


def bench_readings(one: dict[str, Any]) -> list[str]:
    """What the bench reads, beside the original encoder."""
    return [
        *(f"{one[f'{name}_gap']:+.1f}%" for name in ("pronouns", "clauses", "passages")),
        f"{one['association_before']:.2f} to {one['association']:.2f}",
        f"{one['lowest_effect']:+.2f}",
        f"{one['male_first']:.2f}",
        f"{one['sts_train']:+.2f}",
    ]


def seeds() -> str:
    """The three seeds, one row each."""
    rows = []
    for name in SEEDS:
        found = readings(name)
        cells = [name.removeprefix("seed_")]
        for subset in SETS:
            place = f"cced/{subset}"
            relative = (
                found[f"after/{place}/gap_over_distance"].value / found[f"before/{place}/gap_over_distance"].value
            )
            cells += [
                f"{found[f'before/{place}/gap'].value:.4f}",
                f"{found[f'after/{place}/gap'].value:.4f}",
                fall(found[f"after/{place}/gap_kept"]),
                f"{relative - 1:+.1%}",
                f"{found[f'after/{place}/distance_kept'].value:.0%}",
            ]
        for key, digits in AVERAGES.items():
            cells.append(f"{found[f'before/{key}'].value:.{digits}f} to {found[f'after/{key}'].value:.{digits}f}")
        cells.append(sts_change(name))
        rows.append(cells)
    columns = ["gap before", "gap after", "fall of the gap", "gap over distance", "distance kept"]
    header = [
        "seed",
        *(f"{subset}: {column}" for subset in SETS for column in columns),
        *map(titled, AVERAGES),
        "STS-B change",
    ]
    # Transposed: many quantities, three seeds.
    return markdown(
        ["", *(f"seed {row[0]}" for row in rows)], [list(line) for line in zip(header, *rows, strict=True)][1:]
    )


def comparison(runs: dict[str, str]) -> str:
    """Runs that differ in one thing, one row each, by what they are called in the table."""
    rows = []
    for label, name in runs.items():
        found = readings(name)
        cells = [label]
        for subset in SETS:
            cells += [
                fall(found[f"after/cced/{subset}/gap_kept"]),
                f"{found[f'after/cced/{subset}/distance_kept'].value:.0%}",
            ]
        cells += [
            f"{found['after/cced/embedded/neutral_cosine'].value:.4f}",
            sts_change(name),
        ]
        rows.append(cells)
    columns = [f"{subset}: {column}" for subset in SETS for column in ("gap", "distance kept")]
    return markdown(["run", *columns, "cosine of neutral to original", "STS-B change"], rows)


def full() -> str:
    """Every headline reading of the run with all benchmarks, before and after, and whether it moved."""
    record = Record.load(RECORDS / "full")
    changes = {comparison.key.partition("/")[2]: comparison for comparison in record.comparisons}
    rows = []
    for row in record.table():
        if not {"before", "after"} <= set(row) or not row["after"].headline:
            continue
        before, after = row["before"], row["after"]
        change = changes[after.key.partition("/")[2]]
        rows.append(
            [
                title(after),
                significant(before),
                significant(after),
                f"{change.difference:+.3g} [{change.low:+.3g}, {change.high:+.3g}]",
                f"{change.p_holm:.2g}",
                ideal(after),
                str(after.n),
            ]
        )
    return markdown(["reading", "before", "after", "difference", "p, adjusted", "ideal", "n"], rows)


def published() -> str:
    """Table 6 of the paper, as printed."""
    table = yaml.safe_load((PUBLISHED / "ccd.yaml").read_text(encoding="utf-8"))["table_6"]
    rows = []
    for name, values in table["rows"].items():
        falls = [value / base - 1 for value, base in zip(values, table["rows"]["no debiasing"], strict=True)]
        rows.append([name, *(f"{value:.3f} ({change:+.0%})" for value, change in zip(values, falls, strict=True))])
    return markdown(["method", *(f"{column} (change, recomputed)" for column in table["columns"])], rows)


def provenance() -> str:
    """Revision, machine and time of the runs."""
    record = Record.load(RECORDS / "seed_42")
    facts = record.provenance
    hardware, versions = facts["hardware"], facts["versions"]
    return (
        f"Revision `{facts['revision']}`; {hardware['processor']}, {hardware['cores']} cores, no GPU; torch "
        f"{versions['torch']}, transformers {versions['transformers']}, lightning {versions['lightning']}; "
        f"{facts['wall_seconds']:.0f} s a run, {facts['throughput']['groups_per_second']:.0f} groups/s in training."
    )


STUDY = {
    "DPCE": "dpce",
    "ADEPT-F": "adept",
    "CDA": "cda",
    "SentenceDebias": "sentence_debias",
    "INLP": "inlp",
    "CCD (word swapping)": "ccd_cda",
    "CCD (rules)": "ccd_rules",
    "CCD (written versions)": "ccd",
}


def ratios_by_field(found: dict[str, Reading], phase: str) -> list[Reading]:
    """The share of queries that prefer a man's document, of each field of Bias-IR."""
    return [one for key, one in found.items() if re.fullmatch(rf"{phase}/bias_ir/(?!average/).*/male_ratio", key)]


def men_first(found: dict[str, Reading], phase: str) -> str:
    """The queries of Bias-IR, pooled over its fields, for which a man's document comes before a woman's."""
    ratios = ratios_by_field(found, phase)
    return f"{sum(one.value * one.n for one in ratios):.0f}"


def retrieval() -> str:
    """Which gender's document a search prefers, with its sign, seed by seed."""
    rows = []
    for label, run in STUDY.items():
        found = [readings(f"study/{run}/{seed}") for seed in SEEDS]
        changes = [
            next(one for one in Record.load(RECORDS / "study" / run / seed).comparisons if one.key == MARGIN)
            for seed in SEEDS
        ]
        moved = [f"{one.difference:+.4f} (p {one.p:.3f})" for one in changes]
        queries = sum(one.n for one in ratios_by_field(found[0], "after"))
        before = f"{men_first(found[0], 'before')} of {queries}"
        rows.append([label, before, ", ".join(men_first(one, "after") for one in found), ", ".join(moved)])
    return markdown(["method", "men's document first, before", "after, seed 42, 43, 44", "change of the margin"], rows)


def at_a_glance() -> str:
    """Every method of the study and the linear map: means over seeds of what each of the four goals is measured by."""
    runs = {label: [f"study/{run}/{seed}" for seed in SEEDS] for label, run in STUDY.items() if run != "adept"}
    for folder in sorted((RECORDS / "linear").iterdir()):
        runs[f"linear map, {folder.name}"] = [f"linear/{folder.name}/{seed}" for seed in SEEDS]
    rows = []
    for label, names in runs.items():
        found = [readings(name) for name in names]
        before, after = (
            {key: fmean(one[f"{phase}/{key}"].value for one in found) for key in GLANCE}
            for phase in ("before", "after")
        )
        first, second = list(GLANCE)[:2]
        rows.append(
            [
                label,
                f"{after[first] / before[first] - 1:+.0%}",
                f"{after[second] / before[second] - 1:+.0%}",
                f"{men_first(found[0], 'before')}: {', '.join(men_first(one, 'after') for one in found)}",
                f"{after[GLANCE[2]] - before[GLANCE[2]]:+.2f}",
            ]
        )
    return markdown(["method", "gap, Winogender", "SEAT", "men's document first: before, after", "STS-B"], rows)


def turns() -> str:
    """How far every method turned the direction between the genders, and what is left of its length."""
    rows = [
        [
            one["encoder"],
            one["method"],
            str(one["seed"]),
            f"{one['gap_kept'] - 1:+.1%}",
            f"{one['cosine']:.3f}",
            f"{one['length_kept']:.0%}",
        ]
        for one in points()
    ]
    return markdown(["encoder", "method", "seed", "gap, Winogender", "cosine to the original", "length kept"], rows)


def fine_tuned(runs: str = "records/finetuning") -> str:
    """Tasks fine-tuned on what each method left, a row for each method, and what the commonest label reaches."""
    table, rows = measured(FOLDER, "finetuning", runs)
    titles = [titled(column) for column in table.columns]
    lines = [
        [row.name, *(shown_cell(cell) for cell in of_row)]
        for row, of_row in zip(table.rows, rows, strict=True)
        if any(cell.value is not None for cell in of_row)
    ]
    if not lines:
        return "No run of this table is recorded yet."
    commonest = [commonest_label(table.rows[0].of(column), column, FOLDER / runs) for column in table.columns]
    return markdown(["method", *titles], [*lines, ["commonest label", *commonest]])


def commonest_label(run: str, column: str, runs: Path) -> str:
    """What the commonest label reaches, by the first record of a run; empty without one."""
    place, _, quantity = column.rpartition("/")
    key = f"after/{place}/majority" + ("" if quantity == "accuracy" else f"_{quantity}")
    for folder in sorted((runs / run).glob("seed_*")):
        return next((interval(one, 1) for one in Record.load(folder).readings if one.key == key), "")
    return ""


PAGES = {
    "docs/what_ccd_does.md": {"glance": at_a_glance, "turns": turns},
    "README.md": {"quickstart": quickstart},
    "experiments/ccd/README.md": {
        "seeds": seeds,
        "betas": lambda: comparison(BETAS),
        "augmentation": lambda: comparison(DATA),
        "full": full,
        "linear": linear,
        "linear_tests": linear_tests,
        "linear_retrieval": linear_retrieval,
        "trials": trials,
        "encoder_trials": encoder_trials,
        "published": published,
        "finetuning": fine_tuned,
        "study": lambda: matrix_table(FOLDER, "study", "records/study", all_seeds=True),
        "retrieval": retrieval,
        "provenance": provenance,
    },
}
