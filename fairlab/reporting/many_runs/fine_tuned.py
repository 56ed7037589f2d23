"""Runs of a matrix that fine-tune encoders on tasks: every encoder that it names under a new head for every task.

A matrix says ``tasks``, the overrides of a fine-tuning by task and scale, and ``encoders``, what each fine-tuning
starts from, by encoder and scale; where either is a sentence, it says why there is no such run. The run of a task and
an encoder is called ``TASK_ENCODER``, and ``ENCODER`` in an override stands for the encoder's name.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

ENCODER = "ENCODER"


def task_runs(content: Mapping[str, Any], scale: str) -> dict[str, dict[str, Any]]:
    """Runs of a scale, in the form of those that a matrix writes out, for every encoder and task."""
    return {
        f"{task}_{encoder}": {
            "options": False,
            scale: _overrides(encoder, settings.get(scale, ""), start.get(scale, "")),
        }
        for encoder, start in content.get("encoders", {}).items()
        for task, settings in content.get("tasks", {}).items()
    }


def _overrides(encoder: str, of_task: list[str] | str, of_encoder: list[str] | str) -> list[str] | str:
    """The overrides of a fine-tuning, or why there is none; a task that names a backbone starts from that one."""
    if isinstance(of_encoder, str):
        return of_encoder
    if isinstance(of_task, str):
        return of_task
    names_its_own = any(part.startswith("backbone") for part in of_task)
    return [part.replace(ENCODER, encoder) for part in (*of_task, *([] if names_its_own else of_encoder))]


def with_tasks(row: Any, columns: Sequence[str], content: Mapping[str, Any]) -> Any:
    """A row of a matrix with the runs that its columns of tasks are read from.

    They are those of the row's ``encoder``, or of the encoder with the name of its run; a row with neither stays as it
    is.
    """
    of_row: dict[str, Any] = {"run": row} if isinstance(row, str) else dict(row)
    encoder = of_row.pop("encoder", of_row.get("run"))
    if encoder not in content.get("encoders", {}):
        return of_row
    tasks = content.get("tasks", {})
    runs = {column: f"{task}_{encoder}" for column in columns if (task := column.partition("/")[0]) in tasks}
    return of_row | {"runs": runs | of_row.get("runs", {})}
