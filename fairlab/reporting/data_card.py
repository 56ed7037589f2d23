"""Dataset card with the origin, generation and columns of the data, and with metadata for the hub."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from fairlab.backbones.hub import Licence
from fairlab.data.stream.manifest import Manifest
from fairlab.data.stream.subsample import LEFT_OUT, WHOLE
from fairlab.reporting.card import citation_lines
from fairlab.rewriting.group_rewriters import NO_WORD

if TYPE_CHECKING:  # datasets takes seconds to import
    import datasets

SIZES = ((10**3, "n<1K"), (10**4, "1K<n<10K"), (10**5, "10K<n<100K"), (10**6, "100K<n<1M"), (10**7, "1M<n<10M"))
LARGEST = "n>10M"
COLUMNS = {
    "id": "number of the row in the input, or its own id",
    "axis": "axis in which the versions differ",
    "versions": "the counterfactual group: neutral, and one text per attribute",
    "source_id": "id of the input row that it comes from",
    "source_place": "place of that row in the input",
    "source_text": "its text",
    "augmentation": "what made it",
    "rewriter": "what rewrote it",
    "seed": "seed of the rewriter",
    "model": "the language model",
    "prompt_sha256": "hash of its prompt",
    "lexicon_sha256": "hash of the word lists",
    "perturbed": "whether the row's text was changed",
    "choice": "for a perturbed row: the word, its start, axis and attribute, and the target",
    "rewritten": "whether a document was rewritten",
    "gamma": "shortcut score of a rewritten document before and after",
    "changed": "changed words of each version, before and after",
    "kind": "kind of row in an expansion by biasers: entry, copy, upshift or downshift",
    "biaser": "biaser that a copy was made for",
    "replaced": "text that the biaser replaces",
    "inject": "rewriter of a version: rules or llm",
    "corrected": "whether the first pass over a version changed it",
    "upshift": "source of the longer morphs of copies",
    "summary": "source of the shorter morphs",
    "perturbability": "how likely the text is to contain demographic information",
    "check": "findings of the verifiers",
    "confidence": "confidence stated by the language model, or measured as confidence_by says",
    "confidence_by": "source of the confidence: tokens is the probability of the whole answer",
    "fallback_from": "why the first rewriter's versions were not used",
}


def data_card(
    manifest: Manifest, features: datasets.Features, licence: Licence, parts: Sequence[type[Any]] = ()
) -> str:
    """Return the content of a dataset's ``README.md``.

    Args:
        manifest: Manifest of the dataset.
        features: Types of the columns.
        licence: Name of the dataset's licence on the hub; None if it is unknown.
        parts: Classes that generated the data: the augmentation and, if there is one, the rewriter. Classes without a
            title, limits and a citation are left out.
    """
    from huggingface_hub import DatasetCardData

    described = [part for part in parts if all(hasattr(part, name) for name in ("title", "limits", "citation"))]
    source = manifest.source
    rows = [f"| {name} | {count:,} |" for name, count in manifest.rows().items()]
    made = {name: value for name, value in manifest.made_by.items() if value is not None}
    head = DatasetCardData(
        language="en",  # language of the word lists
        license=licence,
        task_categories=task_categories(features),
        size_categories=size_category(manifest.made),
        tags=["fairness", "counterfactual"],
        configs=[{"config_name": "default", "data_files": _data_files(manifest)}],
        dataset_info={"features": features._to_yaml_list()},  # datasets itself writes features into cards in this form
    )
    lines = [
        "---",
        head.to_yaml(),
        "---",
        f"# {data_title(manifest)}",
        "",
        f"Made by fairlab {manifest.fairlab} from `{source['name']}` (SHA-256 `{source['sha256']}`): "
        + ", ".join(f"{name} `{_plain(value)}`" for name, value in made.items())
        + ".",
        "",
        "| | rows |",
        "|---|---|",
        *rows,
        "",
        "## Columns",
        "",
        "| column | type | |",
        "|---|---|---|",
        *(f"| {name} | {_type(features[name])} | {COLUMNS.get(name, 'of the input')} |" for name in features),
        "",
        "## Files",
        "",
        _files(manifest),
        "",
        "## Limits",
        "",
        "The texts keep the licence of their source. Rewrites were made by machine; "
        + (
            "the report of the run says how many have the intended polarity, by word lists. Nobody"
            if manifest.counts.get("judged")
            else "nobody"
        )
        + " has read them all. Lists of words and names cover English and the listed attributes only.",
        "",
        *(f"- {part.title}: {part.limits}" for part in described),
        *[""] * bool(described),
        *citation_lines(part.citation for part in described),
    ]
    return "\n".join(lines)


def data_title(manifest: Manifest) -> str:
    """Return a short title of a dataset: the name of the augmentation and, if there is one, the axis."""
    made = manifest.made_by
    return f"{made['augmentation']}, {made['axis']}" if "axis" in made else str(made["augmentation"])


def perturbs(manifest: Manifest) -> bool:
    """Return whether a dataset was generated by perturbation."""
    return "sampling" in manifest.made_by


def size_category(rows: int) -> str:
    """Return the hub's size category for a number of rows.

    Example:
        >>> size_category(999), size_category(1000), size_category(20_000_000)
        ('n<1K', '1K<n<10K', 'n>10M')
    """
    return next((name for bound, name in SIZES if rows < bound), LARGEST)


def task_categories(features: Mapping[str, Any]) -> list[str]:
    """Return the hub's task categories for a dataset.

    They are derived from the columns: labels, counterfactual groups, or otherwise running text.
    """
    import datasets

    labelled = any(name == "label" or isinstance(one, datasets.ClassLabel) for name, one in features.items())
    found = ["text-classification"] * labelled + ["feature-extraction"] * ("versions" in features)
    return found or ["fill-mask"]


def _data_files(manifest: Manifest) -> Any:
    if manifest.splits == [""]:
        return "data-*.jsonl"
    return [{"split": split, "path": f"data-{split}-*.jsonl"} for split in manifest.splits]


def _files(manifest: Manifest) -> str:
    perturbed = " Every row is included, perturbed or unchanged; `choices.jsonl` lets you make the same data again."
    return (
        "`data-*.jsonl` is the data, `manifest.json` lists its files with their SHA-256. If present, "
        "`rejected-*.jsonl` holds rejected rewrites with the reason, and `quarantine.jsonl` rows that could "
        "not be read, with their line."
        + (" Rows without a word of the axis are only counted." if NO_WORD in manifest.counts else "")
        + (f" The data is a fair subsample of `{WHOLE}/`." if LEFT_OUT in manifest.counts else "")
        + (perturbed if perturbs(manifest) else "")
    )


def _plain(value: Any) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)


def _type(feature: Any) -> str:
    """Return a short description of a column type."""
    import datasets

    match feature:
        case datasets.ClassLabel():
            return "one of " + ", ".join(feature.names)
        case datasets.Value():
            return str(feature.dtype)
        case dict():
            return "by name"
    return type(feature).__name__.lower()
