"""Export in the format of MTEB: ``model_meta.json`` and one file per benchmark, with scores by subset.

The main score of a subset is its first headline reading, or its first reading if it has no headline reading.
"""

from __future__ import annotations

import json
from typing import Any

from fairlab.checks.redaction import redacted
from fairlab.reporting.exports.measured_model import MeasuredModel, name_of_file


def benchmark_files(model: MeasuredModel) -> dict[str, str]:
    """Return the contents of the files, by file name."""
    found: dict[str, Any] = {
        "model_meta.json": {"name": model.name, "revision": model.weights or "unknown", "framework": ["fairlab"]}
    }
    for benchmark, readings in model.by_benchmark().items():
        parts: dict[str, dict[str, object]] = {}
        for reading in sorted(readings, key=lambda one: not one.headline):
            name = reading.subset or "default"
            part = parts.setdefault(name, {"hf_subset": name, "languages": ["eng-Latn"], "main_score": reading.value})
            part[reading.quantity] = reading.value
        content = {
            "dataset_revision": f"fairlab-definition-{readings[0].version}",
            "task_name": f"fairlab.{benchmark}",
            "mteb_version": f"fairlab {model.version}",
            "scores": {"test": list(parts.values())},
            "evaluation_time": 0.0,
            "kg_co2_emissions": None,
        }
        found["fairlab." + name_of_file(benchmark) + ".json"] = content
    return {name: json.dumps(redacted(content), indent=2, ensure_ascii=False) + "\n" for name, content in found.items()}
