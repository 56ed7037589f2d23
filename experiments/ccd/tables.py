"""Tables for the CCD pages."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from statistics import fmean, median
from typing import Any

import yaml

from experiments.ccd import composed, second, second_results
from experiments.ccd.composed import GAP, MARGIN, SEAT, STS, called, change, men_first
from experiments.rendering import ideal, interval, markdown, matrix_table, measured, significant
from fairlab.record import Reading, Record
from fairlab.reporting.headlines import title, titled
from fairlab.reporting.many_runs.matrix_form import PUBLISHED
from fairlab.reporting.many_runs.reproduction import shown_cell

FOLDER = Path(__file__).parent
RECORDS = FOLDER / "records"
SEEDS = ["seed_42", "seed_43", "seed_44"]
ELSEWHERE = "seed_42_elsewhere"  # the same run on a processor that sums in a different order
BETAS = {"beta 0": "beta_0", "beta 0.5": "beta_0.5", "beta 1": "seed_42", "beta 1.5": "beta_1.5"}
DATA = {"versions written out": "seed_42", "word-list swapping": "cda"}
SETS = ["embedded", "winogender"]
AVERAGES = {"seat/average/absolute_effect_size": 3, "bias_ir/average/deviation": 3, "stsb/dev/spearman": 2}


def readings(name: str) -> dict[str, Reading]:
    """Return the readings of a committed record, by key."""
    return composed.readings(RECORDS / name)


def sts_change(name: str) -> str:
    """Return a committed run's change on STS-B, with its interval."""
    changes = {comparison.key: comparison for comparison in Record.load(RECORDS / name).comparisons}
    change = changes["change/stsb/dev/spearman"]
    return f"{change.difference:+.2f} [{change.low:+.2f}, {change.high:+.2f}]"


def fall(kept: Reading) -> str:
    """Format a remaining share as a relative change, with its interval."""
    return f"{kept.value - 1:+.1%} [{kept.low - 1:+.1%}, {kept.high - 1:+.1%}]"


def quickstart() -> str:
    """Return a table of quickstart readings: before, mean over seeds after, and one seed on two processors."""
    found = [readings(name) for name in SEEDS]
    elsewhere = readings(ELSEWHERE)
    rows = []
    for key, digits in {"cced/embedded/gap": 4, "cced/winogender/gap": 4, **AVERAGES}.items():
        before, after = found[0][f"before/{key}"], [of_seed[f"after/{key}"] for of_seed in found]
        values = [reading.value for reading in after]
        spread = f"{fmean(values):.{digits}f} ({min(values):.{digits}f} to {max(values):.{digits}f})"
        both = f"{values[0]:.{digits}f}, {elsewhere[f'after/{key}'].value:.{digits}f}"
        rows.append([title(before), interval(before, digits), spread, both, str(before.n)])
    return markdown(["result", "before", "after, mean of three seeds", "after, seed 42 on two processors", "n"], rows)


def trials() -> str:
    """Return a table of validation readings for every setting of the linear map that was tried."""
    rows = []
    for one in tried("trials.jsonl.gz"):
        setting = one["setting"] if "setting" in one else f"lean {one['lean']:g}, drift {one['drift']:.3g}"
        rows.append([one["encoder"], setting, str(one["short_groups"]), *bench_readings(one)])
    return markdown(["encoder", "setting", "short groups used", *BENCH], rows)


def encoder_trials() -> str:
    """Return a table of validation readings for trained encoders, most of them trained with options of CCD."""
    rows = [
        [one["encoder"], trained_by(one), ", ".join(map(follower, one["then"])) or "none", *bench_readings(one)]
        for one in tried("encoder_trials.jsonl.gz")
    ]
    return markdown(["encoder", "trained with", "followed by", *BENCH], rows)


def trained_by(one: dict[str, Any]) -> str:
    """Return the methods that trained a trial's encoder, in order, with the options of CCD."""
    *earlier, last = one.get("methods", ["CCD"])
    if last == "CCD":
        others = f", others={one['others']:g}" if one.get("others", 1) != 1 else ""
        last = f"CCD, neutral={one['neutral']}{others}, alignment={one['alignment']:g}, more={','.join(one['more'])}"
    return "; then ".join([*earlier, last])


def follower(one: str | dict[str, Any]) -> str:
    """Return the name of a following method, with its settings."""
    if isinstance(one, str):
        return one
    ((name, settings),) = one.items()
    return f"{name} with {', '.join(f'{key} {value:g}' for key, value in settings.items())}"


