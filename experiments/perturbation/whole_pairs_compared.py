"""Compare the arms of the second study of fairtuning, from the items that ``whole_pairs.py`` wrote.

    FAIRLAB_DATA=... python -m experiments.perturbation.whole_pairs_compared RUNS OUT

OUT gets a ``record.json`` with the accuracy of each arm, the percentage of labels that change on each kind of copy,
and the differences between arms, on the seeds that both have. Intervals of readings and comparisons come from
resampling seeds and examples, an example with all of its copies. For t-tests over seeds, the record also contains the
difference of each seed.
"""

from __future__ import annotations

from pathlib import Path
from statistics import fmean

import numpy as np
from safetensors.numpy import load_file

from experiments.over_seeds import Array, Samples, arguments_of, compared, finished, record_in, save, whole
from experiments.perturbation.paired import SPLITS
from experiments.perturbation.whole_pairs import ARMS, ITEMS, LIMITS, Copies, read_copies
from experiments.shared.nested_draws import nested_draws
from fairlab.data.published.task_files import read_task
from fairlab.metrics.bootstrap import percentile_interval
from fairlab.record import Reading, Record

PAIRS = (  # compared arms: the first minus the second
    ("whole", "finetuned"),
    ("whole", "chance"),
    ("whole", "published"),
    ("published", "finetuned"),
    ("chance", "finetuned"),
)
IN_FLOAT32 = "finetuned_float32"  # the check of one seed, in no comparison
EDGE = 50  # number of training steps averaged at the start and at the end of training


def measured_seeds(folder: Path) -> list[int]:
    """Return the seeds of a run that are trained and measured."""
    return [seed for seed in finished(folder) if (folder / f"seed_{seed}" / ITEMS).is_file()]


def by_example(places: list[int], values: Array) -> Samples:
    """Sum the values (S, C) of the copies of each example.

    Args:
        places: Position of each copy's example, (C,).
        values: Value of each copy for each seed.

    Returns:
        Sums (S, N) over the copies of each example that has any, and numbers of copies (N,).
    """
    of_copy, sizes = np.unique(places, return_inverse=True, return_counts=True)[1:]
    return np.stack([np.bincount(of_copy, weights=row) for row in values]), sizes.astype(np.float64)


def samples_of(folder: Path, seeds: list[int], truth: Array, copies: Copies) -> dict[str, Samples]:
    """Return samples of accuracy and, for each kind of copy, of changed labels, in per cent."""
    items = [load_file(folder / f"seed_{seed}" / ITEMS) for seed in seeds]
    found = {"accuracy": whole(np.stack([100.0 * (one["originals"] == truth) for one in items]))}
    for kind, some in copies.items():
        places = [place for place, _ in some]
        differs = np.stack([100.0 * (one["originals"][places] != one[kind]) for one in items])
        found[kind] = by_example(places, differs)
    return found


def learned(run: Record) -> list[float]:
    """Return the mean loss of the first and of the last training steps."""
    losses = [row["train/loss"] for row in run.history if "train/loss" in row]
    return [fmean(losses[:EDGE]), fmean(losses[-EDGE:])]


def facts_of(runs: Path, seeds: dict[str, list[int]]) -> dict[str, object]:
    """Return the seeds of each arm, its mean loss at the start and the end of training, and its changed examples."""
    records = {arm: [Record.load(runs / arm / f"seed_{seed}") for seed in some] for arm, some in seeds.items()}
    losses = {arm: np.mean([learned(run) for run in some], axis=0).round(3).tolist() for arm, some in records.items()}
    changed = {arm: some[0].provenance["data"].get("perturbed", {}) for arm, some in records.items()}
    return {"seeds": seeds, "losses": losses, "changed": changed}


def add_task(record: Record, runs: Path, task: str) -> dict[str, object]:
    """Add the readings and comparisons of a task to a record, and return the facts about its runs."""
    copies = read_copies(runs / f"{task}.json", task)
    truth = np.array([example.label for example in read_task(task, SPLITS[task])])
    seeds = {arm: some for arm in (*ARMS, IN_FLOAT32) if (some := measured_seeds(runs / task / arm))}
    for arm, some in seeds.items():
        for kind, samples in samples_of(runs / task / arm, some, truth, copies).items():
            bounds = percentile_interval(nested_draws(*samples))
            value, number = float(samples[0].mean(axis=0).sum() / samples[1].sum()), int(samples[1].sum())
            ideal = 0.0 if kind in ("both", "57_pairs", "colours") else 100.0
            name = "accuracy" if kind == "accuracy" else "changed_labels"
            record.readings.append(Reading(task, kind, name, value, "%", ideal, number, *bounds, phase=arm))
    differences = {}
    for one, other in PAIRS:
        both = sorted(set(seeds.get(one, [])) & set(seeds.get(other, [])))
        if not both:
            continue
        ours, theirs = (samples_of(runs / task / arm, both, truth, copies) for arm in (one, other))
        for kind in ours:
            name = "accuracy" if kind == "accuracy" else "changed_labels"
            change = compared(ours[kind], theirs[kind], (task, kind, name), f"{one} less {other}")
            record.comparisons.append(change)
            each = (ours[kind][0] - theirs[kind][0]).sum(axis=1) / ours[kind][1].sum()
            differences[change.key] = each.round(4).tolist()
    commonest = 100 * float(np.bincount(truth.astype(int)).max() / len(truth))
    return facts_of(runs / task, seeds) | {"commonest": commonest, "differences": differences}


def main() -> None:
    """Compare the finished runs, write the record and print it."""
    arguments = arguments_of(__doc__).parse_args()
    record = record_in(arguments.out, "-m", "experiments.perturbation.whole_pairs_compared")
    tasks = [task for task in LIMITS if measured_seeds(arguments.runs / task / "finetuned")]
    save(record, {"tasks": {task: add_task(record, arguments.runs, task) for task in tasks}})


if __name__ == "__main__":
    main()
