"""Model cards."""

from __future__ import annotations

from fairlab.record import Reading, Record
from fairlab.reporting.headlines import key, meaning, title


def model_card(record: Record) -> str:
    """Markdown card of a trained encoder: what it is, what made it, what was measured, its limits."""
    config, provenance = record.config, record.provenance
    backbone, method = config["backbone"], provenance["method"]
    settings = {**config["method"], **method, "seed": config["seed"]}
    values = ", ".join(
        f"{name} {value}" for name, value in settings.items() if name not in ("_target_", "title", "limits", "pipeline")
    )
    rows = [
        f"| {title(r)} | {r.phase} | {r.value:.4g} | {r.low:.4g} to {r.high:.4g} | {_ideal(r)} | {r.unit} | {r.n} |"
        for r in record.readings
    ]
    said = dict.fromkeys(f"- {title(r)} (`{key(r)}`): {meaning(r)}" for r in record.readings if meaning(r))
    kind = ["library_name: sentence-transformers", "tags: [sentence-similarity, fairness, debiasing]"]
    if "train_entries" in provenance["data"]:
        kind = ["library_name: transformers", "tags: [text-generation]"]
    if "task" in provenance["data"]:
        kind = ["library_name: transformers", "tags: [text-classification]"]
    pooling = f"Pooling: {backbone.get('pooling')}, normalised: {str(backbone.get('normalize')).lower()}, "
    if "pipeline" in method:
        kind, pooling = ["library_name: transformers", f"tags: [{method['pipeline']}]"], "It reads "
    lines = [
        "---",
        *kind,
        f"base_model: {backbone['name']}",
        "---",
        f"# {backbone['name'].split('/')[-1]}, after {method['title']}",
        "",
        f"Trained by fairlab {provenance['versions']['fairlab']} at {config['scale']['name']} scale from "
        f"`{backbone['name']}` (weights SHA-256 `{provenance['weights']['sha256']}`) on "
        f"{provenance['data']['trained_on']} (`{provenance['data']['path']}`, SHA-256 "
        f"`{provenance['data']['sha256']}`): {values}.",
        "",
        f"{pooling}up to {backbone['max_length']} tokens.",
        "",
        "## Measured",
        "",
        "| what was measured | model | value | 95 % interval | ideal | unit | n |",
        "|---|---|---|---|---|---|---|",
        *rows,
        "",
        "What the numbers mean, with their keys in `metrics.json`:",
        "",
        *said,
        "",
        "## Limits",
        "",
        method["limits"],
        "",
    ]
    return "\n".join(lines)


def _ideal(reading: Reading) -> str:
    return "" if reading.ideal is None else f"{reading.ideal:g}"
