"""Which of the values that a sweep tried is best by validation: the median of a task's measure over seeds.

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

ERROR = "validation/error"  # in a run's history: 1 less the task's measure on the training examples held out
BESIDES = (ERROR, "validation/loss")
# Settings whose values are tried against one another: those that leave the task, the model and the examples held out as
# they are.
TRIED = re.compile(r"(method|trainer)\..+|data\.batch_size")


@dataclass(frozen=True)
class Chosen:
    """The values that are best by validation, of those tried for one task.

    Attributes:
        of: what was not tried but told apart, such as the task.
        settings: the values chosen.
        measure: name of the task's measure.
        median: its median over seeds.
        values: the measure of each run, in the order of ``seeds``.
        seeds: of the runs.
        tried: how many settings were compared.
    """

    of: dict[str, str]
    settings: dict[str, str]
    measure: str
    median: float
    values: list[float]
    seeds: list[int | None]
    tried: int


def validation_measure(record: Record) -> tuple[str, float] | None:
    """Name and value of the measure by which a run chose its weights, on training examples that were held out.

    It is the best of all validations, since the weights of that one are kept. None where the run has no task whose
    measure can be compared between settings: a loss cannot where a setting is part of it.
    """
    rows = [row for row in record.history if row.get(ERROR) is not None]
    if not rows:
        return None
    best = min(rows, key=lambda row: row[ERROR])
    name = next((key for key in best if key.startswith("validation/") and key not in BESIDES), ERROR)
    return name.removeprefix("validation/"), 1 - best[ERROR]


def best_by_median(values: Iterable[Sequence[float]]) -> int:
    """Place of the values with the highest median; of several, the first.

    Raises:
        ValueError: there are none.
    """
    medians = [statistics.median(some) for some in values]
    return medians.index(max(medians))


def chosen_by_validation(choices: Sequence[Choice]) -> list[Chosen]:
    """For every task, and whatever else was not tried but told apart, the settings with the best median over seeds.

    No benchmark's reading takes part. Where nothing was tried there is nothing to choose.

    Args:
        choices: the finished runs of a sweep, in the order in which they were run.
    """
    grouped: dict[tuple[tuple[str, str], ...], list[tuple[Choice, str, list[float]]]] = {}
    for choice in choices:
        measured = [found for found in map(validation_measure, choice.runs) if found is not None]
        if measured and len(measured) == len(choice.runs):
            of = tuple((key, value) for key, value in choice.settings.items() if not TRIED.fullmatch(key))
            grouped.setdefault(of, []).append((choice, measured[0][0], [value for _, value in measured]))
    found = []
    for of, tried in grouped.items():
        if len(tried) > 1:
            choice, measure, values = tried[best_by_median(values for _, _, values in tried)]
            settings = {key: value for key, value in choice.settings.items() if TRIED.fullmatch(key)}
            median = statistics.median(values)
            found.append(Chosen(dict(of), settings, measure, median, values, choice.seeds, len(tried)))
    return found
