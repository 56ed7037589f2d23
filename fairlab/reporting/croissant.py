"""Croissant metadata of a generated dataset, including the vocabulary for responsible AI (RAI).

Sources: MLCommons 2024, Croissant format specification 1.0; Croissant RAI specification 1.0.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from fairlab.backbones.hub import Licence
from fairlab.data.stream.manifest import Manifest
from fairlab.reporting.data_card import COLUMNS, data_title

if TYPE_CHECKING:  # datasets takes seconds to import
    import datasets

NAME = "croissant.json"
VOCABULARY = "http://mlcommons.org/croissant/"
RAI = f"{VOCABULARY}RAI/"
TERMS = (
    "citeAs column conformsTo equivalentProperty extract field fileObject fileProperty fileSet format includes "
    "isLiveDataset jsonPath key md5 parentField path recordSet references regex repeated replace samplingRate "
    "separator source subField transform"
)
LINES = "application/jsonlines"
KINDS = {"int": "sc:Integer", "uint": "sc:Integer", "float": "sc:Float", "bool": "sc:Boolean"}


def croissant(
    manifest: Manifest, features: datasets.Features, licence: Licence, parts: Sequence[type[Any]] = ()
) -> str:
    """Return the content of a dataset's ``croissant.json``.

    The arguments are those of :func:`fairlab.reporting.data_card.data_card`.
    """
    title, made = data_title(manifest), {k: v for k, v in manifest.made_by.items() if v is not None}
    limits = " ".join(f"{part.title}: {part.limits}" for part in parts if hasattr(part, "limits"))
    steps = ", ".join(f"{name} {value}" for name, value in made.items())
    axis = str(made.get("axis") or "the people whom texts name")
    files = {one["data"]["file"]: one["data"]["sha256"] for one in manifest.shards if "data" in one}
    described = {name: COLUMNS.get(name, "of the input") for name in features}
    fields = [_field(f"rows/{name}", name, features[name], said) for name, said in described.items()]
    content = {
        "@context": _context(),
        "@type": "sc:Dataset",
        "name": title,
        "version": "1.0.0",
        "description": f"Made by fairlab {manifest.fairlab} from {manifest.source['name']}: {steps}.",
        "conformsTo": [f"{VOCABULARY}1.0", f"{RAI}1.0"],
        **({"license": licence} if licence else {}),
        "distribution": [
            *({"@type": "cr:FileObject", "@id": name, "name": name, "contentUrl": name, "encodingFormat": LINES,
               "sha256": digest} for name, digest in files.items()),
            {"@type": "cr:FileSet", "@id": "data", "name": "data", "encodingFormat": LINES, "includes": "data-*.jsonl"},
        ],
        "recordSet": [{"@type": "cr:RecordSet", "@id": "rows", "name": "rows", "field": fields}],
        "rai:dataCollection": f"Texts of {manifest.source['name']} (SHA-256 {manifest.source['sha256']}).",
        "rai:dataManipulationProtocol": f"Rewritten by machine: {steps}. {manifest.made} rows of {manifest.read} read.",
        "rai:dataBiases": f"Word lists and names cover English and the listed attributes of {axis} only.",
        "rai:dataLimitations": limits or "Nobody has read all of the rewrites.",
        "rai:dataSocialImpact": f"Versions differ in {axis}, to train and measure models that treat people alike.",
        "rai:dataUseCases": "Training and measuring of language models for fairness.",
        "rai:personalSensitiveInformation": f"Texts name attributes of people: {axis}.",
        "rai:dataAnnotationProtocol": "Word lists or a model check each version, if checks are configured.",
    }  # fmt: skip
    return json.dumps(content, ensure_ascii=False, indent=1) + "\n"


def _context() -> dict[str, Any]:
    """Return the JSON-LD context with the terms listed in the Croissant specification."""
    own = {"data": {"@id": "cr:data", "@type": "@json"}, "dataType": {"@id": "cr:dataType", "@type": "@vocab"}}
    examples = {"examples": {"@id": "cr:examples", "@type": "@json"}}
    prefixes = {"cr": VOCABULARY, "rai": RAI, "dct": "http://purl.org/dc/terms/", "sc": "https://schema.org/"}
    terms: dict[str, Any] = {name: f"cr:{name}" for name in TERMS.split()} | {"conformsTo": "dct:conformsTo"}
    return {"@language": "en", "@vocab": "https://schema.org/", **terms, **own, **examples, **prefixes}


def _field(place: str, column: str, feature: Any, said: str, path: Sequence[str] = ()) -> dict[str, Any]:
    """Return the description of a field. A nested feature has one subfield for each of its keys."""
    found = {"@type": "cr:Field", "@id": place, "name": place, "description": said}
    if isinstance(feature, dict):
        inner = [_field(f"{place}/{name}", column, one, said, (*path, name)) for name, one in feature.items()]
        return found | {"subField": inner}
    source: dict[str, Any] = {"fileSet": {"@id": "data"}, "extract": {"column": column}}
    if path:
        source["transform"] = {"jsonPath": "$" + "".join(f"[{json.dumps(name)}]" for name in path)}
    return found | {"dataType": _kind(feature), "source": source}


def _kind(feature: Any) -> str:
    dtype = str(getattr(feature, "dtype", ""))
    return next((kind for start, kind in KINDS.items() if dtype.startswith(start)), "sc:Text")
