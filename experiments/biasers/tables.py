"""Tables of the biasers page."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from experiments.rendering import markdown, matrix_table, trials
from fairlab.metrics.bootstrap import percentile_interval
from fairlab.record import Record
from fairlab.reporting import mb_index

FOLDER = Path(__file__).parent
RECORDS = FOLDER / "records"


def language_models() -> str:
    """What the language models of the biasers paper were tuned on, and their perplexity on held-out entries."""
    rows = []
    for folder in sorted(RECORDS.glob("llm_*/seed_*")):
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
    return mb_index.rendered_models(json.loads((RECORDS / "mb_index.json").read_text(encoding="utf-8"))).strip()


def clusters() -> str:
    """Clusters of the data sets of the biasers paper, and why their index is what it is."""
    rows = []
    for folder in sorted(RECORDS.glob("data_bias/seed_*")):
        readings_ = Record.load(folder).readings
        for phase in dict.fromkeys(reading.phase for reading in readings_):
            of_phase = {(r.subset, r.quantity): r for r in readings_ if r.phase == phase}
            parts = [r for (subset, _), r in of_phase.items() if subset.startswith("cluster_")]
            values = [f"{r.value:.3f} ({r.n})" for r in parts]
            whole = of_phase["all", "expectation"]
            rows.append([phase.replace("_", " "), str(whole.n), str(len(parts)), ", ".join(values)])
    return markdown(["data", "entries", "clusters", "db-index of each (its entries)"], rows)


def morphs() -> str:
    """What a reading says of morphs by the masked LM and by extraction."""
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
    return markdown(["morph", "read", "grammatical", "says the same"], rows)


ARMS = {
    "originals": "as many tokens of other entries",
    "repeats": "the ten entries, over and over",
    "copies": "entries and copies",
    "upshifts": "entries, copies and upshifts",
    "downshifts": "entries, copies and downshifts",
}
MEASURED = {
    "after/mb_index/reference/perplexity": "perplexity, reference",
    "after/mb_index/continuations/stereotype_score": "stereotype score",
    "after/mb_index/likelihoods/ss": "StereoSet's score, %",
    "after/crows_pairs/race_color/metric_score": "CrowS-Pairs, race, %",
    "after/crows_pairs/nationality/metric_score": "CrowS-Pairs, nationality, %",
}


def controls() -> str:
    """What of an expansion moves a model: every arm's mean over draws and seeds, and its change from the originals."""
    found = {arm: of_arm(arm) for arm in ARMS}
    if not found["originals"]:
        return "No run of this table is recorded yet."
    untuned = Record.load(RECORDS / "untuned" / "seed_42").readings
    before = {f"after/{reading.key}": reading.value for reading in untuned}
    rows = [["untuned", "", *(f"{before[key]:.4g}" for key in MEASURED)]]
    for arm, what in ARMS.items():
        draws = sorted(found[arm].keys() & found["originals"].keys())
        if not draws:
            continue
        values, originals = (np.array([found[one][draw] for draw in draws]) for one in (arm, "originals"))
        cells = [f"{values[..., place].mean():.4g}" for place in range(len(MEASURED))]
        if arm != "originals":
            changes = values - originals
            cells = [f"{cell} ({changed(changes[..., place])})" for place, cell in enumerate(cells)]
        rows.append([what, f"{values.shape[0]} x {values.shape[1]}", *cells])
    return markdown(["tuned on", "draws x seeds", *MEASURED.values()], rows)


def changed(values: NDArray[np.float64]) -> str:
    """The mean of changes (draws, seeds), with its interval where there are several draws."""
    low, high = percentile_interval(nested_draws(values))
    mean, low, high = (round(float(one), 9) + 0.0 for one in (values.mean(), low, high))  # no -0 of rounding
    return f"{mean:+.3g}" + (f" [{low:+.3g}, {high:+.3g}]" if len(values) > 1 else "")


def of_arm(arm: str) -> dict[int, list[list[float]]]:
    """What was measured of an arm's runs, of every seed, by their draw."""
    found: dict[int, list[list[float]]] = {}
    for file in sorted(RECORDS.glob(f"{arm}_*/seed_*/record.json")):
        values = Record.load(file.parent).metrics()
        draw = int(file.parent.parent.name.removeprefix(f"{arm}_"))
        found.setdefault(draw, []).append([values[key] for key in MEASURED])
    return found


def nested_draws(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Bootstrap draws (2,000,) of the mean of values (draws, seeds): draws are resampled, and seeds within each."""
    draws, seeds = values.shape
    rng = np.random.default_rng(0)
    rows = rng.integers(0, draws, (2000, draws, 1))
    return values[rows, rng.integers(0, seeds, (2000, draws, seeds))].mean(axis=(1, 2))


PAGES = {
    "experiments/biasers/README.md": {
        "table_1": lambda: matrix_table(FOLDER, "1"),
        "clusters": clusters,
        "table_2": lambda: matrix_table(FOLDER, "2"),
        "mb_index_changes": mb_index_changes,
        "language_models": language_models,
        "morphs": morphs,
        "controls_trials": lambda: trials(FOLDER / "trials.jsonl"),
        "controls": controls,
    },
}
