"""Tables of the atlas: for every model, the measured biases, and the effects and costs of debiasing methods."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from experiments.rendering import ideal, markdown, significant
from fairlab.benchmarks.stages import stages_of
from fairlab.record import Comparison, Reading, Record
from fairlab.reporting.headlines import key, title
from fairlab.reporting.many_runs.reproduction import read_matrix
from fairlab.reporting.page import BETTER, WORSE
from fairlab.reporting.questions import EQUAL, KEPT, PERSIST, Shift, by_question, shifts
from fairlab.reporting.tables.marks import marked, marks_beside, training_notes
from fairlab.reproduce import finished_records

FOLDER = Path(__file__).parent
NAMES = {
    "minilm_mlm": "MiniLM as a masked LM",
    "mpnet": "MPNet",
    "distilbert": "near copy of DistilBERT",
    "smollm2": "SmolLM2, a causal LM",
}
QWEN = [FOLDER.parent / "causal_lm" / "records" / part for part in ("pronouns", "stereotypes")]
TRAINED = "_trained"  # suffix of the id of a model's second table
NOT_RUN, YET = "not run", "the run has not been started"
TONES = {BETTER: " ▲", WORSE: " ▼", "": ""}
# Quantities with values on both sides of the ideal. Other quantities cannot fall below it, so every model is off it.
TWO_SIDED = "male_ratio margin women_correlation pro_preferred metric_score ss".split()
STS = "stsb/dev/spearman"
PERPLEXITIES = ["perplexity/text/pseudo_perplexity", "perplexity/text/perplexity"]


@dataclass(frozen=True)
class Tried:
    """Method applied to a model, with its record or the reason why there is none."""

    method: str
    record: Record | None
    reason: str = ""


def tried(folder: Path = FOLDER) -> dict[str, list[Tried]]:
    """Return the methods applied to each model, in the order of the folder's matrix, with records of the first seed."""
    matrix = read_matrix(folder / "matrix.yaml", "quickstart")
    records = finished_records(folder / "records", matrix)
    found: dict[str, list[Tried]] = {}
    for id_, table in matrix.tables.items():
        of_model = found.setdefault(id_.removesuffix(TRAINED), [])
        for row in table.rows:
            if row.phase == "after":
                reason = row.reason or matrix.unavailable.get(row.run, YET)
                of_model.append(Tried(row.name, records.get(row.run, {}).get(matrix.seeds[0]), reason))
    return found


def overview(folder: Path = FOLDER) -> str:
    """Return a table with one row per model and method, followed by notes on methods that were not run.

    A row contains the numbers of significant changes, the change in utility, and the running time.

    Args:
        folder: Folder that contains the matrix and the records.
    """
    rows, notes = [], []
    for model, methods in tried(folder).items():
        name = NAMES.get(model, model)
        rows += [[name, *_summed_up(one.method, one.record)] for one in methods if one.record is not None]
        notes += _not_run(methods, f" on {name}")
    header = ["model", "method", EQUAL, PERSIST, KEPT, "change on STS-B, points", "change of perplexity"]
    return "\n\n".join([markdown([*header, "seconds for the method", "seconds for measuring"], rows), *notes])


def _not_run(methods: Sequence[Tried], where: str = "") -> list[str]:
    """Return sentences about the methods without a record, grouped by reason."""
    reasons: dict[str, list[str]] = {}
    for one in methods:
        if one.record is None:
            reasons.setdefault(one.reason, []).append(one.method)
    named = [("; ".join(names), reason) for reason, names in reasons.items()]
    return [f"{NOT_RUN.capitalize()}{where}: {names}. Reason: {reason}." for names, reason in named]


def _summed_up(method: str, record: Record) -> list[str]:
    told = by_question([shift for shift in shifts(record) if shift.comparison.headline], lambda shift: shift.after)
    changes = {key(change): change for change in record.comparisons}
    seconds = {name: taken.seconds for name, taken in stages_of(record).items()}
    measuring = [taken for name, taken in seconds.items() if name.startswith("after/")]
    return [
        marked(method, [note.mark for note in training_notes(record) if note.mark]),
        *(_counted(told.get(question, [])) for question in (EQUAL, PERSIST, KEPT)),
        _difference(changes.get(STS)),
        next((_difference(changes[name]) for name in PERPLEXITIES if name in changes), NOT_RUN),
        f"{seconds['training']:.0f}" if "training" in seconds else NOT_RUN,
        f"{sum(measuring):.0f}" if measuring else NOT_RUN,
    ]


