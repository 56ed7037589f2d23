"""Best settings of a sweep by validation, judged by the median over seeds of a task's measure.

Source: Qian et al. 2022, "Perturbation Augmentation for Fairer NLP", appendix H: "select the best hyperparameter values
based on the median validation accuracy of 3 runs for each task".
"""

from __future__ import annotations

import re
import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from fairlab.record import Record
from fairlab.reporting.tables.grouping import Choice
from fairlab.reporting.tables.marks import training_notes

ERROR = "validation/error"  # key in a run's history: 1 minus the task's measure on held-out training examples
BESIDES = (ERROR, "validation/loss")
# Settings that are compared, because they do not change the task, the model or the held-out examples.
TRIED = re.compile(r"(method|trainer)\..+|data\.batch_size")


@dataclass(frozen=True)
class Chosen:
    """Best settings by validation among those tried for one task.

    Attributes:
        of: Settings that were not tried but distinguish runs, such as the task.
        settings: Chosen values.
        measure: Name of the task's measure.
        median: Median of the measure over seeds.
        values: Measure of each run, in the order of ``seeds``.
        seeds: Seeds of the runs.
        tried: Number of settings compared.
    """

    of: dict[str, str]
    settings: dict[str, str]
    measure: str
    median: float
    values: list[float]
    seeds: list[int | None]
    tried: int


def validation_measure(record: Record) -> tuple[str, float] | None:
    """Return the name and value of the measure on held-out training examples by which a run chose its weights.

    The value is the best over all validations, because the weights of that validation are kept. The result is None if
    the run has no task with a measure that is comparable between settings; a loss is not comparable if a setting is
    part of it.
    """
    rows = [row for row in record.history if row.get(ERROR) is not None]
    if not rows:
        return None
    best = min(rows, key=lambda row: row[ERROR])
    name = next((key for key in best if key.startswith("validation/") and key not in BESIDES), ERROR)
    return name.removeprefix("validation/"), 1 - best[ERROR]


def best_by_median(values: Iterable[Sequence[float]]) -> int:
    """Return the index of the values with the highest median; the first in a tie.

    Raises:
        ValueError: There are no values.
    """
    medians = [statistics.median(some) for some in values]
    return medians.index(max(medians))


def chosen_by_validation(choices: Sequence[Choice]) -> list[Chosen]:
    """Return the settings with the best median over seeds, for every task or other setting that was not tried.

    No benchmark's reading takes part, and settings of a run that did not train are never the best. The result is empty
    if no setting was varied.

    Args:
        choices: Finished runs of a sweep, in the order in which they were run.
    """
    grouped: dict[tuple[tuple[str, str], ...], list[tuple[Choice, str, list[float]]]] = {}
    for choice in choices:
        measured = [found for found in map(validation_measure, choice.runs) if found is not None]
        if measured and len(measured) == len(choice.runs):
            of = tuple((key, value) for key, value in choice.settings.items() if not TRIED.fullmatch(key))
            grouped.setdefault(of, []).append((choice, measured[0][0], [value for _, value in measured]))
    found = []
    for of, tried in grouped.items():
        trained = [one for one in tried if not any(note.mark for run in one[0].runs for note in training_notes(run))]
        if len(tried) > 1 and trained:
            choice, measure, values = trained[best_by_median(values for _, _, values in trained)]
            settings = {key: value for key, value in choice.settings.items() if TRIED.fullmatch(key)}
            median = statistics.median(values)
            found.append(Chosen(dict(of), settings, measure, median, values, choice.seeds, len(tried)))
    return found
