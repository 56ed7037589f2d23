"""Runs of a matrix that fine-tune each encoder on each task, with a new head for each task.

The matrix key ``tasks`` holds the overrides for fine-tuning by task and scale. The key ``encoders`` holds the model
that fine-tuning starts from by encoder and scale. A sentence instead of overrides states why there is no such run.
The run for a task and an encoder is called ``TASK_ENCODER``. ``ENCODER`` in an override is replaced by the encoder's
name.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

ENCODER = "ENCODER"


def task_runs(content: Mapping[str, Any], scale: str) -> dict[str, dict[str, Any]]:
    """Return the runs for all encoders and tasks at a scale, in the form that runs have in a matrix."""
    return {
        f"{task}_{encoder}": {
            "options": False,
            scale: _overrides(encoder, settings.get(scale, ""), start.get(scale, "")),
        }
        for encoder, start in content.get("encoders", {}).items()
        for task, settings in content.get("tasks", {}).items()
    }


def _overrides(encoder: str, of_task: list[str] | str, of_encoder: list[str] | str) -> list[str] | str:
    """Return the overrides of a fine-tuning run, or the reason why there is no such run.

    If the task names its own backbone, the encoder's overrides are left out.
    """
    if isinstance(of_encoder, str):
        return of_encoder
    if isinstance(of_task, str):
        return of_task
    names_its_own = any(part.startswith("backbone") for part in of_task)
    return [part.replace(ENCODER, encoder) for part in (*of_task, *([] if names_its_own else of_encoder))]


def with_tasks(row: Any, columns: Sequence[str], content: Mapping[str, Any]) -> Any:
    """Add to a matrix row the fine-tuning runs that provide its task columns.

    These are runs of the row's ``encoder`` or, without this key, of the encoder with the same name as the row's run. If
    there is no such encoder, no runs are added.
    """
    of_row: dict[str, Any] = {"run": row} if isinstance(row, str) else dict(row)
    encoder = of_row.pop("encoder", of_row.get("run"))
    if encoder not in content.get("encoders", {}):
        return of_row
    tasks = content.get("tasks", {})
    runs = {column: f"{task}_{encoder}" for column in columns if (task := column.partition("/")[0]) in tasks}
    return of_row | {"runs": runs | of_row.get("runs", {})}
