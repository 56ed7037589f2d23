"""Tables of the study: accuracy of each method, and its difference from training on the original pairs."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from statistics import fmean, stdev

from experiments.over_seeds import p_over_seeds
from experiments.rendering import interval, markdown
from experiments.shared.power import detectable_mean
from fairlab.record import Record
from fairlab.reporting.many_runs.reproduction import read_matrix
from fairlab.reporting.tables.marks import marked, marks_of_runs

FOLDER = Path(__file__).parent
RUNS = FOLDER / "records" / "claims"
SHORT = RUNS.with_name("claims_200_steps")
AGAIN = RUNS.with_name("claims_float32")  # repetitions in float32 of runs made in bfloat16
SUBTRACTED = "claims_clever"  # validated before the subtraction, so its in-domain accuracy is unknown
REFERENCES = {600: "claims_original", 1200: "claims_original_long"}  # runs on the original pairs, by number of steps
REFERENCE = REFERENCES[600]
ON_MPNET = "claims_mpnet_original"
ORIGINALS = (*REFERENCES.values(), ON_MPNET)
PAIRED = ("paired_float32", "paired_aflite_symmetric", "paired", "paired_long", "paired_mpnet")
IN_DOMAIN = "held-out pairs"
TEST_SETS = {
    "after/fever_symmetric/test/accuracy": "FEVER-Symmetric v0.2",
    "after/fever_symmetric_v01/full/accuracy": "FEVER-Symmetric v0.1",
    "after/vitaminc_two_way/test/accuracy": "VitaminC",
    "after/mnli_two_way/dev/accuracy": "MNLI, two labels",
}
VARIANTS = {
    "evidence": "its evidence",
    "other_evidence": "another pair's evidence",
    "no_evidence": "no evidence",
}
DRAWS = {"claims_razor_rules": "claims_razor_chance", "claims_razor_rules_again": "claims_razor_chance_again"}
Accuracies = dict[int, float]  # by seed


@cache
def runs_of(run: str, runs: Path = RUNS) -> dict[int, Record]:
    """Return the records of a method's runs, by seed."""
    folders = {
        int(one.parent.name.removeprefix("seed_")): one.parent for one in runs.glob(f"{run}/seed_*/record.json*")
    }
    return {seed: Record.load(folder) for seed, folder in sorted(folders.items())}


def in_domain(record: Record) -> float:
    """Return the accuracy on the held-out pairs in per cent.

    The accuracy is the best of all validations, because the weights of this validation were kept.
    """
    return 100 * max(row["validation/accuracy"] for row in record.history if "validation/accuracy" in row)


def accuracies(run: str, key: str, runs: Path = RUNS) -> Accuracies:
    """Return the accuracy in per cent on a test set or on the held-out pairs, by seed.

    CLEVER has no accuracy on the held-out pairs.
    """
    records = runs_of(run, runs)
    if key == IN_DOMAIN:
        return {} if run == SUBTRACTED else {seed: in_domain(record) for seed, record in records.items()}
    return {seed: record.metrics()[key] for seed, record in records.items()}


def names(table: str = "study") -> dict[str, str]:
    """Return the names of a table's methods by run id, with the original pairs first."""
    return {row.run: row.name for row in read_matrix(FOLDER / "matrix.yaml", "quickstart").tables[table].rows}


def methods(table: str = "study") -> dict[str, str]:
    """Return the names of a table's methods that have runs, by run id."""
    return {run: name for run, name in names(table).items() if runs_of(run)}


def reference_of(record: Record) -> str:
    """Return the id of the run on the original pairs with the same encoder and number of steps."""
    on_mpnet = "mpnet" in record.config["backbone"]["name"]
    return ON_MPNET if on_mpnet else REFERENCES[record.config["method"]["steps"]]


def changes(run: str, key: str, reference: str = "") -> Accuracies:
    """Return, by seed, the difference in accuracy from the reference run with the same seed and precision.

    The default reference is that of :func:`reference_of`.
    """
    reference = reference or reference_of(next(iter(runs_of(run).values())))
    own, others = by_precision(run, key), by_precision(reference, key, AGAIN) | by_precision(reference, key)
    return {place[0]: value - others[place] for place, value in own.items() if place in others}


def by_precision(run: str, key: str, runs: Path = RUNS) -> dict[tuple[int, str], float]:
    """Return the accuracy in per cent, by seed and training precision."""
    records = runs_of(run, runs)
    found = accuracies(run, key, runs)
    return {(seed, records[seed].config["trainer"]["precision"]): value for seed, value in found.items()}


def spread_of(run: str, runs: Path = RUNS) -> list[str]:
    """Return the mean and standard deviation over seeds, on the held-out pairs and on each test set."""
    of_sets = (list(accuracies(run, key, runs).values()) for key in (IN_DOMAIN, *TEST_SETS))
    return [(f"{fmean(one):.1f}" if one else "") + (f" ± {stdev(one):.1f}" if len(one) > 1 else "") for one in of_sets]


def longer() -> str:
    """Return a table of the accuracy on the original pairs after fewer and more training steps."""
    trained = {200: (REFERENCE, SHORT)} | {steps: (run, RUNS) for steps, run in REFERENCES.items()}
    rows = [[f"{steps:,}", *spread_of(*one)] for steps, one in trained.items()]
    return markdown(["steps", IN_DOMAIN, *TEST_SETS.values()], rows)


