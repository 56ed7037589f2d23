"""LightningDataModule of a user's own labelled texts, or pairs of texts, in any file of rows."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from fairlab.augmentation.perturbation import Perturbation
from fairlab.backbones.backbone import Backbone
from fairlab.data.labelled_tasks import LabelledTexts
from fairlab.data.published.tasks import Example, Task
from fairlab.data.stream.features import description_of
from fairlab.data.stream.formats import BadRow
from fairlab.data.stream.rows import read_rows
from fairlab.protocols import ExampleAugmentation
from fairlab.text.labels import as_written, distinct_labels, is_missing, label_meant, missing_label
from fairlab.text.naming import listed_names
from fairlab.text.nested import cell_at
from fairlab.types import Count, FairlabError, Fraction, Row

MOST_LABELS = 100  # maximum number of distinct labels of a column; more are scores or ids
PAIR = 2  # maximum number of texts that a classifier reads


class OwnTexts(LabelledTexts):
    """Training examples from a user's file, some of which are held out for model selection.

    Args:
        path: Path or name of the rows; see :func:`fairlab.data.stream.rows.read_rows`.
        field: Column of the text, or two columns for pairs of texts.
        label: Column of the label, or of the score if ``labels`` is empty.
        labels: Names of the labels, in the order of the classifier's outputs; None uses the values of the column, and
            an empty list means that the column holds scores.
        validation: Fraction of the rows held out, above 0 and below 1. Rows that share a first text are never split.
        batch_size: Number of rows in a training batch, over all processes.
        limit: Maximum number of training rows, taken from the start; None for all.
        encoder: Backbone whose tokenizer and maximum length are used.
        epochs: Number of passes over the training rows.
        seed: Seed of the order of the batches.
        augmentation: Augmentation that perturbs the training rows or adds to them. Held-out rows are not augmented.

    Raises:
        FairlabError: The data or a setting is invalid. The message names the file, row or key.
    """

    def __init__(
        self,
        *,
        path: str,
        field: str | Sequence[str],
        label: str,
        labels: Sequence[str] | None,
        validation: Fraction,
        batch_size: Count,
        limit: Count | None,
        encoder: Backbone,
        epochs: int,
        seed: int,
        augmentation: Perturbation | ExampleAugmentation | None = None,
    ) -> None:
        task, self._own = own_task(path, field, label, labels)
        super().__init__(
            task=task,
            path=path,
            validation=validation,
            batch_size=batch_size,
            limit=limit,
            encoder=encoder,
            epochs=epochs,
            seed=seed,
            augmentation=augmentation,
        )

    def read_examples(self) -> list[Example]:
        """Return the examples of the file."""
        return self._own


def own_task(
    path: str, field: str | Sequence[str], label: str, labels: Sequence[str] | None = None
) -> tuple[Task, list[Example]]:
    """Define a task from a user's file, and return it with the examples in order.

    Args:
        path: Path or name of the rows.
        field: Column of the text, or two columns for pairs of texts.
        label: Column of the label or score.
        labels: Names of the labels; None uses the values of the column, and an empty list means that the column holds
            scores.

    Raises:
        FairlabError: The file is missing, a row lacks text or label, there are more than two fields, or the labels are
            all equal, too many, or not in ``labels``.
    """
    fields = [field] if isinstance(field, str) else list(field)
    if len(fields) > PAIR or not isinstance(label, str):
        wrong = "label" if len(fields) <= PAIR else "field"
        raise FairlabError(f"data.{wrong} names too many columns; give one label per text, and one text or a pair")
    rows = [_sound(path, row) for row in read_rows(path, fields)]
    if not rows:
        raise FairlabError(f"{path} has no rows; give a file of labelled texts")
    classes = _classes(path, label) if labels is None or labels else ()
    written = [_label_of(path, row, label, classes) for row in rows]
    names = () if labels is not None and not labels else _names(path, label, written, labels or classes or None)
    numbers = [_number(path, row, value, label, names) for row, value in zip(rows, written, strict=True)]
    found = [
        Example(row.fields[0], row.fields[1] if len(fields) == PAIR else None, number)
        for row, number in zip(rows, numbers, strict=True)
    ]
    metrics = ("accuracy", "macro_f1") if names else ("pearson",)
    return Task(Path(path).stem or path, names, metrics, ((*fields, label),), {}, ("", "")), found


def _sound(path: str, row: Row | BadRow) -> Row:
    if isinstance(row, BadRow):
        raise FairlabError(f"{path}, {row.place}: {row.reason}; fix or remove the row, or give data.field=COLUMN")
    return row


def _classes(path: str, column: str) -> Sequence[str]:
    """Return the names of a column of type ``ClassLabel``, or an empty sequence for any other column."""
    return getattr(description_of(path).features.get(column), "names", None) or ()


def _label_of(path: str, row: Row, column: str, classes: Sequence[str]) -> str:
    """Return a label as it is written, or the name of a number in a column with named classes."""
    value = cell_at(row.extra, column)
    if value is None and column not in row.extra:
        known = listed_names(row.extra, "no other")
        raise FairlabError(f"{path} has no column '{column}'; it has: {known}; give data.label=COLUMN")
    if value is None or is_missing(value):
        raise FairlabError(f"{path}, {row.place}: the cell of '{column}' {missing_label(value)}")
    if classes and isinstance(value, int):
        if not 0 <= value < len(classes):  # -1 marks a missing label
            raise FairlabError(f"{path}, {row.place}: '{column}' has no class {value}; give a label or remove the row")
        return classes[value]
    return as_written(value)


def _names(path: str, column: str, written: Sequence[str], labels: Sequence[str] | None) -> tuple[str, ...]:
    if labels is not None:
        return tuple(map(str, labels))
    names = distinct_labels(written)
    if len(names) > MOST_LABELS:
        raise FairlabError(
            f"'{column}' of {path} has {len(names)} values; give a column of labels, or data.labels=[] for scores"
        )
    return names


def _number(path: str, row: Row, value: str, column: str, names: Sequence[str]) -> float:
    """Return the position of a label among the names. Without names, return the score."""
    if names:
        meant = label_meant(value, names)
        if meant is None:
            raise FairlabError(f"{path}, {row.place}: '{value}' in '{column}' is not in data.labels; add it there")
        return names.index(meant)
    try:
        return float(value)
    except ValueError as error:
        raise FairlabError(f"{path}, {row.place}: '{value}' in '{column}' is not a number; fix the cell") from error
