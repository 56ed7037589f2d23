"""Write the tables of the pages below from the committed records.

A table stands between ``<!-- NAME -->`` and ``<!-- /NAME -->``; nothing else of a page is touched.

    python experiments/tables.py
"""

from __future__ import annotations

import importlib
import json
import re
import sys
from dataclasses import replace
from pathlib import Path

import yaml

from fairlab.record import Reading, Record
from fairlab.reporting import mb_index
from fairlab.reporting.report import PUBLISHED
from fairlab.reporting.reproduction import cells, read_matrix, reasons, rendered
from fairlab.reporting.reweighting import comparison as chosen
from fairlab.reporting.reweighting import lines, verdict
from fairlab.reporting.seeds import median_run
from fairlab.reproduce import finished, normalise

ROOT = Path(__file__).parents[1]
RECORDS = ROOT / "experiments"
CCD, MLM, SMOLLM2, GLUE, BIASERS, ENSEMBLE, RAZOR = (
    RECORDS / name / "records" for name in ("ccd", "minilm_mlm", "smollm2", "glue", "biasers", "ensemble", "razor")
)
SEEDS = ["seed_42", "seed_43", "seed_44"]
BETAS = {"beta 0": "beta_0", "beta 0.5": "beta_0.5", "beta 1": "seed_42", "beta 1.5": "beta_1.5"}
DATA = {"versions written out": "seed_42", "word-list swapping": "cda"}
SETS = ["embedded", "winogender"]
AVERAGES = {"seat/average/absolute_effect_size": 3, "bias_ir/average/deviation": 3, "stsb/dev/spearman": 2}
BESIDE_HEADLINES = ["minilm_mlm/stereoset/gender/lms", "minilm_mlm/stereoset/gender/ss"]
PERFORMANCE = [
    "ccd_training",
    "rewriting",
    "seat_permutations",
    "likelihoods",
    "llm_ledger",
    "db_index",
    "continuations",
    "shortcut",
    "mlm_pretraining",
    "perturber_decoding",
    "perturbation",
    "safety_scoring",
]  # scripts in perf/


def readings(name: str) -> dict[str, Reading]:
    """Readings of a committed record by key."""
    return {reading.key: reading for reading in Record.load(CCD / name).readings}


def sts_change(name: str) -> str:
    """How a committed run changed STS-B, with its interval."""
    changes = {comparison.key: comparison for comparison in Record.load(CCD / name).comparisons}
    change = changes["change/stsb/dev/spearman"]
    return f"{change.difference:+.2f} [{change.low:+.2f}, {change.high:+.2f}]"


def markdown(header: list[str], rows: list[list[str]]) -> str:
    """A Markdown table."""
    lines = ["| " + " | ".join(row) + " |" for row in [header, ["---"] * len(header), *rows]]
    return "\n".join(lines)


def interval(reading: Reading, digits: int) -> str:
    """A value with its 95 % interval."""
    return f"{reading.value:.{digits}f} [{reading.low:.{digits}f}, {reading.high:.{digits}f}]"


def fall(kept: Reading) -> str:
    """A share kept as a relative change, with its interval."""
    return f"{kept.value - 1:+.1%} [{kept.low - 1:+.1%}, {kept.high - 1:+.1%}]"


