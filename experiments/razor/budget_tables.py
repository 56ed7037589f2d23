"""Tables of the second study's budgets, from ``budget_arms.json`` and ``budgets.jsonl``."""

from __future__ import annotations

import csv
import json
from collections import Counter
from collections.abc import Callable
from itertools import combinations
from statistics import fmean, stdev
from typing import Any

import numpy as np
from numpy.typing import NDArray

from experiments.over_seeds import p_over_seeds, t_interval
from experiments.razor import budget_runs, budgets
from experiments.razor.known_truth_runs import Result, bits, finished
from experiments.rendering import markdown
from experiments.shared.nested_draws import nested_draws
from experiments.shared.power import detectable_mean
from fairlab.metrics.bootstrap import percentile_interval
from fairlab.metrics.significance import holm, wilson_interval

NAMES = {"none": "none", "random": "random", "paper": "the paper's score"}
SETS = {"symmetric": "FEVER-Symmetric v0.2", "held": "held-out pairs"}
OUTCOMES = ("accepted", "no rewrite", "unchanged", "facts", "another label")
SHEET = budgets.COUNTS.with_name("budget_sheet.csv")
VERDICTS = ("right", "wrong", "unproven")
PLANNED = 5
FIRST = ("paper", "random")  # the comparison that the plan names first
Key = tuple[str, int]  # arm and percentage of rewritten claims


def counted() -> dict[str, Any]:
    """Return the counts of the arms, or none before the rewriting is finished."""
    return json.loads(budgets.COUNTS.read_text(encoding="utf-8")) if budgets.COUNTS.is_file() else {}


def rewrites() -> str:
    """Return a table of how many claims each arm tried, and with what outcome."""
    rows = []
    for arm, one in counted().items():
        if arm in budgets.ARMS:
            outcomes = (f"{one['outcomes'].get(name, 0):,}" for name in OUTCOMES)
            accepted = (f"{100 * made / tried:.0f} of {tried:,}" for tried, made in one["labels"].values())
            rows.append([NAMES[arm], f"{one['tried']:,}", *outcomes, *accepted])
    labels = next((list(one["labels"]) for arm, one in counted().items() if arm in budgets.ARMS), [])
    return markdown(["order", "tried", *OUTCOMES, *(f"used of {name}, %" for name in labels)], rows or [["none"]])


def probes() -> str:
    """Return a table of the accuracy of a probe that reads only the claims."""
    rows = [
        [NAMES[arm], percent, f"{one['out_of_fold']:.1f}", f"{one['held_out']:.1f}"]
        for arm, found in counted().items()
        for percent, one in found["probe"].items()
    ]
    return markdown(["order", "rewritten, %", "probe, out of fold, %", "probe, held-out pairs, %"], rows or [["none"]])


def reading() -> str:
    """Return what a reader found in rewrites of each arm: the label is kept, is wrong now, or cannot be decided."""
    with SHEET.open(encoding="utf-8", newline="") as lines:
        found = Counter((row["order"], row["verdict"]) for row in csv.DictReader(lines))
    rows = []
    for arm in budgets.ARMS:
        counts = [found[arm, verdict] for verdict in VERDICTS]
        low, high = wilson_interval(counts[1], sum(counts))
        wrong = f"{counts[1]} [{100 * low:.0f} %, {100 * high:.0f} %]"
        rows.append([NAMES[arm], str(sum(counts)), str(counts[0]), wrong, str(counts[2])])
    return markdown(["order", "read", "label kept", "label wrong", "undecided"], rows)


def by_arm() -> dict[Key, dict[int, Result]]:
    """Return the rows of the finished trainings by arm and percentage, and by seed."""
    found: dict[Key, dict[int, Result]] = {}
    for row in sorted(finished(budget_runs.FILE), key=lambda row: list(NAMES).index(row["arm"])):
        found.setdefault((row["arm"], row["percent"]), {})[row["seed"]] = row
    return found


def right(runs: dict[int, Result], seeds: list[int], name: str) -> NDArray[np.float64]:
    """Return 100 for each correct prediction on a test set and 0 for the others, (seeds, pairs)."""
    return np.stack([bits(runs[seed], name) for seed in seeds])


def trained() -> str:
    """Return a table of each arm's accuracy, with the seeds' standard deviation and the loss."""
    rows = []
    for (arm, percent), runs in by_arm().items():
        cells = []
        for name in SETS:
            values = right(runs, sorted(runs), name).mean(axis=1)
            cells.append(f"{values.mean():.1f}" + (f" ± {stdev(values.tolist()):.1f}" if len(values) > 1 else ""))
        losses = (f"{fmean(run['losses'][k] for run in runs.values()):.2f}" for k in (0, 1))
        rows.append([NAMES[arm], str(percent), ", ".join(map(str, sorted(runs))), " to ".join(losses), *cells])
    return markdown(["order", "rewritten, %", "seeds", "loss, first to last", *(SETS.values())], rows or [["none"]])


def missing() -> str:
    """Return how many trainings are finished, and their mean duration."""
    rows = finished(budget_runs.FILE)
    planned = PLANNED * (1 + len(budgets.ARMS))
    seconds = f"{fmean(row['seconds'] for row in rows):.0f}" if rows else "none"
    main = sum(row["percent"] in (0, max(budgets.PERCENT)) for row in rows)
    return markdown(["trainings finished, 25 %", "planned", "mean duration, s"], [[str(main), str(planned), seconds]])


def differences() -> str:
    """Return a table of the differences between arms, paired by seed and test pair."""
    arms = by_arm()
    pairs = sorted(combinations(arms, 2), key=lambda two: {two[0][0], two[1][0]} != set(FIRST))
    found = [
        (later, earlier, name, seeds)
        for earlier, later in pairs
        if (seeds := sorted(arms[later].keys() & arms[earlier].keys())) and len(seeds) > 1
        for name in SETS
    ]
    changes = [right(arms[a], seeds, name) - right(arms[b], seeds, name) for a, b, name, seeds in found]
    values = [change.mean(axis=1).tolist() for change in changes]
    first = [{a[0], b[0]} == set(FIRST) and name == "symmetric" for a, b, name, _ in found]
    adjusted = iter(holm([p_over_seeds(one) for one, is_first in zip(values, first, strict=True) if not is_first]))
    rows = []
    for (a, b, name, seeds), change, by_seed, is_first in zip(found, changes, values, first, strict=True):
        low, high = percentile_interval(nested_draws(change))
        mean, (lowest, highest) = fmean(by_seed), t_interval(by_seed)
        power = f"{detectable_mean(stdev(by_seed), len(seeds)):.1f}" if len(seeds) > 2 else "too few seeds"
        arms_named = f"{NAMES[a[0]]} minus {NAMES[b[0]]}"
        p = f"{p_over_seeds(by_seed):.3f}"
        rows.append([
            SETS[name], arms_named, f"{change.shape[1]:,}", str(len(seeds)),
            f"{mean:+.2f} [{low:+.2f}, {high:+.2f}]", f"[{lowest:+.2f}, {highest:+.2f}]",
            p, "first test" if is_first else f"{next(adjusted):.3f}", power,
        ])  # fmt: skip
    header = ["test set", "orders", "n", "seeds", "difference, points (bootstrap)", "t-interval over seeds"]
    return markdown([*header, "p (t-test)", "p by Holm", "detectable by the t-test"], rows or [["none"]])


TABLES: dict[str, Callable[[], str]] = {
    "budget_rewrites": rewrites,
    "budget_probes": probes,
    "budget_reading": reading,
    "budget_missing": missing,
    "budget_trained": trained,
    "budget_differences": differences,
}
