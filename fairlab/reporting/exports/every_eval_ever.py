"""Export in the format of Every Eval Ever, version 0.3.0 of its schema.

The schema states whether lower values are better, and does not include ideal values. For a reading that can be on both
sides of its ideal value, ``lower_is_better`` refers to the distance from the ideal value, which is listed as ``ideal``
in ``additional_details``. Items are not exported, because the schema requires the answer to every item and whether it
is correct.

Source: https://github.com/evaleval/every_eval_ever, eval.schema.json.
"""

from __future__ import annotations

import json
import math
from datetime import UTC, datetime
from typing import Any
from uuid import uuid4

from fairlab.checks.redaction import redacted
from fairlab.metrics.bootstrap import RESAMPLES
from fairlab.record import Reading
from fairlab.reporting.exports.measured_model import OWNED, MeasuredModel, lower_is_better, name_of_file, standard_error
from fairlab.reporting.headlines import benchmark_title, judging_rules, meaning, title
from fairlab.reporting.tables.marks import marks_beside
from fairlab.reporting.verdicts import corrected_interval

SCHEMA = "0.3.0"
LOCAL = "local"  # developer of a model without an owner; the store refuses unknown developers
NEAREST = "nearer to the ideal value is better, on either side of it"


def eee_files(model: MeasuredModel) -> dict[str, str]:
    """Return the content of the exported file, by its path in a collection of Every Eval Ever files."""
    published = OWNED.fullmatch(model.name) and (model.phase != "after" or model.record.name)
    developer, _, name = model.name.partition("/") if published else (LOCAL, "", model.name.rpartition("/")[2])
    name = name_of_file(name).strip("_") or "model"
    now = f"{datetime.now(UTC).timestamp():.6f}"
    content = {
        "schema_version": SCHEMA,
        "evaluation_id": f"fairlab/{developer}/{name}/{now}",
        "retrieved_timestamp": now,
        "source_metadata": {
            "source_name": "fairlab",
            "source_type": "evaluation_run",
            "source_organization_name": "unknown",
            "evaluator_relationship": "other",
        },
        "eval_library": {"name": "fairlab", "version": model.version},
        "model_info": {
            "name": model.name,
            "id": f"{developer}/{name}",
            "developer": developer,
            "additional_details": {"deployment_type": "unknown", "model_availability": "unknown"}
            | ({"weights_sha256": model.weights} if model.weights else {}),
        },
        "evaluation_results": [_result(model, reading) for reading in model.readings],
    }
    return {
        f"data/fairlab/{developer}/{name}/{uuid4()}.json": json.dumps(redacted(content), indent=1, ensure_ascii=False)
        + "\n"
    }


def _result(model: MeasuredModel, reading: Reading) -> dict[str, Any]:
    info, lower = judging_rules(reading), lower_is_better(reading)
    details = {"version_of_definition": str(reading.version), "subset": reading.subset or "all"}
    if reading.ideal is not None:
        details["ideal"] = f"{reading.ideal:g}"
        details |= {"direction": NEAREST} if lower is None else {}
    if marks := marks_beside(model.record, reading):
        details["heed"] = "; ".join(marks)
    name = "/".join(filter(None, (reading.benchmark, reading.subset, reading.quantity)))
    return {
        "evaluation_result_id": name,
        "evaluation_name": name,
        "source_data": {"dataset_name": benchmark_title(reading), "source_type": "other"},
        "metric_config": {
            "evaluation_description": meaning(reading) or title(reading),
            "metric_id": f"fairlab.{reading.benchmark}.{reading.quantity}",
            "metric_name": title(reading),
            "metric_unit": reading.unit or "none",
            "lower_is_better": lower is not False,
            "score_type": "continuous",
            "min_score": info.low if info and info.low is not None else "-Infinity",
            "max_score": info.high if info and info.high is not None else "Infinity",
            "additional_details": details,
        },
        "score_details": {"score": reading.value, "uncertainty": _uncertainty(model, reading)},
        "generation_config": {"additional_details": {"command": model.record.command or "from Python"}},
    }


def _uncertainty(model: MeasuredModel, reading: Reading) -> dict[str, Any]:
    """Return the corrected interval, the standard error and the number of items.

    If there are too few items for an interval, return only their number.
    """
    low, high = corrected_interval(model.record, reading)
    if math.isnan(low):
        return {"num_samples": reading.n}
    return {
        "standard_error": {"value": standard_error(reading), "method": "bootstrap"},
        "confidence_interval": {"lower": low, "upper": high, "confidence_level": 0.95, "method": "bootstrap"},
        "num_samples": reading.n,
        "num_bootstrap_samples": RESAMPLES,
    }
