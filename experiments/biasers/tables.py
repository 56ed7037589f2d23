"""Tables for the page on biasers."""

from __future__ import annotations

import csv
import json
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from experiments.over_seeds import p_over_seeds
from experiments.rendering import markdown, matrix_table, trials
from fairlab.metrics.bootstrap import percentile_interval
from fairlab.record import Record
from fairlab.reporting.tables.comparing import place_of

Values = NDArray[np.float64]
Run = tuple[int, int]  # draw and seed
FOLDER = Path(__file__).parent
RECORDS = FOLDER / "records"


def language_models() -> str:
    """Return a table of the fine-tuned language models, with their data and their perplexity on held-out entries."""
    rows = []
    for folder in sorted(RECORDS.glob("llm_*/seed_*")):
        record = Record.load(folder)
        facts, data = record.provenance, record.provenance["data"]
        rows.append(
            [
                f"{folder.parent.name.replace('llm_', 'LLM ').upper()}, {folder.name.replace('_', ' ')}",
                data["trained_on"],
                str(data["made_of_the_sample"]),
                f"{kept_perplexity(record):.1f}",
                f"{facts['wall_seconds']:,.0f}",
                f"`{facts['revision'][:12]}`",
            ]
        )
    header = [
        "model",
        "tuned on",
        "entries after expanding the sample",
        "perplexity of held-out entries",
        "seconds",
        "revision",
    ]
    return markdown(header, rows)


def kept_perplexity(record: Record) -> float:
    """Return the perplexity of a run's held-out entries after its last step."""
    return [float(row["validation/perplexity"]) for row in record.history if "validation/perplexity" in row][-1]


def mb_index_changes() -> str:
    """Return the comparison of the language models' mb-index, with paired changes."""
    found = json.loads((RECORDS / "mb_index.json").read_text(encoding="utf-8"))
    columns = list(found["models"][0])
    rows = [
        [with_interval(one) if isinstance(one, list) else str(one) for one in of.values()] for of in found["models"]
    ]
    changes = [
        f"mb-index from {change['from']} to {change['to']}: {with_interval(change['mb-index'])}, p {change['p']:.2g}"
        for change in found["changes"]
    ]
    note = (
        "95 % intervals in brackets. The mb-index falls as the number of entries rises, so compare only models tuned "
        "on the same number of entries."
    )
    return "\n\n".join([markdown(columns, rows), *changes, note])


def with_interval(values: Sequence[float]) -> str:
    """Format a value with the bounds of its interval."""
    middle, low, high = values
    return f"{middle:.4g} [{low:.4g}, {high:.4g}]"


def clusters() -> str:
    """Return a table of the clusters of each dataset with the db-index of each cluster."""
    rows = []
    for folder in sorted(RECORDS.glob("data_bias/seed_*")):
        readings_ = Record.load(folder).readings
        for phase in dict.fromkeys(reading.phase for reading in readings_):
            of_phase = {(r.subset, r.quantity): r for r in readings_ if r.phase == phase}
            parts = [r for (subset, _), r in of_phase.items() if subset.startswith("cluster_")]
            values = [f"{r.value:.3f} ({r.n})" for r in parts]
            whole = of_phase["all", "expectation"]
            rows.append([phase.replace("_", " "), str(whole.n), str(len(parts)), ", ".join(values)])
    return markdown(["data", "entries", "clusters", "db-index of each cluster (number of entries)"], rows)


def morphs() -> str:
    """Return a table of what a reading found in upshifts by the masked LM and in extractive downshifts."""
    with (FOLDER / "morphs_sheet.csv").open(encoding="utf-8", newline="") as lines:
        read = list(csv.DictReader(lines))
    rows = []
    for morph in ("upshift", "downshift"):
        some = [row for row in read if row["morph"] == morph]
        rows.append(
            [
                morph,
                str(len(some)),
                *(str(sum(row[key] == "yes" for row in some)) for key in ("grammatical", "says_the_same")),
            ]
        )
    return markdown(["morph", "morphs checked", "grammatical", "same meaning as the original"], rows)


ARMS = {
    "originals": "other entries with the same number of tokens",
    "repeats": "the ten entries, repeated",
    "copies": "the ten entries and their copies",
    "upshifts": "the ten entries, their copies and upshifts",
    "downshifts": "the ten entries, their copies and downshifts",
}
LARGER = ("untuned", "originals", "repeats", "upshifts")  # arms of the larger model
MEASURED = {
    "after/mb_index/reference/perplexity": "perplexity of the reference text",
    "after/mb_index/continuations/stereotype_score": "stereotype score",
    "after/mb_index/likelihoods/ss": "StereoSet's stereotype score, %",
    "after/crows_pairs/race_color/metric_score": "CrowS-Pairs score, race, %",
    "after/crows_pairs/nationality/metric_score": "CrowS-Pairs score, nationality, %",
}


