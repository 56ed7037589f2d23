"""Reader of lm-evaluation-harness results with samples, as written with ``--log_samples``.

A run consists of ``results_DATE.json`` and the files ``samples_TASK_DATE.jsonl`` with the same date, in the format of
version 0.4.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from fairlab.judge.opening import beginning, json_object, json_objects, neighbour, number, part
from fairlab.judge.scores import TaskScores, ToolRun, item_scores, text_hash
from fairlab.types import FairlabError

TOOL = "lm-evaluation-harness"
CITATION = r"""
@misc{eval-harness,
  title = {The Language Model Evaluation Harness},
  author = {Gao, Leo and Tow, Jonathan and Abbasi, Baber and Biderman, Stella and others},
  year = {2024},
  publisher = {Zenodo},
  doi = {10.5281/zenodo.12608602},
}
"""
VERSION = "0.4"
TEMPLATE = ("doc_to_text", "doc_to_target", "doc_to_choice", "description", "fewshot_delimiter", "target_delimiter")


def recognises(path: Path) -> bool:
    """Return whether a file is the results file of a run."""
    return path.suffix == ".json" and path.name.startswith("results") and '"results"' in beginning(path)


def read(path: Path) -> ToolRun:
    """Read the scores of all samples of a run.

    Raises:
        FairlabError: The file does not have the format of version 0.4, or there are no samples with numeric scores.
    """
    content = json_object(path)
    results, configs = content.get("results"), content.get("configs")
    if not isinstance(results, dict) or not isinstance(configs, dict):
        raise FairlabError(
            f"{path} does not have the format of lm-evaluation-harness 0.4: it has no 'results' and 'configs'"
        )
    version = str(content.get("lm_eval_version") or VERSION)
    if not version.startswith((VERSION, "fairlab ")):  # fairlab's own files have the format of version 0.4
        raise FairlabError(f"{path} has version {version} of lm-evaluation-harness; {VERSION} can be read")
    date = path.stem.removeprefix("results").removeprefix("_")
    samples = {str(task): neighbour(path, f"samples_{task}_{date}.jsonl") for task in configs}
    kept = {task: file for task, file in samples.items() if file.is_file()}
    tasks = [scores for task, file in kept.items() for scores in _task(task, file, content)]
    if kept and not tasks:
        raise FairlabError(
            f"{path} has samples, but none has a numeric score; choose a metric that scores single items"
        )
    if not tasks:
        raise FairlabError(
            f"{path} has no file of samples next to it (samples_TASK_{date}.jsonl); run the tool with --log_samples"
        )
    name = content.get("model_name") or content.get("model_source") or path.parent.name
    left_out = [f"{task} has no file of samples" for task in samples if task not in kept and task in results]
    scored = {(scores.task, scores.metric.partition(",")[0]) for scores in tasks}
    left_out += [
        f"{task}, {metric} has no score of a sample that is a number"
        for task in kept
        for metric in _metric_names(results, task)
        if (task, metric) not in scored and not metric.endswith("_stderr")
    ]
    return ToolRun(Path(str(name)).name, f"{TOOL} {version}", path, tuple(tasks), tuple(left_out))


def _metric_names(results: Mapping[str, Any], task: str) -> list[str]:
    """Return the names of the metrics that the results report for a task."""
    return list(dict.fromkeys(name.partition(",")[0] for name in part(results, task) if "," in name))


def _task(task: str, samples: Path, content: Mapping[str, Any]) -> list[TaskScores]:
    """Read the scores of a task, and return one entry per metric and filter."""
    rows: dict[tuple[str, str], list[tuple[str, float, str, str]]] = {}
    unscored: Counter[tuple[str, str]] = Counter()
    printed = _metric_names(content["results"], task)
    for place, sample in enumerate(json_objects(samples), 1):
        metrics = sample.get("metrics", printed)  # versions before 0.4.5 name them only in the results
        if not isinstance(metrics, list):
            raise FairlabError(f"{samples}, line {place} has no list 'metrics'; run the tool again with --log_samples")
        if sample.get("doc_id") is None:
            raise FairlabError(f"{samples}, line {place} has no doc_id; run the tool again with --log_samples")
        for metric in map(str, metrics):
            value = number(sample.get(metric))
            key = metric, str(sample.get("filter", "none"))
            unscored[key] += value is None
            if value is not None:
                rows.setdefault(key, []).append((str(sample.get("doc_id")), value, _hash(sample), ""))
    settings = _settings(task, content)
    better = part(part(content, "higher_is_better"), task)
    reported = part(content["results"], task)
    return [
        item_scores(
            task,
            metric if name == "none" else f"{metric},{name}",
            some,
            higher_is_better=better[metric] if isinstance(better.get(metric), bool) else None,
            reported=number(reported.get(f"{metric},{name}")),
            settings=settings,
            unscored=unscored[metric, name],
        )
        for (metric, name), some in rows.items()
    ]


def _hash(sample: Mapping[str, Any]) -> str:
    """Return the hash of an item's document, which does not depend on the prompt template."""
    given = sample.get("doc_hash")
    return f"document:{given}" if given else text_hash(json.dumps(sample.get("doc"), sort_keys=True))


def _settings(task: str, content: Mapping[str, Any]) -> dict[str, str]:
    config = part(content["configs"], task)
    found = {
        "shots": part(content, "n-shot").get(task),
        "version of the task": part(content, "versions").get(task),
        "chat template": (content.get("chat_template_sha") or None),
        "system instruction": (content.get("system_instruction_sha") or None),
        **{name: config.get(name) for name in TEMPLATE},
    }
    return {name: str(value) for name, value in found.items() if value is not None}
