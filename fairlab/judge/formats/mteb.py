"""Reader of MTEB results: one JSON file per task, with scores by split and language.

MTEB does not store scores of single items, so tasks serve as items. Two models are compared on the tasks that both ran
with the same splits, languages and revision of the data.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from fairlab.judge.opening import beginning, ending, json_object, neighbour, number, part, parts
from fairlab.judge.scores import ToolRun, item_scores, text_hash
from fairlab.types import FairlabError

TOOL = "MTEB"
CITATION = r"""
@inproceedings{muennighoff2023mteb,
  title = {{MTEB}: Massive Text Embedding Benchmark},
  author = {Muennighoff, Niklas and Tazi, Nouamane and Magne, Lo{\"i}c and Reimers, Nils},
  booktitle = {Proceedings of the 17th Conference of the European Chapter of the Association for Computational
    Linguistics},
  year = {2023},
  doi = {10.18653/v1/2023.eacl-main.148},
}
"""
META = "model_meta.json"
ENDS = 1 << 16  # number of characters read at each end of a file to recognise it


def recognises(path: Path) -> bool:
    """Return whether a file describes a model whose results are in the same folder."""
    return path.name == META and any(_is_task(file) for file in path.parent.glob("*.json"))


def read(path: Path) -> ToolRun:
    """Read the main scores of all tasks, as the items of a single task.

    Raises:
        FairlabError: A file is damaged or has no main score.
    """
    meta = json_object(path)
    rows, versions = [], set()
    for file in (neighbour(path, one.name) for one in sorted(path.parent.glob("*.json"))):
        if _is_task(file):
            content = json_object(file)
            versions.add(str(content.get("mteb_version")))
            name = str(content.get("task_name"))
            rows.append((name, _main_score(content, file), text_hash(f"{name}: {_data_key(content)}"), ""))
    scores = item_scores("tasks of MTEB", "main score", rows, higher_is_better=True)
    return ToolRun(str(meta.get("name")), f"{TOOL} {', '.join(sorted(versions))}", path, (scores,))


def _is_task(file: Path) -> bool:
    """Return whether a file contains a task's results. Its keys can come before or after scores of any length."""
    ends = beginning(file, ENDS) + ending(file, ENDS)
    return file.name != META and '"mteb_version"' in ends and '"task_name"' in ends


def _data_key(content: dict[str, Any]) -> str:
    """Return a text that identifies the data of a task: its revision, splits and languages."""
    splits = part(content, "scores")
    subsets = sorted(f"{split}/{entry.get('hf_subset')}" for split in splits for entry in parts(splits, split))
    return f"{content.get('dataset_revision')} {' '.join(subsets)}"


def _main_score(content: dict[str, Any], file: Path) -> float:
    """Return the mean of a task's main scores over splits and languages."""
    splits = content.get("scores")
    entries = [entry for split in splits for entry in parts(splits, split)] if isinstance(splits, dict) else []
    values = [number(entry.get("main_score")) for entry in entries]
    if not values or any(value is None for value in values):
        raise FairlabError(f"{file} contains no main_score; evaluate the task again")
    return float(np.mean([value for value in values if value is not None]))
