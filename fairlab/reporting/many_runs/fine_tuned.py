"""Runs of a matrix that fine-tune every encoder on every task, with a new head for each task.

The matrix key ``tasks`` holds the overrides of a fine-tuning by task and scale. The key ``encoders`` holds the starting
point of each fine-tuning by encoder and scale. A sentence instead of overrides says why there is none.
The run of a task and an encoder is called ``TASK_ENCODER``. ``ENCODER`` in an override is replaced by the encoder's
name.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

ENCODER = "ENCODER"


def task_runs(content: Mapping[str, Any], scale: str) -> dict[str, dict[str, Any]]:
    """Return the runs of a scale for every encoder and task, in the form of the runs written out in a matrix."""
    return {
        f"{task}_{encoder}": {
            "options": False,
            scale: _overrides(encoder, settings.get(scale, ""), start.get(scale, "")),
        }
        for encoder, start in content.get("encoders", {}).items()
        for task, settings in content.get("tasks", {}).items()
    }


def _overrides(encoder: str, of_task: list[str] | str, of_encoder: list[str] | str) -> list[str] | str:
    """Return the overrides of a fine-tuning run, or why it is missing; a task's own backbone takes precedence."""
    if isinstance(of_encoder, str):
        return of_encoder
    if isinstance(of_task, str):
        return of_task
    names_its_own = any(part.startswith("backbone") for part in of_task)
    return [part.replace(ENCODER, encoder) for part in (*of_task, *([] if names_its_own else of_encoder))]


def with_tasks(row: Any, columns: Sequence[str], content: Mapping[str, Any]) -> Any:
    """Return a matrix row extended by the fine-tuning runs that its task columns are read from.

    The runs belong to the row's ``encoder``, or to the encoder with the name of the row's run. A row without either is
    returned unchanged.
    """
    of_row: dict[str, Any] = {"run": row} if isinstance(row, str) else dict(row)
    encoder = of_row.pop("encoder", of_row.get("run"))
    if encoder not in content.get("encoders", {}):
        return of_row
    tasks = content.get("tasks", {})
    runs = {column: f"{task}_{encoder}" for column in columns if (task := column.partition("/")[0]) in tasks}
    return of_row | {"runs": runs | of_row.get("runs", {})}
