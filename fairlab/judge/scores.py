"""Scores of single items, as read from the output of an evaluation tool."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from fairlab.types import FairlabError

Array = NDArray[np.float64]
ROUNDED = 0.006  # largest relative difference that rounding to two decimals can cause
LARGEST = 1e100  # largest absolute score; squares of larger scores overflow


@dataclass(frozen=True)
class TaskScores:
    """Scores of one model on the N items of a task, for one metric.

    Attributes:
        task: Name of the task.
        metric: Name of the metric.
        ids: Distinct ids of the items.
        texts: Hash of each item's input, as ``KIND:HASH``; empty if the tool stored no inputs. The kind states what was
            hashed, such as the document or the prompt.
        values: Scores, (N,).
        clusters: Group of each item, such as the passage that a question is about; empty if there are no groups.
        higher_is_better: Whether higher scores are better; None if the tool does not state it.
        reported: Aggregate score that the tool itself reported; None if it reported none.
        settings: Settings other than the model on which the scores depend: template, shots, version of the task.
        repeated: Number of items with several scores, which are averaged.
        unscored: Number of answers without a numeric score, which are left out.
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
    repeated: int = 0
    unscored: int = 0

    @property
    def mean(self) -> float:
        """Return the mean score over all items."""
        return float(self.values.mean())

    @property
    def remarks(self) -> list[str]:
        """Return one sentence per reason why the mean may differ from what the tool or its user takes it to be."""
        name = f"{self.task}, {self.metric}: "
        found = []
        if self.unscored:
            found.append(f"{name}{self.unscored} answers have no numeric score and are left out")
        if self.repeated:
            found.append(f"{name}{self.repeated} of {len(self.ids)} items have several scores, which are averaged")
        if self.reported is not None and abs(self.mean - self.reported) > ROUNDED * max(1.0, abs(self.reported)):
            found.append(
                f"{name}the tool reports {self.reported:.4g}, but the scores of its items average {self.mean:.4g}"
            )
        return found


@dataclass(frozen=True)
class ToolRun:
    """Scores of one model, as reported by an evaluation tool.

    Attributes:
        name: Name of the model.
        tool: Name and version of the tool.
        place: File from which the scores were read.
        tasks: One entry per task and metric.
        left_out: Tasks and metrics in the file without item scores, with the reasons.
    """

    name: str
    tool: str
    place: Path
    tasks: tuple[TaskScores, ...]
    left_out: tuple[str, ...] = ()


def item_scores(task: str, metric: str, rows: Sequence[tuple[str, float, str, str]], **more: object) -> TaskScores:
    """Collect scores with one value per item. Several answers to an item are averaged.

    ``rows`` has the item id, score, input hash and group of each answer; the hash and the group can be empty. ``more``
    are other attributes of :class:`TaskScores`.

    Raises:
        FairlabError: There are no rows, a score is not finite or too large, or several items have the same id.
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
    if (huge := np.abs(values) > LARGEST).any():
        bad = list(grouped)[int(huge.argmax())]
        raise FairlabError(
            f"item {bad} of {task} has a score beyond {LARGEST:g} by {metric}; give scores on another scale"
        )
    for name, answers in grouped.items():
        if len({answer[2] for answer in answers}) > 1:
            raise FairlabError(
                f"item {name} of {task} occurs several times with different inputs; give each item its own id"
            )
    texts = tuple(answers[0][2] for answers in grouped.values())
    clusters = tuple(answers[0][3] for answers in grouped.values())
    if any(clusters):  # an item without a group forms its own group
        clusters = tuple(group or f"item {name}" for group, name in zip(clusters, grouped, strict=True))
    return TaskScores(
        task,
        metric,
        tuple(grouped),
        values,
        texts=texts if all(texts) else (),
        clusters=clusters if all(clusters) else (),
        repeated=sum(len(answers) > 1 for answers in grouped.values()),
        **more,  # type: ignore[arg-type]
    )


def text_hash(text: str) -> str:
    """Return a short hash of an input, for matching the items of two tools. Surrounding white space is ignored.

    Example:
        >>> text_hash(" What is 1 plus 1?") == text_hash("What is 1 plus 1?")
        True
    """
    return "text:" + hashlib.sha256(text.strip().encode("utf-8", "surrogatepass")).hexdigest()[:16]
