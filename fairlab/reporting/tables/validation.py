"""Selection of the best settings of a sweep by the median validation score over seeds.

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

ERROR = "validation/error"  # key in a run's history: 1 minus the task's metric on held-out training examples
BESIDES = (ERROR, "validation/loss")
# Settings that are compared, because they do not change the task, the model or the held-out examples.
TRIED = re.compile(r"(method|trainer)\..+|data\.batch_size")


@dataclass(frozen=True)
class Chosen:
    """Settings of a sweep with the best validation score for one task.

    Attributes:
        of: Settings that distinguish runs but were not tuned, such as the task.
        settings: Selected values of the tuned settings.
        measure: Name of the validation metric.
        median: Median of the metric over seeds.
        values: Metric of each run, in the order of ``seeds``.
        seeds: Seeds of the runs.
        tried: Number of combinations of settings that were compared.
    """

    of: dict[str, str]
    settings: dict[str, str]
    measure: str
    median: float
    values: list[float]
    seeds: list[int | None]
    tried: int


def validation_measure(record: Record) -> tuple[str, float] | None:
    """Return the name and value of the validation metric by which a run selected its weights.

    The value is the best over all validations during training, because the run keeps the weights of that validation.
    The result is None if the run has no metric that can be compared between settings. The loss cannot be compared,
    because settings can change how it is computed.
    """
    rows = [row for row in record.history if row.get(ERROR) is not None]
    if not rows:
        return None
    best = min(rows, key=lambda row: row[ERROR])
    name = next((key for key in best if key.startswith("validation/") and key not in BESIDES), ERROR)
    return name.removeprefix("validation/"), 1 - best[ERROR]


def best_by_median(values: Iterable[Sequence[float]]) -> int:
    """Return the index of the list of values with the highest median; the first one if there is a tie.

    Raises:
        ValueError: There are no lists.
    """
    medians = [statistics.median(some) for some in values]
    return medians.index(max(medians))


def chosen_by_validation(choices: Sequence[Choice]) -> list[Chosen]:
    """Return the settings with the best median over seeds, for each task or other combination of settings not tuned.

    Readings of benchmarks are not used, and settings of runs that did not train are never selected. The result is empty
    if no setting was varied. The choices are in the order in which they were run.
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
