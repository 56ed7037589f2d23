"""Tables for the documentation page about agreement with official code."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from experiments.rendering import markdown

RECORDS = Path(__file__).parent / "records"
MODELS = ("minilm_mlm", "mpnet", "smollm2", "tiny_mlm", "tiny_causal", "no model")
OFFICIAL = {
    "seat": "bias-bench, SEAT",
    "seat_p": "sent-bias, SEAT",
    "wefe": "WEFE, WEAT",
    "crows_pairs": "CrowS-Pairs, metric.py",
    "crows_pairs_meade": "bias-bench, CrowS-Pairs",
    "stereoset": "StereoSet",
    "stereoset_meade": "bias-bench, StereoSet",
    "sentence_debias": "bias-bench, SentenceDebias, then SEAT",
    "inlp": "bias-bench, INLP, then SEAT",
    "inlp_intercept": "bias-bench, INLP with intercepts, then SEAT",
    "holistic_bias": "HolisticBias, sentences",
}


def comparisons() -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Yield the model, the kind and the results of every comparison in the records."""
    for model in MODELS:
        file = RECORDS / f"{model.replace(' ', '_')}.json"
        record = json.loads(file.read_text(encoding="utf-8")) if file.is_file() else {"kinds": {}}
        for kind in OFFICIAL:
            if kind in record["kinds"]:
                yield model, kind, record["kinds"][kind]


def summary() -> str:
    """Return a table of the number of values, the largest difference and the seconds for each model and code."""
    rows = []
    for model, kind, found in comparisons():
        apart = max(abs(a - b) for key, (a, b) in found["values"].items() if not key.endswith("/p"))
        theirs, ours = found["seconds"]
        rows.append(
            [
                model,
                OFFICIAL[kind],
                ", ".join(found["types"]) or "all",
                str(len(found["values"])),
                f"{apart:.1g}",
                f"{theirs:.1f}",
                f"{ours:.1f}",
                f"{theirs / ours:.1f}",
            ]
        )
    header = [
        "model",
        "official code",
        "subset",
        "values compared",
        "largest difference",
        "seconds, official code",
        "seconds, fairlab",
        "speedup",
    ]
    return markdown(header, rows)


def projections() -> str:
    """Return a table of the distances between the projections of INLP and SentenceDebias."""
    rows = []
    for model, kind, found in comparisons():
        if "projections" in found:
            one = found["projections"]
            theirs, ours = one["dimensions"]
            name = OFFICIAL[kind].removesuffix(", then SEAT")
            degrees = [f"{one[key]:.2g}" if key in one else "" for key in ("first_degrees", "degrees", "own_degrees")]
            rows.append([model, name, str(theirs), str(ours), *degrees, f"{one['entry']:.1g}"])
    header = ["model", "official code", "dimensions, official code", "dimensions, fairlab"]
    header += ["angle (degrees), first classifier", "angle (degrees), all classifiers"]
    header += ["angle (degrees), fairlab on its own embeddings", "largest difference of an entry"]
    return markdown(header, rows)


def cells() -> str:
    """Return a table of all values, official and fairlab's, with their differences."""
    rows = [
        [model, OFFICIAL[kind], f"`{key}`", f"{a:.5g}", f"{b:.5g}", f"{b - a:+.1g}"]
        for model, kind, found in comparisons()
        for key, (a, b) in found["values"].items()
    ]
    return markdown(["model", "official code", "result", "official value", "fairlab's value", "difference"], rows)


def counted() -> str:
    """Return a sentence with the number of compared values and models."""
    found = list(comparisons())
    values = sum(len(one["values"]) for _, _, one in found)
    models = {model for model, _, _ in found}
    of_sentences = " and of generated sentences, which need no model" if "no model" in models else ""
    return f"We compare {values} values of {len(models - {'no model'})} models{of_sentences}."


def commits() -> str:
    """Return a table of the commits of the official code and of fairlab."""
    found = {(one["repository"], one["commit"]) for _, _, one in comparisons()}
    found |= {("fairlab", one["fairlab"]) for _, _, one in comparisons()}
    return markdown(["repository", "commit"], [[name, f"`{commit}`"] for name, commit in sorted(found)])


PAGES = {
    "experiments/agreement/README.md": {
        "summary": summary,
        "projections": projections,
        "counted": counted,
        "cells": cells,
        "commits": commits,
    }
}
