"""Scores of single items from the output of an evaluation tool."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from fairlab.types import FairlabError

Array = NDArray[np.float64]


@dataclass(frozen=True)
class TaskScores:
    """Scores of one model on the N items of a task, by one metric.

    Attributes:
        task: name of the task.
        metric: name of the metric.
        ids: identifiers of the items, without repetition.
        texts: hashes of the items' inputs, each as ``KIND:HASH``, in the order of ``ids``; empty if the tool kept no
            inputs. Different kinds are hashes of different things, such as a document and a prompt.
        values: scores, (N,).
        clusters: group of each item, such as the passage that its question is about; empty if there are no groups.
        higher_is_better: direction of the metric; None if the tool does not state it.
        reported: aggregate that the tool itself reported; None if it reported none.
        settings: settings other than the model that the scores depend on: template, shots, version of the task.
    """

    task: str
    metric: str
    ids: tuple[str, ...]
    values: Array
    texts: tuple[str, ...] = ()
    clusters: tuple[str, ...] = ()
    higher_is_better: bool | None = None
    reported: float | None = None
    settings: Mapping[str, str] = field(default_factory=dict)

    @property
    def mean(self) -> float:
        """Return the mean score over the items."""
        return float(self.values.mean())


@dataclass(frozen=True)
class ToolRun:
    """Scores of one model from an evaluation tool.

    Attributes:
        name: name of the model.
        tool: name and version of the tool.
        place: file that the scores were read from.
        tasks: scores by task and metric.
        left_out: tasks and metrics of the file that hold no scores of items, with the reason.
    """

    name: str
    tool: str
    place: Path
    tasks: tuple[TaskScores, ...]
    left_out: tuple[str, ...] = ()


def item_scores(
    task: str,
    metric: str,
    rows: Sequence[tuple[str, float, str, str]],
    **more: object,
) -> TaskScores:
    """Return scores with one value per item: the mean if an item was answered several times.

    Args:
        task: name of the task.
        metric: name of the metric.
        rows: identifier, score, hash of the input and group of each answer; the last two may be empty.
        more: further attributes of :class:`TaskScores`.

    Raises:
        FairlabError: there are no rows, a score is not finite, or an identifier belongs to several items.
    """
    if not rows:
        raise FairlabError(f"{task} contains no item with a score by {metric}; choose another metric")
    grouped: dict[str, list[tuple[str, float, str, str]]] = {}
    for row in rows:
        grouped.setdefault(row[0], []).append(row)
    values = np.array([np.mean([score for _, score, _, _ in answers]) for answers in grouped.values()])
    if not np.isfinite(values).all():
        bad = list(grouped)[int(np.flatnonzero(~np.isfinite(values))[0])]
        raise FairlabError(f"item {bad} of {task} has no finite score by {metric}; remove it, or score it again")
    for name, answers in grouped.items():
        if len({answer[2] for answer in answers}) > 1:
            raise FairlabError(
                f"item {name} of {task} occurs several times with different inputs; give each item its own id"
            )
    texts = tuple(answers[0][2] for answers in grouped.values())
    clusters = tuple(answers[0][3] for answers in grouped.values())
    if any(clusters):  # an item without a group is its own group
        clusters = tuple(group or f"item {name}" for group, name in zip(clusters, grouped, strict=True))
    return TaskScores(
        task,
        metric,
        tuple(grouped),
        values,
        texts=texts if all(texts) else (),
        clusters=clusters if all(clusters) else (),
        **more,  # type: ignore[arg-type]
    )


def text_hash(text: str) -> str:
    """Return a short hash for comparing the inputs of two tools, ignoring white space at both ends.

    Example:
        >>> text_hash(" What is 1 plus 1?") == text_hash("What is 1 plus 1?")
        True
    """
    return "text:" + hashlib.sha256(text.strip().encode("utf-8", "surrogatepass")).hexdigest()[:16]
