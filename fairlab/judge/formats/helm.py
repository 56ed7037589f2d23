"""Reader of HELM runs: the statistics per instance in ``per_instance_stats.json`` next to ``run_spec.json``."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from fairlab.judge.opening import LARGEST, json_object, json_value, neighbour, number, part, parts
from fairlab.judge.scores import ToolRun, item_scores, text_hash
from fairlab.types import FairlabError

TOOL = "HELM"
CITATION = r"""
@article{liang2023holistic,
  title = {Holistic Evaluation of Language Models},
  author = {Liang, Percy and Bommasani, Rishi and Lee, Tony and others},
  journal = {Transactions on Machine Learning Research},
  year = {2023},
}
"""
STATS, SPEC, STATE = "per_instance_stats.json", "run_spec.json", "scenario_state.json"
AGGREGATES = "stats.json"
HOUSEKEEPING = ("num_", "finish_reason", "inference_", "training_", "prompt_truncated", "max_prob", "batch_size")


def recognises(path: Path) -> bool:
    """Return whether a file contains the per-instance statistics of a run."""
    return path.name == STATS


def read(path: Path) -> ToolRun:
    """Read all metrics of all instances. Perturbed instances are left out.

    Raises:
        FairlabError: A file does not have HELM's format, or no instance has a metric.
    """
    if not path.with_name(SPEC).is_file():
        raise FairlabError(f"{path} has no {SPEC} next to it; give the whole folder of HELM's run")
    spec = json_object(neighbour(path, SPEC))
    adapter = part(spec, "adapter_spec")
    texts = _texts(neighbour(path, STATE))
    rows: dict[str, list[tuple[str, float, str, str]]] = {}
    for entry in _list(path):
        if entry.get("perturbation"):
            continue
        for stat in parts(entry, "stats"):
            name = str(part(stat, "name").get("name"))
            value = number(stat.get("mean"))
            if value is not None and not name.startswith(HOUSEKEEPING):
                item = str(entry.get("instance_id"))
                rows.setdefault(name, []).append((item, value, texts.get(item, ""), ""))
    if not rows:
        raise FairlabError(f"{path} contains no metric of an instance; let HELM's scenario finish")
    settings = {
        key: str(adapter[key])
        for key in ("instructions", "input_prefix", "output_prefix", "max_train_instances", "temperature", "method")
        if adapter.get(key) is not None
    }
    task = re.sub("[,:]model=[^,]*", "", str(spec.get("name")))
    printed = _aggregates(neighbour(path, AGGREGATES))
    tasks = tuple(
        item_scores(task, name, some, reported=printed.get(name), settings=settings) for name, some in rows.items()
    )
    return ToolRun(str(adapter.get("model")), TOOL, path, tasks)


def _texts(state: Path) -> dict[str, str]:
    """Return the hash of each instance's input, by id. The mapping is empty if the run did not store its state."""
    if not state.is_file() or state.stat().st_size > LARGEST:
        return {}
    found = {}
    for request in parts(json_object(state), "request_states"):
        instance = part(request, "instance")
        found[str(instance.get("id"))] = text_hash(str(part(instance, "input").get("text")))
    return found


def _aggregates(stats: Path) -> dict[str, float]:
    """Return the mean that HELM reported for each metric over unperturbed instances, if it is unique."""
    found: dict[str, list[float]] = {}
    for stat in _list(stats) if stats.is_file() else []:
        name, value = part(stat, "name"), number(stat.get("mean"))
        if value is not None and not name.get("perturbation"):
            found.setdefault(str(name.get("name")), []).append(value)
    return {name: values[0] for name, values in found.items() if len(values) == 1}


def _list(path: Path) -> list[dict[str, Any]]:
    content = json_value(path)
    if not isinstance(content, list):
        raise FairlabError(f"{path} does not have HELM's format: it contains no list of instances")
    return [entry for entry in content if isinstance(entry, dict)]