def reached(table: str = "study") -> str:
    """Return a table with one row per method: number of pairs, and mean and deviation of accuracies over seeds."""
    rows = []
    for run, name in methods(table).items():
        records = runs_of(run)
        data = next(iter(records.values())).provenance["data"]
        cells = spread_of(run)
        first = next(iter(TEST_SETS))
        found = [(record, one) for record in records.values() for one in record.readings if one.key == first]
        rows.append(
            [marked(name, marks_of_runs(found)), f"{data['train_examples']:,}", ", ".join(map(str, records)), *cells]
        )
    return markdown(["trained on", "pairs", "seeds", IN_DOMAIN, *TEST_SETS.values()], rows)


def differences(table: str = "study") -> str:
    """Return a table of each method's differences in accuracy from the original pairs.

    The columns are the mean with its interval, the values by seed, the p-value over seeds and the detectable size.
    """
    records = [Record.load(FOLDER / "records" / name) for name in PAIRED]
    paired = {
        (one.key, *record.provenance["seeds"][one.phase]): one for record in records for one in record.comparisons
    }
    rows = []
    for run, name in methods(table).items():
        for key, title in {IN_DOMAIN: IN_DOMAIN, **TEST_SETS}.items():
            found = changes(run, key)
            if run in ORIGINALS or len(found) < 2:
                continue
            values, p = list(found.values()), p_over_seeds(list(found.values()))
            one = paired.get((key.replace("after", run, 1), *found))  # only a comparison with exactly these seeds
            bounds = f" [{format_signed(one.low)}, {format_signed(one.high)}]" if one else ""
            detectable = f"{detectable_mean(stdev(values), len(values)):.1f}" if len(values) > 2 else ""
            by_seed = ", ".join(map(format_signed, values))
            rows.append(
                [
                    name,
                    title,
                    f"{format_signed(fmean(values))}{bounds}",
                    by_seed,
                    "below 0.001" if p < 0.001 else f"{p:.3f}",
                    detectable,
                ]
            )
    return markdown(
        [
            "trained on",
            "accuracy on",
            "difference",
            "difference for each seed",
            "p over seeds",
            "detectable difference",
        ],
        rows,
    )


def against_chance() -> str:
    """Return a table of the differences between rewriting by RAZOR's scores and random rewriting with the same rules.

    The columns are the two samples of rewrites, by seed, and both together.
    """
    rows = []
    for key, title in {IN_DOMAIN: IN_DOMAIN, **TEST_SETS}.items():
        cells, found = [], []
        for scored, blind in DRAWS.items():
            values = less_chance(scored, blind, key)
            cells.append(", ".join(map(format_signed, values)))
            found += values
        rows.append([title, *cells, format_signed(fmean(found)), f"{p_over_seeds(found):.3f}"])
    return markdown(["accuracy on", "first draw, each seed", "second draw, each seed", "mean", "p over runs"], rows)


def format_signed(value: float) -> str:
    """Format a difference with a sign and one decimal; values that round to 0 have a plus sign."""
    return f"{round(value, 1) + 0.0:+.1f}"


def less_chance(scored: str, blind: str, key: str) -> list[float]:
    """Return, by seed, the accuracy of rules guided by the score minus that of random rules, both in float32."""
    return [-value for value in changes(blind, key, scored).values()]


def precisions() -> str:
    """Return a table of the runs that were made in both bfloat16 and float32, mostly on different processors."""
    rows = []
    for run, name in names().items():
        for seed in runs_of(run, AGAIN):
            both = [
                f"{accuracies(run, key)[seed]:.1f}, {accuracies(run, key, AGAIN)[seed]:.1f}"
                for key in (IN_DOMAIN, *TEST_SETS)
            ]
            rows.append([name, str(seed), *both])
    return markdown(["trained on", "seed", IN_DOMAIN, *TEST_SETS.values()], rows)


def evidence(folder: str) -> str:
    """Return a table of the mean accuracy over seeds on the held-out pairs with the right, another or no evidence."""
    found: dict[str, dict[str, list[float]]] = {}
    for reading in Record.load(FOLDER / "records" / folder).readings:
        found.setdefault(reading.phase, {}).setdefault(reading.subset, []).append(reading.value)
    rows = [
        [(names() | names("study_mpnet"))[run], *(f"{fmean(of_run[one]):.1f}" for one in VARIANTS)]
        for run, of_run in found.items()
    ]
    return markdown(["trained on", *VARIANTS.values()], rows)


def overlap() -> str:
    """Return a table of the accuracy of the rule in :mod:`experiments.razor.overlap`."""
    found = Record.load(FOLDER / "records" / "overlap").readings
    rows = [[one.subset.replace("_", " "), interval(one, 1), f"{one.n:,}"] for one in found]
    return markdown(["dataset", "accuracy of the overlap rule, %", "n"], rows)


def losses() -> str:
    """Return a table of the mean loss in the first and last 50 training steps, averaged over seeds."""
    rows = []
    for run, name in methods().items():
        found = [[row["train/loss"] for row in one.history if "train/loss" in row] for one in runs_of(run).values()]
        ends = [
            fmean(fmean(part) for part in some) for some in zip(*((one[:50], one[-50:]) for one in found), strict=True)
        ]
        rows.append([name, *(f"{value:.3f}" for value in ends)])
    return markdown(["trained on", "mean loss, first 50 steps", "mean loss, last 50 steps"], rows)