def controls() -> str:
    """Return a table of every arm's mean over draws and seeds, and its change from the arm ``originals``."""
    found = {arm: of_arm(arm) for arm in ARMS}
    untuned = Record.load(RECORDS / "untuned" / "seed_42").readings
    before = {f"after/{reading.key}": reading.value for reading in untuned}
    rows = [["untuned", "", "", *(f"{before[key]:.4g}" for key in MEASURED)]]
    for arm, what in ARMS.items():
        values, changes = by_draw(found[arm]), changes_of(arm)
        cells = [f"{mean:.4g}" for mean in np.mean([one.mean(axis=0) for one in values], axis=0)]
        if arm != "originals":
            cells = [f"{cell} ({changed([one[:, place] for one in changes])})" for place, cell in enumerate(cells)]
        rows.append([what, str(len(values)), str(sum(map(len, values))), *cells])
    return markdown(["tuned on", "draws of entries", "runs", *MEASURED.values()], rows)


def changes_from_repeats() -> str:
    """Return a table of each arm's change from the arm ``repeats`` with the same draw and seed."""
    rows = []
    for arm in ("copies", "upshifts", "downshifts"):
        changes = changes_of(arm, "repeats")
        cells = (changed([one[:, place] for one in changes]) for place in range(len(MEASURED)))
        rows.append([ARMS[arm], *cells])
    return markdown(["tuned on", *MEASURED.values()], rows)


def larger() -> str:
    """Return a table of the larger model's arms, with changes from ``originals`` and of upshifts from ``repeats``."""
    changes = {change.key: change for change in Record.load(RECORDS / "larger").comparisons}

    def change_of(arm: str, reference: str, key: str) -> str:
        one = changes[key.replace("after", f"{arm}_{reference}", 1)]
        return f"{one.difference:+.3g} [{one.low:+.3g}, {one.high:+.3g}], p {one.p:.2g}"

    rows = []
    for arm in LARGER:
        record = Record.load(RECORDS / f"qwen_{arm}" / "seed_42")
        values = {f"after/{'/'.join(place_of(one))}": one.value for one in record.readings}
        cells = [f"{values[key]:.4g}" for key in MEASURED]
        if arm in ("repeats", "upshifts"):
            cells = [f"{cell} ({change_of(arm, 'originals', key)})" for cell, key in zip(cells, MEASURED, strict=True)]
        rows.append([ARMS.get(arm, arm), *cells])
    beside = [change_of("upshifts", "repeats", key) for key in MEASURED]
    rows.append([f"{ARMS['upshifts']}, compared with {ARMS['repeats']}", *beside])
    return markdown(["tuned on", *MEASURED.values()], rows)


def changes_of(arm: str, reference: str = "originals") -> list[Values]:
    """Return the changes of an arm from another one with the same draw and seed.

    Returns:
        Array (seeds, quantities) for every draw.
    """
    own, others = of_arm(arm), of_arm(reference)
    return by_draw({run: own[run] - others[run] for run in own.keys() & others.keys()})


def by_draw(runs: Mapping[Run, Values]) -> list[Values]:
    """Stack the values of runs into one array (seeds, quantities) per draw."""
    draws = sorted({draw for draw, _ in runs})
    return [np.array([runs[run] for run in sorted(runs) if run[0] == draw]) for draw in draws]


def changed(changes: Sequence[Values]) -> str:
    """Return the mean change with its interval and the p-value of a t-test over draws, as text.

    Args:
        changes: Changes (seeds,) for every draw.
    """
    of_draws = [float(one.mean()) for one in changes]
    low, high = percentile_interval(nested_draws(changes))
    mean, low, high = (round(float(one), 9) + 0.0 for one in (np.mean(of_draws), low, high))  # without -0
    p = p_over_seeds(of_draws)
    return f"{mean:+.3g} [{low:+.3g}, {high:+.3g}], p {'below 0.001' if p < 0.001 else f'{p:.2g}'}"


@cache
def of_arm(arm: str) -> dict[Run, Values]:
    """Return the measured quantities of an arm, an array (quantities,) per run."""
    found = {}
    for file in RECORDS.glob(f"{arm}_*/seed_*/record.json*"):
        values = Record.load(file.parent).metrics()
        run = int(file.parent.parent.name.removeprefix(f"{arm}_")), int(file.parent.name.removeprefix("seed_"))
        found[run] = np.array([values[key] for key in MEASURED])
    return found


def nested_draws(values: Sequence[Values]) -> Values:
    """Return bootstrap draws (2,000,) of a mean, resampling draws, and the seeds within each draw.

    Args:
        values: Values (seeds,) for every draw.
    """
    rng = np.random.default_rng(0)
    places = rng.integers(0, len(values), (2000, len(values)))
    seeds = [rng.integers(0, len(one), (2000, len(values), len(one))) for one in values]
    resampled = np.stack([one[some].mean(axis=2) for one, some in zip(values, seeds, strict=True)])
    return np.take_along_axis(resampled, places[None], axis=0)[0].mean(axis=1)


PAGES = {
    "docs/results.md": {"controls": controls},
    "experiments/biasers/README.md": {
        "table_1": lambda: matrix_table(FOLDER, "1"),
        "clusters": clusters,
        "table_2": lambda: matrix_table(FOLDER, "2"),
        "mb_index_changes": mb_index_changes,
        "language_models": language_models,
        "morphs": morphs,
        "controls_trials": lambda: trials(FOLDER / "trials.jsonl"),
        "controls": controls,
        "controls_repeats": changes_from_repeats,
        "controls_larger_trials": lambda: trials(FOLDER / "larger_trials.jsonl"),
        "controls_larger": larger,
    },
}
