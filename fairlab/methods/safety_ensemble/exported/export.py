"""Fitted ensembles in a folder that is safe to load: files that run no code, and a description in JSON.

The models of a harm lie there twice: as a skops file, for scikit-learn, and as plain arrays, which are what scores.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairlab.files import replaced_when_written, sha256, write_whole
from fairlab.methods.safety_ensemble.exported.arrays import read_arrays, write_arrays
from fairlab.methods.safety_ensemble.exported.trust import DESCRIPTION, inside, load_fitted, read_description
from fairlab.methods.safety_ensemble.sources.combined import Sources
from fairlab.types import FairlabError

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Ensemble:
    """Models that were read back.

    Attributes:
        models: the calibrated model of each harm.
        description: features, versions of the sources and hashes, as kept beside the models.
    """

    models: Mapping[str, Any]
    description: Mapping[str, Any]

    @property
    def thresholds(self) -> dict[str, float]:
        """Score from which a text is named unsafe, of the harms that have one."""
        return {harm: entry["threshold"] for harm, entry in self.description["harms"].items() if "threshold" in entry}

    def score(self, sources: Sources, texts: list[str]) -> dict[str, Array]:
        """Scores (N,) of texts by harm.

        Raises:
            FairlabError: the sources are not those the ensemble was trained on.
        """
        self.refuse_others(sources)
        return self.of_features(sources.score(texts))

    def of_features(self, features: Array) -> dict[str, Array]:
        """Scores (N,) by harm of source scores (N, F)."""
        return {harm: model.score(features) if len(features) else np.empty(0) for harm, model in self.models.items()}

    def refuse_others(self, sources: Sources) -> None:
        """Raise where sources, or their versions, are not those the ensemble was trained on.

        Raises:
            FairlabError: they are not.
        """
        versions = {source.name: source.version for source in sources.sources}
        if sources.features != self.description["features"] or versions != self.description["sources"]:
            raise FairlabError(
                f"the ensemble was trained on {self.description['sources']} and not on {versions}; use those sources, "
                "or train anew"
            )


def save_ensemble(
    models: Mapping[str, Any], sources: Sources, folder: Path, thresholds: Mapping[str, float] | None = None
) -> None:
    """Write a skops file and one of arrays for each harm, and last the description, with thresholds that were chosen.

    Boosting, and the logistic regression in its place, have no form as arrays: there the skops file is alone.
    """
    import skops.io

    folder.mkdir(parents=True, exist_ok=True)
    harms = {}
    for harm, model in models.items():
        file = folder / f"{harm}.skops"
        with replaced_when_written(file) as temporary:
            skops.io.dump(list(model.pipelines), temporary)
        harms[harm] = {
            "file": file.name,
            "sha256": sha256(file),
            "slope": model.slope,
            "intercept": model.intercept,
        }
        arrays = folder / f"{harm}.npz"
        if write_arrays(model.pipelines, arrays):
            harms[harm] |= {"arrays": arrays.name, "arrays_sha256": sha256(arrays)}
        if thresholds and harm in thresholds:
            harms[harm]["threshold"] = thresholds[harm]
    write_whole(folder / DESCRIPTION, json.dumps(sources.facts() | {"harms": harms}, indent=1) + "\n")


def load_ensemble(folder: Path) -> Ensemble:
    """Read an exported ensemble; nothing in its files is run.

    Raises:
        FairlabError: there is none, a file was changed, or it holds what no ensemble holds.
    """
    from fairlab.methods.safety_ensemble.model import HarmModel

    description = read_description(folder)
    models = {}
    for harm, entry in description["harms"].items():
        file = _as_exported(folder / entry["file"], entry.get("sha256"))
        if "arrays" in entry:  # an older export, and one of boosting, has none
            fitted = read_arrays(_as_exported(folder / entry["arrays"], entry.get("arrays_sha256")))
        else:
            fitted = load_fitted(file)
        models[harm] = HarmModel(fitted, entry["slope"], entry["intercept"])
    return Ensemble(models, description)


def _as_exported(file: Path, expected: object) -> Path:
    """A file whose hash is the one in the description."""
    if not inside(file).is_file() or sha256(file) != expected:
        raise FairlabError(f"{file} is not the file that was exported; export the ensemble anew")
    return file