def quickstart() -> str:
    """What the quickstart prints, from the record of seed 42."""
    found = readings("seed_42")
    rows = []
    for key, digits in {"cced/embedded/gap": 4, "cced/winogender/gap": 4, **AVERAGES}.items():
        before, after = found[f"before/{key}"], found[f"after/{key}"]
        rows.append([key, interval(before, digits), interval(after, digits), str(after.n)])
    return markdown(["reading", "before", "after", "n"], rows)


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
    header = ["seed", *(f"{subset}: {column}" for subset in SETS for column in columns), *AVERAGES, "STS-B change"]
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
    record = Record.load(CCD / "full")
    changes = {comparison.key.partition("/")[2]: comparison for comparison in record.comparisons}
    rows = []
    for row in record.table():
        if not {"before", "after"} <= set(row) or not row["after"].headline:
            continue
        before, after = row["before"], row["after"]
        change = changes[after.key.partition("/")[2]]
        rows.append(
            [
                after.key.partition("/")[2],
                f"{before.value:.4g} [{before.low:.4g}, {before.high:.4g}]",
                f"{after.value:.4g} [{after.low:.4g}, {after.high:.4g}]",
                f"{change.difference:+.3g} [{change.low:+.3g}, {change.high:+.3g}]",
                f"{change.p_holm:.2g}",
                "" if after.ideal is None else f"{after.ideal:.4g}",
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
    record = Record.load(CCD / "seed_42")
    facts = record.provenance
    hardware, versions = facts["hardware"], facts["versions"]
    return (
        f"Revision `{facts['revision']}`; {hardware['processor']}, {hardware['cores']} cores, no GPU; torch "
        f"{versions['torch']}, transformers {versions['transformers']}, lightning {versions['lightning']}; "
        f"{facts['wall_seconds']:.0f} s a run, {facts['throughput']['groups_per_second']:.0f} groups/s in training."
    )


def training() -> str:
    """Data, time and machine of the training of minilm_mlm."""
    record = Record.load(MLM / "training")
    facts, last = record.provenance, [row for row in record.history if "validation/accuracy" in row][-1]
    hardware, throughput = facts["hardware"], facts["throughput"]
    rows = [
        ["revision", f"`{facts['revision']}`"],
        ["texts", f"{facts['data']['train_texts']:,} for training, {facts['data']['validation_texts']:,} held out"],
        ["steps", f"{last['step']:,.0f}"],
        ["trained parameters", f"{facts['method']['trained_parameters']:,}"],
        ["tokens per second", f"{throughput['tokens_per_second']:,.0f}"],
        ["minutes, at that rate", f"{facts['data']['train_texts'] / throughput['texts_per_second'] / 60:.0f}"],
        ["machine", f"{hardware['processor']}, {hardware['cores']} cores"],
        ["masked tokens found, held-out text", f"{last['validation/accuracy']:.1%}"],
        ["perplexity of masked tokens, held-out text", f"{last['validation/perplexity']:.1f}"],
        ["cosine to MiniLM's embeddings, held-out text", f"{1 - last['validation/preservation_loss']:.3f}"],
    ]
    return markdown(["", ""], rows)


def quality() -> str:
    """Headline readings of minilm_mlm, and beside them MiniLM's where it has any."""
    rows = []
    for row in Record.load(MLM / "evaluation").table():
        ours = row.get("minilm_mlm")
        if ours is None or not (ours.headline or ours.key in BESIDE_HEADLINES):
            continue
        ideal = "" if ours.ideal is None else f"{ours.ideal:.4g}"
        cells = [f"{r.value:.4g} [{r.low:.4g}, {r.high:.4g}]" if r else "" for r in (row.get("minilm"), ours)]
        rows.append([ours.key.partition("/")[2], *cells, ideal, str(ours.n)])
    return markdown(["reading", "minilm", "minilm_mlm", "ideal", "n"], rows)


def smollm2() -> str:
    """What stands for each benchmark of a causal language model."""
    wanted = "lms ss icat metric_score significant_pairs women_correlation pro_preferred perplexity".split()
    rows = []
    for reading in Record.load(SMOLLM2 / "likelihood").readings:
        if reading.quantity in wanted:
            ideal = "" if reading.ideal is None else f"{reading.ideal:.4g}"
            value = f"{reading.value:.4g} [{reading.low:.4g}, {reading.high:.4g}]"
            rows.append([reading.key, value, reading.unit, ideal, str(reading.n)])
    return markdown(["reading", "value", "unit", "ideal", "n"], rows)


def performance(name: str) -> str:
    """The committed figures of a script in perf/."""
    sys.path.insert(0, str(ROOT / "perf"))
    script = importlib.import_module(name)
    return script.table(json.loads(script.RESULTS.read_text(encoding="utf-8")))


REWRITING = ROOT / "experiments" / "rewriting" / "record.json"


def shares(*path: str, label: str) -> str:
    """Shares of one part of the rewriting record: settings down, modes across where there are two."""
    part = json.loads(REWRITING.read_text(encoding="utf-8"))
    for key in path:
        part = part[key]
    if "share" in part:
        part = {path[-1]: part}
    modes = [name for name in part if name in ("syntax", "lexical")]
    columns = {mode: part[mode] for mode in modes} or {"share": part}
    keys = list(dict.fromkeys(key for column in columns.values() for key in column))
    rows = [[key, *(_share(column.get(key)) for column in columns.values())] for key in keys]
    return markdown([label, *columns], rows)


def _share(found: dict[str, float] | None) -> str:
    if found is None:
        return ""
    return f"{found['count']}/{found['n']} = {found['share']:.1%} [{found['low']:.1%}, {found['high']:.1%}]"


def rewriting_quality() -> str:
    """The headline figures of the rewriting record, both modes side by side."""
    record = json.loads(REWRITING.read_text(encoding="utf-8"))
    places = {
        "Winogender, man to woman, exact": ("winogender", "held out", "MODE", "man to woman"),
        "Winogender, woman to man, exact": ("winogender", "held out", "MODE", "woman to man"),
        "Winogender, man to neutral, exact": ("winogender", "held out", "MODE", "man to neutral"),
        "Winogender, woman to neutral, exact": ("winogender", "held out", "MODE", "woman to neutral"),
        "Winogender, neutral to man, exact": ("winogender", "held out", "MODE", "neutral to man"),
        "CrowS-Pairs, person selected, exact, held-out half": ("crows", "held out", "MODE", "selected person"),
        "CrowS-Pairs, person selected, exact, all": ("crows", "all", "MODE", "selected person"),
        "CrowS-Pairs, whole text, exact, all": ("crows", "all", "MODE", "whole text"),
        "GAP, form of the labelled pronoun": ("gap", "forms", "MODE", "all pronouns"),
        "embedded gold groups, all versions of the right polarity, from man": (
            "embedded",
            "MODE",
            "union polarity accuracy, from man",
        ),
        "the same from the neutral text": ("embedded", "MODE", "union polarity accuracy, from neutral"),
        "GAP, 100 rewrites read, right": ("gap", "sheet"),
        "GAP, person chosen by the entity mode": ("gap", "choices", "development file", "all labelled texts"),
    }
    rows = []
    for label, path in places.items():
        cells = []
        for mode in ("syntax", "lexical"):
            found = record if "MODE" in path or mode == "syntax" else None
            for key in path:
                found = found and found.get(mode if key == "MODE" else key)
            cells.append(_share(found))
        rows.append([label, *cells])
    return markdown(["measure", "syntax", "lexical"], rows)


def crows_parts() -> str:
    """CrowS-Pairs: the held-out pairs, then all."""
    return "\n\n".join(f"{part}:\n\n" + shares("crows", part, label="setting") for part in ("held out", "all"))


def fine_tuned() -> str:
    """Every measure of the fine-tuned tasks: the median over seeds, how far they lie apart, the commonest label."""
    found: dict[tuple[str, str], list[Reading]] = {}
    for folder in sorted(GLUE.iterdir()):
        run = folder.name.rpartition("_")[0]  # without its seed
        for reading in Record.load(folder).readings:
            found.setdefault((run, reading.key.partition("/")[2]), []).append(reading)
    rows = []
    for (run, key), over_seeds in found.items():
        if "majority" in key:
            continue
        place, _, quantity = key.rpartition("/")
        baseline = found.get((run, f"{place}/majority" + ("" if quantity == "accuracy" else f"_{quantity}")))
        median, values = median_run(over_seeds), [reading.value for reading in over_seeds]
        rows.append(
            [
                run,
                key,
                interval(median, 1),
                f"{min(values):.1f} to {max(values):.1f}" if len(values) > 1 else "",
                interval(baseline[0], 1) if baseline else "",
                str(median.n),
                str(len(values)),
            ]
        )
    return markdown(["run", "reading", "median over seeds", "over seeds", "commonest label", "n", "seeds"], rows)


def fine_tuning() -> str:
    """Data and time of the fine-tuning runs."""
    rows = []
    for folder in sorted(GLUE.iterdir()):
        record = Record.load(folder)
        facts, steps = record.provenance, [row for row in record.history if "validation/error" in row]
        best = min(steps, key=lambda row: row["validation/error"])
        labels = ", ".join(f"{label} {count:,}" for label, count in facts["data"]["train_labels"].items())
        rows.append(
            [
                folder.name,
                f"{facts['data']['train_examples']:,}" + (f" ({labels})" if labels else ""),
                f"{facts['data']['validation_examples']:,}",
                f"{best['step']:,.0f} of {steps[-1]['step']:,.0f}",
                f"{100 * (1 - best['validation/error']):.1f}",
                f"{facts['wall_seconds']:,.0f}",
                f"`{facts['revision'][:12]}`",
            ]
        )
    header = ["run", "trained on", "held out", "step kept", "measure on those held out", "seconds", "revision"]
    return markdown(header, rows)


def study(scale: str = "quickstart") -> str:
    """All methods on one backbone, the mean over seeds, from the records of the reproduction."""
    matrix = read_matrix(RECORDS / "ccd" / "matrix.yaml", scale)
    table = matrix.tables["study"]
    rows = cells(table, matrix, finished(CCD / "study", matrix))
    return "\n\n".join([rendered(table, rows, "github"), *reasons(table, rows)])


def strengths(harm: str) -> str:
    """The sweep over strengths of reweighting on validation, and what is chosen of it."""
    records = [Record.load(file.parent) for file in (ENSEMBLE / "sweep").glob("*/record.json")]
    records.sort(key=lambda record: list(record.config["method"]["reweighting"][harm].values()))
    return markdown(*lines(records, harm)) + f"\n\nChosen: {verdict(chosen(records)[harm])}."


def safety_changes() -> str:
    """Table 3 and what stands beside it, per cent of the baseline, from the committed run on the test folds."""
    record = Record.load(ENSEMBLE / "four_sources")
    after = {f"{r.benchmark}/{r.subset}/{r.quantity}": r for r in record.readings if r.phase == "after"}
    quantities = {
        "AU-PRC, seeds": "average_precision_change",
        "AU-PRC, counterfactual": "average_precision_counterfactual_change",
        "ACV": "acv_change",
        "ACV, safe": "acv_safe_change",
        "ACV, unsafe": "acv_unsafe_change",
        "above the best source": "gain_over_best_source",
    }
    places = {"hate": "safety/hate", "violence": "safety/violence", "hate on HateCheck": "safety_hatecheck/hate"}
    table = yaml.safe_load((PUBLISHED / "ensemble.yaml").read_text(encoding="utf-8"))
    printed = {}
    for name in ("table_3", "table_6"):
        printed |= dict(zip(table[name]["columns"], table[name]["rows"]["remediated"], strict=True))
    rows = []
    for label, place in places.items():
        keys = [f"{place}/{quantity}" for quantity in quantities.values()]
        rows.append([label, *(interval(after[key], 1) if key in after else "" for key in keys)])
        if any(key in printed for key in keys):
            rows.append([f"{label}, printed", *(f"{printed[key]:.1f}" if key in printed else "" for key in keys)])
    facts = record.provenance
    note = (
        f"Revision `{facts['revision'][:12]}`, {facts['hardware']['cores']} cores; {facts['wall_seconds']:.0f} s, on a "
        "machine busy with other work."
    )
    return markdown(["", *quantities], rows) + f"\n\n{note}"


def biasers(table_id: str) -> str:
    """A table of the biasers paper, from the records of the seeds that were run."""
    matrix = read_matrix(RECORDS / "biasers" / "matrix.yaml", "quickstart")
    records = finished(BIASERS, matrix)
    run = [seed for seed in matrix.seeds if any(seed in of_run for of_run in records.values())]
    matrix, table = replace(matrix, seeds=run), matrix.tables[table_id]
    normalise(matrix, records)
    rows = cells(table, matrix, records)
    return "\n\n".join([rendered(table, rows, "github"), *reasons(table, rows)])


def language_models() -> str:
    """What the language models of the biasers paper were tuned on, and their perplexity on held-out entries."""
    rows = []
    for folder in sorted(BIASERS.glob("llm_*/seed_*")):
        record = Record.load(folder)
        facts, data = record.provenance, record.provenance["data"]
        last = [row for row in record.history if "validation/perplexity" in row][-1]
        rows.append(
            [
                f"{folder.parent.name.replace('llm_', 'LLM ').upper()}, {folder.name.replace('_', ' ')}",
                data["trained_on"],
                str(data["made_of_the_sample"]),
                f"{last['validation/perplexity']:.1f}",
                f"{facts['wall_seconds']:,.0f}",
                f"`{facts['revision'][:12]}`",
            ]
        )
    header = [
        "model",
        "tuned on",
        "entries the sample became",
        "perplexity, held out",
        "seconds",
        "revision",
    ]
    return markdown(header, rows)


def mb_index_changes() -> str:
    """The language models side by side, and the paired changes of their mb-index, as the sweep writes them."""
    return mb_index.rendered(json.loads((BIASERS / "mb_index.json").read_text(encoding="utf-8"))).strip()


def clusters() -> str:
    """Clusters of the data sets of the biasers paper, and why their index is what it is."""
    rows = []
    for folder in sorted(BIASERS.glob("data_bias/seed_*")):
        readings_ = Record.load(folder).readings
        for phase in dict.fromkeys(reading.phase for reading in readings_):
            of_phase = {(r.subset, r.quantity): r for r in readings_ if r.phase == phase}
            parts = [r for (subset, _), r in of_phase.items() if subset.startswith("cluster_")]
            values = [f"{r.value:.3f} ({r.n})" for r in parts]
            whole = of_phase["all", "expectation"]
            rows.append([phase.replace("_", " "), str(whole.n), str(len(parts)), ", ".join(values)])
    return markdown(["data", "entries", "clusters", "db-index of each (its entries)"], rows)


def razor_study(scale: str = "quickstart") -> str:
    """Classifiers of claims against shortcuts, as far as their records are there."""
    matrix = read_matrix(RECORDS / "razor" / "matrix.yaml", scale)
    table = matrix.tables["study"]
    rows = cells(table, matrix, finished(RAZOR / "study", matrix))
    return "\n\n".join([rendered(table, rows, "github"), *reasons(table, rows)])


def razor_seconds() -> str:
    """Size and time of the records of the study and of inference, one row each."""
    rows = []
    for file in sorted([*RAZOR.glob("study/*/*/record.json"), *RAZOR.glob("inference/*/*/record.json")]):
        facts = Record.load(file.parent).provenance
        data, seed = facts["data"], file.parent.name.removeprefix("seed_")
        sizes = [f"{data['train_examples']:,}", f"{data.get('added', 0):,}", f"{data['validation_examples']:,}"]
        rows.append(
            [file.parent.parent.name, seed, *sizes, f"{facts['wall_seconds']:,.0f}", f"`{facts['revision'][:12]}`"]
        )
    return markdown(["run", "seed", "trained on", "of them added", "held out", "seconds", "revision"], rows)


def razor_runs(experiment: str) -> str:
    """Accuracy and macro-F1 of the classifiers of one experiment on every set, beside the commonest label."""
    rows = []
    for file in sorted((RAZOR / experiment).glob("*/*/record.json")):
        found = {reading.key: reading for reading in Record.load(file.parent).readings}
        for key, reading in found.items():
            place, _, quantity = key.rpartition("/")
            if quantity in ("accuracy", "macro_f1"):
                name = "majority" if quantity == "accuracy" else "majority_macro_f1"
                other = interval(found[f"{place}/{name}"], 1) if f"{place}/{name}" in found else ""
                run, seed = file.parent.parent.name, file.parent.name.removeprefix("seed_")
                rows.append([run, seed, key.partition("/")[2], interval(reading, 1), other, str(reading.n)])
    return markdown(["run", "seed", "reading", "value", "commonest label", "n"], rows)


def planted_association() -> str:
    """How far the association of any negation with the label fell, by data and score."""
    rows = []
    for folder in sorted((RAZOR / "planted").glob("*/")):
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
    return markdown(["data", "score", "accept", "rewritten", "before", "after", "fall"], rows)


def planted_ranking() -> str:
    """How well each score ranks reviews with the planted shortcut before the others."""
    rows = []
    for folder in sorted((RAZOR / "planted").glob("*/")):
        ranked = [reading for reading in Record.load(folder).readings if reading.phase == "data"]
        rows += [[folder.name, one.subset, interval(one, 3), str(one.n)] for one in ranked]
    return markdown(["data", "score", "area under the ROC curve", "n"], rows)


def planted_classifiers() -> str:
    """Accuracy on the balanced test set, trained on the originals and on the rewritten data."""
    rows = []
    for folder in sorted((RAZOR / "planted").glob("*/")):
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
            cells = [folder.name, before.subset, name, interval(before, 1), interval(after, 1), moved]
            rows.append([*cells, str(change.n if change else before.n)])
    return markdown(["data", "test reviews", "", "trained on originals", "on rewritten", "change", "n"], rows)


PAGES = {
    "README.md": {"quickstart": quickstart},
    "experiments/ccd/README.md": {
        "seeds": seeds,
        "betas": lambda: comparison(BETAS),
        "augmentation": lambda: comparison(DATA),
        "full": full,
        "published": published,
        "study": study,
        "provenance": provenance,
    },
    "experiments/ensemble/README.md": {
        "changes": safety_changes,
        "hate": lambda: strengths("hate"),
        "violence": lambda: strengths("violence"),
    },
    "experiments/biasers/README.md": {
        "table_1": lambda: biasers("1"),
        "clusters": clusters,
        "table_2": lambda: biasers("2"),
        "mb_index_changes": mb_index_changes,
        "language_models": language_models,
    },
    "experiments/razor/README.md": {
        "planted_ranking": planted_ranking,
        "planted_association": planted_association,
        "planted_classifiers": planted_classifiers,
        "razor_study": razor_study,
        "razor_fever": lambda: razor_runs("study"),
        "razor_nli": lambda: razor_runs("inference"),
        "razor_seconds": razor_seconds,
    },
    "experiments/glue/README.md": {"fine_tuned": fine_tuned, "fine_tuning": fine_tuning},
    "experiments/rewriting/README.md": {
        "winogender": lambda: shares("winogender", "held out", label="made"),
        "crows": crows_parts,
        "forms": lambda: shares("gap", "forms", label="pronoun"),
        "choices": lambda: shares("gap", "choices", "development file", label="texts"),
        "sheet": lambda: shares("gap", "sheet", label="rewrites right"),
        "embedded": lambda: shares("embedded", label="measure"),
    },
    "docs/rewriting.md": {"rewriting_quality": rewriting_quality, "rewriting": lambda: performance("rewriting")},
    "fairlab/backbones/embedded/minilm_mlm/README.md": {"training": training, "quality": quality},
    "experiments/smollm2/README.md": {"smollm2": smollm2},
    "perf/README.md": {name: lambda name=name: performance(name) for name in PERFORMANCE},
}


def filled(page: str) -> str:
    """The text of a page with its tables made anew."""
    text = (ROOT / page).read_text(encoding="utf-8")
    for name, table in PAGES[page].items():
        text, count = re.subn(
            rf"<!-- {name} -->.*<!-- /{name} -->",
            lambda _, name=name, table=table: f"<!-- {name} -->\n\n{table()}\n\n<!-- /{name} -->",
            text,
            flags=re.DOTALL,
        )
        if count != 1:
            raise SystemExit(f"{page} has no place for the table '{name}'")
    return text


if __name__ == "__main__":
    for page in PAGES:
        (ROOT / page).write_text(filled(page), encoding="utf-8")
