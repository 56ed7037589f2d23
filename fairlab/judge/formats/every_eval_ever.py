"""Reader of Every Eval Ever records and their instance-level files.

A record is a JSON object with ``schema_version`` and ``evaluation_results``. Its samples are the JSON lines of a file
with the same stem and the ending ``_samples.jsonl``.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from fairlab.judge.opening import beginning, json_object, json_objects, neighbour, number, part, parts
from fairlab.judge.scores import TaskScores, ToolRun, item_scores, text_hash
from fairlab.types import FairlabError

TOOL = "Every Eval Ever"
VERSION = "0."


def recognises(path: Path) -> bool:
    """Return whether a file is a record of Every Eval Ever."""
    head = beginning(path) if path.suffix == ".json" else ""
    return '"schema_version"' in head and '"evaluation_id"' in head


def read(path: Path) -> ToolRun:
    """Read the scores of all samples of a record.

    Raises:
        FairlabError: The record has an unsupported schema version, has no samples file, or lacks required fields.
    """
    content = json_object(path)
    if not (version := str(content.get("schema_version"))).startswith(VERSION):
        raise FairlabError(
            f"{path} has version {version} of {TOOL}'s schema, but only {VERSION}x can be read; "
            "convert the results again"
        )
    samples = neighbour(path, f"{path.stem}_samples.jsonl")
    if not samples.is_file():
        raise FairlabError(f"{path} has no file of samples next to it ({samples.name}), so no items can be compared")
    rows: dict[tuple[str, str], list[tuple[str, float, str, str]]] = {}
    for place, sample in enumerate(json_objects(samples), 1):
        value = number(part(sample, "evaluation").get("score"))
        if value is None or "sample_id" not in sample:
            raise FairlabError(f"{samples}, line {place} has no sample_id or no score; convert the results again")
        key = str(sample.get("evaluation_name")), str(sample.get("evaluation_result_id") or "")
        text = text_hash(str(part(sample, "input").get("raw")))
        rows.setdefault(key, []).append((str(sample["sample_id"]), value, text, ""))
    tasks = tuple(_task(name, result, some, content) for (name, result), some in rows.items())
    library, model = part(content, "eval_library"), part(content, "model_info")
    tool = f"{TOOL} {content.get('schema_version')}, from {library.get('name')} {library.get('version')}"
    return ToolRun(str(model.get("name") or model.get("id")), tool, path, tasks)


def _task(name: str, result_id: str, rows: list[tuple[str, float, str, str]], content: Mapping[str, Any]) -> TaskScores:
    results = parts(content, "evaluation_results")
    matching = [one for one in results if result_id and one.get("evaluation_result_id") == result_id]
    result = next(iter(matching or [one for one in results if one.get("evaluation_name") == name]), {})
    config, details = part(result, "metric_config"), part(result, "score_details")
    lower = config.get("lower_is_better")
    given = part(part(result, "generation_config"), "generation_args")
    return item_scores(
        name,
        str(config.get("metric_name") or config.get("metric_id") or "score"),
        rows,
        higher_is_better=None if lower is None else not lower,
        reported=number(details.get("score")),
        settings={key: str(value) for key, value in given.items() if value is not None},
    )
