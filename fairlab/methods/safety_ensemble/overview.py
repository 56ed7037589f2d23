"""Data for an ensemble's report: sliced averages of every score, contributions and largest gaps.

Shape letters: N texts, F source scores.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairlab.data.safety import Judged, Predicted
from fairlab.data.safety_texts import SafetyText
from fairlab.metrics.acv import set_numbers
from fairlab.metrics.sliced_averages import SAFE, largest_gap, sliced_averages

MOST = 5  # maximum number of texts shown per subgroup
BINS = 10  # number of bins of a reliability diagram
LONGEST = 600  # maximum number of characters of a shown text
Array = NDArray[np.float64]


def ensemble_overview(judged: Mapping[str, Judged]) -> dict[str, Any]:
    """Return the report's numbers for each harm, without texts, as JSON values."""
    return {harm: _harm_figures(judged, harm) for harm in judged["after"].parts["test"].scores}


def largest_gaps(judged: Mapping[str, Judged]) -> dict[str, Any]:
    """Return the texts whose scores differ most from the mean of their set, by harm and subgroup, as JSON values."""
    part = judged["after"].parts["test"]
    return {harm: _largest(part, _truth(part, harm), _means(judged, harm)) for harm in part.scores}


def _harm_figures(judged: Mapping[str, Judged], harm: str) -> dict[str, Any]:
    part, after = judged["after"].parts["test"], judged["after"]
    texts = part.texts
    truth, models = _truth(part, harm), _means(judged, harm)
    columns = [*np.nan_to_num(after.source_scores).T, models["before"], models["after"]]
    averages, gaps = {}, []
    for category, names in _categories(texts).items():
        number = {f"{category}:{name}": k for k, name in enumerate(names)}
        slices = np.array([number.get(text.subgroup, -1) for text in texts])
        rows = np.stack([sliced_averages(column, slices, truth, SAFE, len(names))[0] for column in columns])
        gaps.append(largest_gap(rows))
        averages[category] = {
            "subgroups": names,
            "rows": [*after.features, "baseline", "debiased"],
            "values": _json(rows),
        }
    mean_gap = np.mean(np.stack(gaps), axis=0) if gaps else np.full(len(columns), np.nan)
    return {
        "features": list(after.features),
        "averages": averages,
        "reliability": reliability(truth, models["after"], np.array([text.seed for text in texts])),
        "gaps": {"features": _json(mean_gap[:-2]), "before": _json(mean_gap[-2]), "after": _json(mean_gap[-1])},
        "contributions": {
            phase: list(map(float, judged[phase].contributions.get(harm, ()))) for phase in ("before", "after")
        },
    }


def _categories(texts: Sequence[SafetyText]) -> dict[str, list[str]]:
    """Return the subgroups that texts are about, by category."""
    found: dict[str, list[str]] = {}
    for subgroup in sorted({text.subgroup for text in texts} - {""}):
        category, _, name = subgroup.partition(":")
        found.setdefault(category, []).append(name)
    return found


def _truth(part: Predicted, harm: str) -> NDArray[np.int64]:
    return np.array([text.labels.get(harm, -1) for text in part.texts])


def _means(judged: Mapping[str, Judged], harm: str) -> dict[str, Array]:
    """Return the scores (N,) of both models, averaged over repeats."""
    return {phase: judged[phase].parts["test"].scores[harm].mean(axis=0) for phase in ("before", "after")}


def reliability(truth: NDArray[np.int64], scores: Array, chosen: NDArray[np.bool_]) -> dict[str, list[float]]:
    """Return the mean score and the share of unsafe texts in ten quantile bins of the scores.

    The lists are empty unless both labels occur.

    Args:
        truth: Label of each text, (N,): 1 for unsafe, 0 for safe, -1 for unlabelled.
        scores: Score of each text, (N,), in [0, 1].
        chosen: Mask of the texts to include, (N,).
    """
    from sklearn.calibration import calibration_curve

    judged = chosen & (truth >= 0)
    if len(set(truth[judged])) < 2:
        return {"predicted": [], "observed": []}
    observed, predicted = calibration_curve(truth[judged], scores[judged], n_bins=BINS, strategy="quantile")
    return {"predicted": _json(predicted), "observed": _json(observed)}


def _largest(part: Predicted, truth: NDArray[np.int64], models: Mapping[str, Array]) -> dict[str, list[dict[str, Any]]]:
    place, _ = set_numbers([text.key if text.subgroup else None for text in part.texts])
    inside = place >= 0
    means = np.bincount(place[inside], weights=models["after"][inside]) / np.bincount(place[inside])
    gaps = np.where(inside, models["after"] - means[place] if len(means) else 0.0, 0.0)
    found: dict[str, list[dict[str, Any]]] = {}
    for k in np.argsort(-np.abs(gaps)):
        text = part.texts[k]
        entries = found.setdefault(text.subgroup, []) if inside[k] and truth[k] >= 0 else None
        if entries is not None and len(entries) < MOST:
            entries.append(
                {
                    "key": text.key,
                    "text": text.text[:LONGEST],
                    "truth": int(truth[k]),
                    "before": float(models["before"][k]),
                    "after": float(models["after"][k]),
                    "gap": float(gaps[k]),
                }
            )
    return dict(sorted(found.items()))


def _json(values: Any) -> Any:
    """Convert arrays to nested lists of rounded numbers, with None for NaN."""
    if np.ndim(values):
        return [_json(value) for value in values]
    return None if np.isnan(values) else round(float(values), 4)
