"""Export in the format of lm-evaluation-harness 0.4: ``results_DATE.json`` and ``samples_TASK_DATE.jsonl``.

Each part of a benchmark is a task. The metrics of a sample are the scores that the run stored for the item.
"""

from __future__ import annotations

import hashlib
import json
from datetime import UTC, datetime
from typing import Any

import numpy as np

from fairlab.checks.redaction import redacted
from fairlab.record import without_nan
from fairlab.reporting.exports.measured_model import MeasuredModel, lower_is_better, name_of_file, standard_error
from fairlab.reporting.view.items import ScoredItems, items_of


def harness_files(model: MeasuredModel) -> dict[str, str]:
    """Return the contents of the results and samples files, by file name."""
    date = datetime.now(UTC).strftime("%Y-%m-%dT%H-%M-%S.%f")
    results: dict[str, dict[str, Any]] = {}
    better: dict[str, dict[str, bool]] = {}
    versions: dict[str, int] = {}
    for reading in model.readings:
        task = name_of_file("/".join(filter(None, (reading.benchmark, reading.subset))))
        entry = results.setdefault(task, {"alias": task})
        entry[f"{reading.quantity},none"] = reading.value
        entry[f"{reading.quantity}_stderr,none"] = standard_error(reading)
        versions[task] = reading.version
        if (lower := lower_is_better(reading)) is not None:
            better.setdefault(task, {})[reading.quantity] = not lower
    samples = {name_of_file(found.name): found for found in items_of(model.record) if model.phase in found.scores}
    content = {
        "results": results,
        "configs": {
            task: {"task": task, "metadata": {"version": versions.get(task, 1)}} for task in {**results, **samples}
        },
        "versions": versions,
        "n-shot": dict.fromkeys(results, 0),
        "higher_is_better": better,
        "n-samples": {task: {"original": len(one.ids), "effective": len(one.ids)} for task, one in samples.items()},
        "config": {"model": "fairlab", "model_args": model.name},
        "model_name": model.name,
        "model_source": "fairlab",
        "lm_eval_version": f"fairlab {model.version}",
        "date": datetime.now(UTC).timestamp(),
    }
    made = {f"results_{date}.json": json.dumps(redacted(without_nan(content)), indent=1, ensure_ascii=False) + "\n"}
    for task, found in samples.items():
        made[f"samples_{task}_{date}.jsonl"] = "".join(_samples(found, model.phase))
    return made


def _samples(found: ScoredItems, phase: str) -> list[str]:
    rows = []
    for k, values in enumerate(found.scores[phase]):
        scores = {name: float(value) for name, value in zip(found.values, values, strict=True) if np.isfinite(value)}
        document = {"id": found.ids[k], "texts": list(found.texts[k]) if found.texts and found.free else []}
        text = json.dumps(document, sort_keys=True)
        row = {
            "doc_id": found.ids[k],
            "doc": document,
            "target": "",
            "arguments": {},
            "resps": [],
            "filtered_resps": [],
        }
        row |= {"filter": "none", "metrics": list(scores), "doc_hash": hashlib.sha256(text.encode()).hexdigest()}
        rows.append(json.dumps({**row, **scores}, ensure_ascii=False) + "\n")
    return rows
