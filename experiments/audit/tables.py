"""Tables for the pages about audits, computed from the committed results."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from experiments.rendering import markdown
from experiments.shared.compressed_sheets import rows_of
from fairlab.record import Record

FOLDER = Path(__file__).parent
WORDS = {
    "coverage": "biased classifier, half of the bias by each kind of cue: the interval contains the true excess",
    "coverage_listed": "biased classifier, by a cue in the lexicon: the interval contains the true excess",
    "coverage_unlisted": "biased classifier, by a cue that the lexicon lacks: the interval contains the true excess",
    "fair_called_biased": "fair classifier: it is called biased",
    "unstable_called_biased": "fair but unstable classifier: it is called biased",
}
WHOLE_WORDS = {
    "coverage_shift": "biased classifier: the interval of the shift contains the true size",
    "coverage_gap": "biased classifier: the interval of the gap in false-positive rates contains the true size",
    "biased": "biased classifier: the first sentence calls it biased",
    "fair": "fair classifier: the first sentence calls it biased",
    "unstable": "fair but unstable classifier: the first sentence calls it biased",
}
SETS = {"biographies": "accountant or not", "reviews": "SST-2", "hate": "hate in tweets"}
READ_LABELS = {"biographies": ["other", "accountant"], "hate": ["hate", "neither", "offensive"]}  # in sorted order


WALKED = {
    "walk_trained": {"plain": "plain training", "fairtuned": "fairtuning", "paired": "logit pairing, lambda 1"},
    "walk_threshold": {"mended": "plain training with a chosen threshold"},
    "walk_odds": {"mended": "plain training with thresholds for equalized odds"},
}
WALKED_QUANTITIES = (
    ("gender", "excess_flips"),
    ("gender_man_to_woman", "shift"),
    ("people_gender", "equalized_odds"),
    ("all", "model_accuracy"),
)


def simulated() -> str:
    """Return a table of the proportions found by the simulations of excesses."""
    return _shares("case, with 1,000 simulated excesses", "simulated.json", WORDS)


def whole() -> str:
    """Return a table of the proportions found by the simulations of whole audits."""
    return _shares("case, with 1,000 simulated audits", "whole.json", WHOLE_WORDS)


def _shares(head: str, file: str, words: dict[str, str]) -> str:
    found = json.loads((FOLDER / file).read_text(encoding="utf-8"))
    rows = [
        [said, f"{100 * one['share']:.1f} % [{100 * one['low']:.1f}, {100 * one['high']:.1f}]"]
        for name, said in words.items()
        for one in [found[name]]
    ]
    return markdown([head, "share"], rows)


def audited() -> str:
    """Return a table of the results of the three audits."""
    rows = []
    for name, words in SETS.items():
        record = Record.load(FOLDER / "records" / name)
        values = {(one.subset, one.quantity): one for one in record.readings}
        for axis in record.config["axis"]:
            if (axis, "flips") not in values:
                continue
            one = {what: values[axis, what] for what in ("flips", "control_flips", "excess_flips", "detectable_flips")}
            excess = one["excess_flips"]
            interval = f"{excess.value:+.1f} [{excess.low:+.1f}, {excess.high:+.1f}]"
            shares = [f"{one[what].value:.1f}" for what in ("flips", "control_flips")]
            wrong = values[axis, "rewriter_error"]
            read = f"{wrong.value * wrong.n / 100:.0f} of {wrong.n}"
            detectable = f"{one['detectable_flips'].value:.1f}"
            rows.append([words, axis, str(excess.n), *shares, read, interval, detectable])
    columns = ["classifier", "axis", "pairs", "flips, %", "flips in the control, %", "wrong rewrites"]
    columns += ["excess, points", "smallest detectable excess, points"]
    return markdown(columns, rows)


def walked() -> str:
    """Return a table of the debiased classifiers of tweets, with paired differences from plain training."""
    rows = []
    for folder, models in WALKED.items():
        record = Record.load(FOLDER / "records" / folder)
        values = {(one.phase, one.subset, one.quantity): one for one in record.readings}
        changes = {(one.phase, one.subset, one.quantity): one for one in record.comparisons}
        for label, words in models.items():
            cells = [words]
            for place in WALKED_QUANTITIES:
                change = changes.get((f"{label} less plain", *place))
                beside = f" ({_interval(change.difference, change.low, change.high)})" if change else ""
                cells.append(f"{values[(label, *place)].value:.1f}{beside}")
            rows.append(cells)
    columns = ["model", "excess of changed predictions, points", "shift from man to woman, points"]
    columns += ["equalized-odds difference, points", "accuracy, %"]
    return markdown(columns, rows)


def read_flips() -> str:
    """Return a table of the numbers of flips and of wrong rewrites, and the predicted labels of the right ones."""
    counts = json.loads((FOLDER / "flips" / "counts.json").read_text(encoding="utf-8"))
    rows = []
    for name, labels in READ_LABELS.items():
        read = rows_of(FOLDER / "flips" / f"{name}.csv.xz")
        one = [sum(of_axis[what] for of_axis in counts[name].values()) for what in ("pairs", "flips", "in_control")]
        directed = Counter(filter(None, (_as_woman_and_man(row, labels) for row in read if not row["wrong"])))
        words = "; ".join(f"{count} {way}" for way, count in directed.most_common())
        wrong = sum(bool(row["wrong"]) for row in read)
        rows.append([SETS[name], *map(str, one), f"{wrong} of {len(read)}", words])
    columns = [
        "classifier",
        "pairs",
        "flips",
        "flips in the control",
        "wrong rewrites",
        "right rewrites, by the labels of the woman's and the man's version",
    ]
    return markdown(columns, rows)


def _as_woman_and_man(row: dict[str, str], labels: Sequence[str]) -> str:
    """Return the labels predicted for a text about a woman and about a man.

    The result is empty for other attributes.
    """
    way = row["id"].partition(" ")[2]
    said = [labels[int(float(row[side]))] for side in ("before", "after")]
    return " / ".join({"woman to man": said, "man to woman": said[::-1]}.get(way, []))


def _interval(value: float, low: float, high: float) -> str:
    return f"{value:+.1f} [{low:+.1f}, {high:+.1f}]"


PAGES = {
    "docs/audit.md": {
        "simulated": simulated,
        "whole": whole,
        "audited": audited,
        "walked": walked,
        "flips": read_flips,
    },
}
