"""Model cards."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, cast

from fairlab.backbones.hub import Licence
from fairlab.record import Reading, Record
from fairlab.reporting.headlines import benchmark_title, description, key, meaning, title
from fairlab.reporting.tables.marks import failed_models, said_of_training
from fairlab.reporting.verdicts import interval_text

if TYPE_CHECKING:  # deferred import, so that --help stays fast
    from huggingface_hub import EvalResult, ModelCardData

HUB_NAME = re.compile(r"\w[\w.-]*(/[\w.-]+)?")


def model_card(record: Record, licence: Licence = None) -> str:
    """Return the Markdown card of a trained encoder, with its training, readings and limits.

    The licence is the one of the model that training started from.
    """
    config, provenance = record.config, record.provenance
    backbone, method = config["backbone"], provenance["method"]
    settings = {**config["method"], **method, "seed": config["seed"]}
    values = ", ".join(
        f"{name} {value}"
        for name, value in settings.items()
        if name not in ("_target_", "title", "limits", "citation", "pipeline")
    )
    rows = [
        f"| {title(r)} | {r.phase} | {r.value:.4g} | {interval} | {_ideal(r)} | {r.unit} | {r.n} |"
        for r in record.readings
        for interval in [interval_text(record, r, " to ")]
    ]
    said = dict.fromkeys(f"- {title(r)} (`{key(r)}`): {meaning(r)}" for r in record.readings if meaning(r))
    pooling = f"Pooling: {backbone.get('pooling')}, normalised: {str(backbone.get('normalize')).lower()}, "
    name = record.name or f"{backbone['name'].split('/')[-1]}, after {method['title']}"
    lines = [
        "---",
        _head(record, name, licence),
        "---",
        f"# {name}",
        "",
        f"Trained by fairlab {provenance['versions']['fairlab']} at {config['scale']['name']} scale from "
        f"`{backbone['name']}` (weights SHA-256 `{provenance['weights']['sha256']}`) on "
        f"{provenance['data']['trained_on']} (`{provenance['data']['path']}`, SHA-256 "
        f"`{provenance['data']['sha256']}`): {values}.",
        "",
        f"{'It reads ' if 'pipeline' in method else pooling}up to {backbone['max_length']} tokens.",
        "",
        "## Measured",
        "",
        *(f"**{text[0].upper()}{text[1:]}.**\n" for texts in failed_models(record).values() for text in texts),
        *(f"About the training: {text}.\n" for text in said_of_training(record)),
        "| reading | model | value | 95 % interval | ideal | unit | n |",
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
        *citation_lines(_citations(record)),
    ]
    return "\n".join(lines)


def citation_lines(citations: Iterable[str]) -> list[str]:
    """Return the lines of a card's citation section, or an empty list if there are no citations.

    A citation is a BibTeX entry, or a sentence that credits the authors of a component.
    """
    found = [f"```bibtex\n{one}\n```" if one.startswith("@") else one for one in dict.fromkeys(citations)]
    return ["## Citation", "", *(line for one in found for line in (one, ""))] if found else []


def _citations(record: Record) -> list[str]:
    """Return the citations of the method and the benchmarks of a run."""
    method = record.provenance["method"].get("citation")
    told = [description(reading) for reading in record.readings]
    return [*([method] if method else []), *(found.citation.strip() for found in told if found and found.citation)]


def _head(record: Record, name: str, licence: Licence) -> str:
    """Return the YAML metadata of the card, which the hub reads."""
    from huggingface_hub import ModelCardData

    library, task, tags = "sentence-transformers", "sentence-similarity", ["fairness", "debiasing"]
    if "train_entries" in record.provenance["data"]:
        library, task, tags = "transformers", "text-generation", []
    if "task" in record.provenance["data"]:
        library, task, tags = "transformers", "text-classification", []
    if "pipeline" in record.provenance["method"]:
        library, task, tags = "transformers", record.provenance["method"]["pipeline"], []
    base = record.config["backbone"]["name"]
    return ModelCardData(
        base_model=base if is_hub_name(base) else None,
        license=cast(str | None, licence),  # the hub also accepts a list
        library_name=library,
        pipeline_tag=task,
        tags=[task, *tags],
        model_name=name,
        eval_results=eval_results([r for r in record.readings if r.phase == "after"], task),
    ).to_yaml()


def _ideal(reading: Reading) -> str:
    return "" if reading.ideal is None else f"{reading.ideal:g}"


def eval_results(readings: Iterable[Reading], task: str) -> list[EvalResult] | None:
    """Convert headline readings to entries of the hub's ``model-index``, or return None if there are none."""
    from huggingface_hub import EvalResult

    found = [
        EvalResult(
            task_type=task,
            dataset_type=r.benchmark.replace("@", "."),  # the hub does not accept @
            dataset_name=f"{benchmark_title(r)}, {r.subset}",
            dataset_config=r.subset,
            metric_type=r.quantity,
            metric_name=title(r),
            metric_value=r.value,
        )
        for r in readings
        if r.headline
    ]
    return found or None


def card_with_results(card: str, readings: Iterable[Reading], name: str) -> str:
    """Return a model card with readings added to its ``model-index``.

    The readings replace older entries for the same quantities. ``name`` is used if the card does not name the model.
    """
    from huggingface_hub import ModelCard

    found = ModelCard(card, ignore_metadata_errors=True)
    data = cast("ModelCardData", found.data)
    task = data.pipeline_tag or "feature-extraction"
    results = [*(data.eval_results or []), *(eval_results(readings, task) or [])]
    newest = {(one.dataset_type, one.dataset_config, one.metric_type): one for one in results}
    data.eval_results = list(newest.values()) or None
    data.model_name = data.model_name or name
    return str(found)


def is_hub_name(name: str) -> bool:
    """Return whether the name of a model is a name on the hub, instead of the path of a folder."""
    return HUB_NAME.fullmatch(name) is not None and not Path(name).exists()