def lean_trials() -> str:
    """Return a table of the lowest association for each way of removing lean.

    Only settings that lose at most half a point on STS-B are considered. :mod:`fairlab.methods.ccd_linear` defines
    lean.
    """
    ways = {
        "one direction per kind": lambda one: one["directions_a_kind"] == 1 and not isinstance(one["lean"], dict),
        "2 to 10 directions per kind": lambda one: one["directions_a_kind"] > 1,
        "a separate share for each kind": lambda one: isinstance(one["lean"], dict),
    }
    found = tried("lean_trials.jsonl.gz")
    rows = []
    for encoder in dict.fromkeys(one["encoder"] for one in found):
        for way, is_so in ways.items():
            tested = [one for one in found if one["encoder"] == encoder and is_so(one)]
            best = min((one for one in tested if one["sts_train"] >= -0.5), key=lambda one: one["association"])
            names = fmean(abs(value) for name, value in best["effects"].items() if "names" in name)
            cells = [f"{best['association_before']:.2f} to {best['association']:.2f}", f"{names:.2f}"]
            cells += [f"{best['lowest_effect']:+.2f}", f"{best['male_first']:.2f}", f"{best['sts_train']:+.2f}"]
            rows.append([encoder, way, str(len(tested)), *cells])
    header = [
        "encoder",
        "lean is removed along",
        "settings tried",
        "lowest association",
        "association of names",
        "lowest effect",
    ]
    return markdown([*header, "men's document first", "change on STS-B, training pairs"], rows)


BENCH = [f"change in the gap, {name}" for name in ("pronouns", "clauses", "passages")]
BENCH += ["association", "lowest effect", "men's document first", "change on STS-B, training pairs"]


def tried(name: str) -> list[dict[str, Any]]:
    """Load the trials on the validation bench, in the order in which they were made."""
    text = gzip.decompress((FOLDER / "validation" / name).read_bytes()).decode()
    return [json.loads(line) for line in text.splitlines()]


def bench_readings(one: dict[str, Any]) -> list[str]:
    """Format the validation readings of a trial, relative to the original encoder."""
    return [
        *(f"{one[f'{name}_gap']:+.1f}%" for name in ("pronouns", "clauses", "passages")),
        f"{one['association_before']:.2f} to {one['association']:.2f}",
        f"{one['lowest_effect']:+.2f}",
        f"{one['male_first']:.2f}",
        f"{one['sts_train']:+.2f}",
    ]


def seeds() -> str:
    """Return a table of the three seeds, with one column per seed."""
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
    columns = ["gap before", "gap after", "change in the gap", "change in gap over distance", "distance kept"]
    header = [
        "seed",
        *(f"{subset}: {column}" for subset in SETS for column in columns),
        *map(titled, AVERAGES),
        "change on STS-B",
    ]
    # Transposed: many quantities, three seeds.
    return markdown(
        ["", *(f"seed {row[0]}" for row in rows)], [list(line) for line in zip(header, *rows, strict=True)][1:]
    )


def comparison(runs: dict[str, str]) -> str:
    """Return a table of runs that differ in one setting, with one row per run."""
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
    columns = [f"{subset}: {column}" for subset in SETS for column in ("change in the gap", "distance kept")]
    return markdown(["run", *columns, "cosine of neutral and original embeddings", "change on STS-B"], rows)


def full() -> str:
    """Return a table of all headline readings of the run with all benchmarks, before and after, with changes."""
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
    return markdown(["result", "before", "after", "difference", "p, adjusted", "ideal", "n"], rows)


def published() -> str:
    """Return table 6 of the paper as printed, with recomputed changes."""
    table = yaml.safe_load((PUBLISHED / "ccd.yaml").read_text(encoding="utf-8"))["table_6"]
    rows = []
    for name, values in table["rows"].items():
        falls = [value / base - 1 for value, base in zip(values, table["rows"]["no debiasing"], strict=True)]
        rows.append([name, *(f"{value:.3f} ({change:+.0%})" for value, change in zip(values, falls, strict=True))])
    return markdown(["method", *(f"{column} (change, recomputed)" for column in table["columns"])], rows)