def _counted(found: list[Shift]) -> str:
    """Count better and worse readings in the form ``2 ▲, 1 ▼ of 5``."""
    better, worse = (sum(shift.tone == tone for shift in found) for tone in (BETTER, WORSE))
    return f"{better} ▲, {worse} ▼ of {len(found)}" if found else NOT_RUN


def _difference(change: Comparison | None) -> str:
    return NOT_RUN if change is None else f"{change.difference:+.3g} [{change.low:.3g}, {change.high:.3g}]"


def before(model: str, folder: Path = FOLDER) -> str:
    """Return a table of the readings of the original model, and notes on benchmarks that cannot measure it."""
    records = [one.record for one in tried(folder)[model] if one.record is not None]
    return measured(records[:1], "before")


def qwen() -> str:
    """Return a table of Qwen's readings, from the records of the page on causal language models."""
    return measured([Record.load(folder) for folder in QWEN], "qwen")


def measured(records: list[Record], phase: str) -> str:
    """Return a table of the headline readings of a phase, and the reasons why other readings are missing."""
    found = [reading for record in records for reading in record.readings if reading.phase == phase]
    rows = [
        [title(one), significant(one), ideal(one), off_its_ideal(one), f"{one.n:,}"]
        for some in by_question([one for one in found if one.headline], lambda one: one).values()
        for one in some
    ]
    if not rows:
        return f"{NOT_RUN.capitalize()}: {YET}."
    header = ["result", "value [95 % interval]", "ideal", "significantly off the ideal", "n"]
    return "\n\n".join([markdown(header, rows), *_unfit(records, phase)])


def off_its_ideal(reading: Reading) -> str:
    """Return whether the interval excludes the ideal value.

    The result is empty if values cannot be on both sides of it.
    """
    if reading.ideal is None or reading.quantity not in TWO_SIDED:
        return ""
    return "no" if reading.low <= reading.ideal <= reading.high else "**yes**"


def _unfit(records: list[Record], phase: str) -> list[str]:
    """Return sentences about benchmarks that were not run, grouped by reason."""
    reasons: dict[str, list[str]] = {}
    for entry in (entry for record in records for entry in record.not_run if entry.phase == phase):
        part = entry.benchmark if entry.subset == "all" else f"{entry.benchmark}/{entry.subset}"
        reasons.setdefault(entry.reason, []).append(f"`{part}`")
    named = [(", ".join(dict.fromkeys(parts)), reason) for reason, parts in reasons.items()]
    return [f"{NOT_RUN.capitalize()}: {parts}. Reason: {reason}." for parts, reason in named]


def changes(model: str, folder: Path = FOLDER) -> str:
    """Return a table of the changes in each headline reading of a model, with one column per method."""
    methods = tried(folder)[model]
    records = {one.method: one.record for one in methods if one.record is not None}
    known = {method: {key(shift.before): shift for shift in shifts(record)} for method, record in records.items()}
    readings = {name: shift.before for of in known.values() for name, shift in of.items() if shift.comparison.headline}
    ordered = [reading for some in by_question(readings.values(), lambda one: one).values() for reading in some]
    rows = [
        [title(one), *(_cell(record, known[method].get(key(one))) for method, record in records.items())]
        for one in ordered
    ]
    return "\n\n".join([*([markdown(["result", *records], rows)] if rows else []), *_not_run(methods)])


def _cell(record: Record, shift: Shift | None) -> str:
    """Return a change with its interval and any warnings about it."""
    if shift is None:
        return NOT_RUN
    return marked(_difference(shift.comparison) + TONES[shift.tone], marks_beside(record, shift.after))


def fitted(model: str) -> dict[str, partial[str]]:
    """Return the functions that make a model's tables, by their names on the page."""
    return {f"{model}_before": partial(before, model), f"{model}_changes": partial(changes, model)}


PAGES = {
    "docs/atlas.md": {
        "overview": overview,
        **{name: table for model in NAMES for name, table in fitted(model).items()},
        "qwen": qwen,
    }
}
