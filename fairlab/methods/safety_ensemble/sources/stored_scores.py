"""Scores that were computed elsewhere, read from a table."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from fairlab.data.stream.formats import BadRow, found_in
from fairlab.files import sha256
from fairlab.methods.safety_ensemble.sources.base import LONGEST, Array, Source
from fairlab.text.reading import read_json_lines, read_table_rows
from fairlab.types import DataUnavailable, FairlabError


class StoredScores(Source):
    """Source of scores that were computed elsewhere, for example by a closed API, from a table or from stored replies.

    A JSON Lines file holds rows with a text and its scores, or replies of a moderation API with their texts: OpenAI's
    ``results`` with ``category_scores``, or Perspective's ``attributeScores``. Replies may be nested in ``response`` or
    ``body``.

    Args:
        path: Path of the file; every column except the text column holds one score.
        name: Name of the source, unique within an ensemble.
        version: Version of the scores' provider; None uses the file's hash.
        column: Name of the column that holds the text.
        outputs: Names of the score columns to use; None for all.

    Raises:
        DataUnavailable: The file does not exist.
        FairlabError: The file is not a table, has no scores, lacks one of ``outputs``, has a row without a text, or has
            two different scores for the same text.
    """

    title = "scores computed elsewhere"
    limits = "Only texts in the file have scores, so an ensemble with this source cannot score new texts."
    citation = "The scores belong to the author of the file."
    paths = ("path",)
    asks_of_turned = False

    def __init__(
        self,
        *,
        path: str,
        name: str = "stored",
        version: str | None = None,
        column: str = "text",
        outputs: Sequence[str] | None = None,
    ) -> None:
        self.name = name
        file = Path(path)
        if not file.is_file():
            raise DataUnavailable(f"{path} is not a file of scores; {how_to_store(column, outputs)}")
        self.version = version or sha256(file)
        rows = _table(file, column)
        if not rows or column not in rows[0] or len(rows[0]) < 2:
            raise FairlabError(f"{path} must hold rows with the column '{column}' and at least one column of scores")
        if missing := [name for name in outputs or () if name not in rows[0]]:
            raise FairlabError(f"{path} has no column '{missing[0]}'; {how_to_store(column, outputs)}")
        self.outputs = tuple(outputs or (key for key in rows[0] if key != column))
        self.held: dict[str, list[float]] = {}
        for number, row in enumerate(rows, start=1):
            if not row[column]:
                raise FairlabError(
                    f"{path}, row {number} has no text in the column '{column}'; add it, or remove the row"
                )
            values = [_number(row[key], f"{path}, row {number}, column {key}") for key in self.outputs]
            if not np.array_equal(self.held.setdefault(str(row[column])[:LONGEST], values), values, equal_nan=True):
                raise FairlabError(
                    f"{path}, row {number}: an earlier row has other scores for this text; keep one of the rows"
                )

    def covers(self, texts: Sequence[str]) -> bool:
        """Return whether the file holds at least one of the texts."""
        return any(text[:LONGEST] in self.held for text in texts)

    def score(self, texts: Sequence[str]) -> Array:
        """Return the scores (N, F), with NaN for texts that are not in the file."""
        unknown = [np.nan] * len(self.outputs)
        return np.array([self.held.get(text, unknown) for text in texts], dtype=np.float64)


def how_to_store(column: str, outputs: Sequence[str] | None) -> str:
    """Describe the required content of a file of stored scores, as part of a message."""
    named = "its scores" if outputs is None else f"the scores {', '.join(outputs)}"
    return (
        "score all texts of the data and their versions, and write a CSV, Parquet or JSONL file with the column "
        f"'{column}' and {named}"
    )


def _table(file: Path, column: str) -> list[dict[str, Any]]:
    """Return the rows of a table.

    Raises:
        FairlabError: The scores of a row have different names from the scores of the first row.
    """
    if file.suffix == ".jsonl":
        rows = [(place, reply_scores(row, column)) for place, row in read_json_lines(file)]
        for place, row in rows:
            if row.keys() != rows[0][1].keys():
                other = sorted(row.keys() ^ rows[0][1].keys())
                raise FairlabError(f"{place} has scores that the first row lacks ({', '.join(other)}); keep one kind")
        return [row for _, row in rows]
    if file.suffix == ".parquet":
        # Parquet files have no bad rows
        return [item[1] for item in found_in(str(file))[""] if not isinstance(item, BadRow)]
    return [row for _, row in read_table_rows(file)]


def reply_scores(row: Any, column: str) -> dict[str, Any]:
    """Return the text and the scores of one JSON line: a flat row, or a reply of a moderation API.

    Example:
        >>> reply_scores({"text": "a", "results": [{"category_scores": {"hate": 0.5}}]}, "text")
        {'text': 'a', 'hate': 0.5}
    """
    if not isinstance(row, dict):
        return {}
    reply: Any = next((row[key] for key in ("response", "body") if isinstance(row.get(key), dict)), row)
    reply = reply["body"] if isinstance(reply.get("body"), dict) else reply  # a batch nests the body in the response
    results = reply.get("results")
    first = results[0] if isinstance(results, list) and results and isinstance(results[0], dict) else reply
    found = first.get("category_scores")
    if isinstance(reply.get("attributeScores"), dict):
        found = {name: _summary_score(one) for name, one in reply["attributeScores"].items()}
    if not isinstance(found, dict):
        return row
    return {column: row.get(column, row.get("input")), **found}


def _summary_score(attribute: Any) -> Any:
    """Return the value of an attribute in a reply of Perspective, or None if it has none."""
    summary = attribute.get("summaryScore") if isinstance(attribute, dict) else None
    return summary.get("value") if isinstance(summary, dict) else None


def _number(value: object, place: str) -> float:
    """Convert a cell to a score, which is NaN if the cell is empty."""
    if value is None or value == "":
        return float("nan")
    try:
        score = float(str(value))
    except ValueError:
        score = math.inf
    if math.isinf(score):
        raise FairlabError(f"{place}: a score must be a number, not '{value}'; correct it, or empty the cell")
    return score