def provenance() -> str:
    """Return the revision, machine and running time of the runs."""
    record = Record.load(RECORDS / "seed_42")
    facts = record.provenance
    hardware, versions = facts["hardware"], facts["versions"]
    return (
        f"Revision `{facts['revision']}`; {hardware['processor']}, {hardware['cores']} cores, no GPU; torch "
        f"{versions['torch']}, transformers {versions['transformers']}, lightning {versions['lightning']}; "
        f"{facts['wall_seconds']:.0f} s per run, {facts['throughput']['groups_per_second']:.0f} groups/s in training."
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


def retrieval() -> str:
    """Return a table of searches that prefer men's documents, with the change of the margin, per seed."""
    rows = []
    for label, run in STUDY.items():
        found = [readings(f"study/{run}/{seed}") for seed in SEEDS]
        changes = [
            next(one for one in Record.load(RECORDS / "study" / run / seed).comparisons if one.key == MARGIN)
            for seed in SEEDS
        ]
        moved = [f"{one.difference:+.4f} (p {one.p:.3f})" for one in changes]
        before = " of ".join(map(str, men_first(found[0], "before")))
        rows.append([label, before, ", ".join(str(men_first(one)[0]) for one in found), ", ".join(moved)])
    return markdown(
        ["method", "men's document first, before", "after, seeds 42, 43, 44", "change of the margin for each seed"],
        rows,
    )


def at_a_glance() -> str:
    """Return an overview of the study's methods and the compared combinations, with means over seeds."""
    shown = [
        ["minilm_mlm", label, [readings(f"study/{run}/{seed}") for seed in SEEDS]]
        for label, run in STUDY.items()
        if run != "adept"
    ]
    shown += [[encoder, called(method, then), runs] for encoder, method, then, runs in composed.compared()]
    rows = []
    for encoder, label, runs in shown:
        (gap, gap_now), (seat, seat_now), (sts, sts_now) = (change(runs, key) for key in (GAP, SEAT, STS))
        first = ", ".join(str(men_first(run)[0]) for run in runs)
        rows.append(
            [
                encoder,
                label,
                f"{gap_now / gap - 1:+.0%}",
                f"{seat_now / seat - 1:+.0%}",
                f"{men_first(runs[0], 'before')[0]}: {first}",
                f"{sts_now - sts:+.2f}",
            ]
        )
    header = ["encoder", "method", "change in the gap, Winogender", "change in SEAT"]
    header += ["men's document first, before: after for each seed", "change on STS-B, points"]
    return markdown(header, rows)


def fine_tuned(runs: str = "records/finetuning") -> str:
    """Return a table of tasks fine-tuned after each method, with the majority-class baseline."""
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


def hours() -> str:
    """Return a table of recorded running times for each part of the study."""
    parts = {
        "`table=study`, all methods on MiniLM": [Record.load(run) for run in RECORDS.glob("study/*/seed_*")],
        "training runs of `table=encoders` and on more groups": [
            Record.load(run) for run in (RECORDS / "composed").glob("*/*/none/seed_*")
        ],
        "`table=finetuning`": [Record.load(run) for run in RECORDS.glob("finetuning/*/seed_*")],
    }
    rows = []
    for part, records in parts.items():
        seconds = [one.provenance.get("training", one.provenance)["wall_seconds"] for one in records]
        rows.append([part, str(len(seconds)), f"{sum(seconds) / 3600:.1f}", f"{median(seconds) / 60:.0f}"])
    return markdown(["part", "recorded runs", "total hours", "median minutes per run"], rows)


def commonest_label(run: str, column: str, runs: Path) -> str:
    """Return the majority-class baseline from the first record of a run, or an empty text without a record."""
    place, _, quantity = column.rpartition("/")
    key = f"after/{place}/majority" + ("" if quantity == "accuracy" else f"_{quantity}")
    for folder in sorted((runs / run).glob("seed_*")):
        return next((interval(one, 1) for one in Record.load(folder).readings if one.key == key), "")
    return ""


PAGES = {
    "docs/what_ccd_does.md": {"glance": at_a_glance, "turns": composed.turns},
    "docs/ccd.md": {"quickstart": quickstart},
    "experiments/ccd/second_study.md": {
        "leaders": second.leaders,
        "every_trial": second.every,
        **{name: lambda name=name: second_results.kept()[name] for name in second_results.TABLES},
    },
    "experiments/ccd/README.md": {
        "seeds": seeds,
        "betas": lambda: comparison(BETAS),
        "augmentation": lambda: comparison(DATA),
        "full": full,
        "composed": composed.composed,
        "composed_tests": composed.by_test,
        "composed_searches": composed.searches,
        "sizes": composed.sizes,
        "trials": trials,
        "encoder_trials": encoder_trials,
        "lean_trials": lean_trials,
        "published": published,
        "finetuning": fine_tuned,
        "hours": hours,
        "study": lambda: matrix_table(FOLDER, "study", "records/study", all_seeds=True),
        "retrieval": retrieval,
        "provenance": provenance,
    },
}
