"""Fitted ensembles in a folder that is safe to load: arrays in safetensors, and a description in JSON."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairlab.files import inside, sha256, write_whole
from fairlab.methods.safety_ensemble.averaging import turned_scores
from fairlab.methods.safety_ensemble.exported.arrays import read_arrays, write_arrays
from fairlab.methods.safety_ensemble.exported.trust import (
    ARRAYS,
    DESCRIPTION,
    IDENTITIES,
    is_file_of_words,
    read_description,
)
from fairlab.methods.safety_ensemble.sources.combined import Sources
from fairlab.methods.safety_ensemble.sources.stored_scores import StoredScores
from fairlab.rewriting.identities import SUBGROUPS
from fairlab.rewriting.references import References
from fairlab.text.naming import listed_names
from fairlab.types import FairlabError

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Ensemble:
    """Ensemble of models, loaded from an export folder.

    Attributes:
        models: Calibrated model for each harm.
        description: Features, versions of the sources and hashes, as stored next to the models.
        references: Rewriter to the reference groups over which scores are averaged; None to score only the original
            texts.
    """

    models: Mapping[str, Any]
    description: Mapping[str, Any]
    references: References | None = None

    @property
    def identities(self) -> list[str]:
        """Return the names of the lexicons that made the versions of the training texts.

        Older exports name no lexicons; the versions of their training texts were made with ``subgroups``.
        """
        return list(self.description.get("identities", [SUBGROUPS]))

    @property
    def thresholds(self) -> dict[str, float]:
        """Return, for each harm that has a threshold, the score from which a text is labelled unsafe."""
        return {harm: entry["threshold"] for harm, entry in self.description["harms"].items() if "threshold" in entry}

    def score(self, sources: Sources, texts: list[str]) -> dict[str, Array]:
        """Return the scores (N,) of texts for each harm.

        Raises:
            FairlabError: The sources differ from the sources that the ensemble was trained on.
        """
        self.refuse_others(sources)
        _, features, owner = self.features(sources, texts)
        return self.of_features(features, owner)

    def features(self, sources: Sources, texts: Sequence[str]) -> tuple[Array, Array, NDArray[np.int64] | None]:
        """Return source scores of texts (N, F), inputs of the models (K, F), and the text index of each input (K,).

        Without reference groups, the inputs are the source scores of the texts, and the indices are None.
        """
        if self.references is None:
            found = sources.score(texts)
            return found, found, None
        return turned_scores(sources, texts, self.references)

    def of_features(self, features: Array, owner: NDArray[np.int64] | None = None) -> dict[str, Array]:
        """Return the scores (N,) for each harm from source scores (N, F), or (K, F) with text indices (K,)."""
        found = self.models.items()
        return {harm: model.score(features, owner) if len(features) else np.empty(0) for harm, model in found}

    def refuse_others(self, sources: Sources) -> None:
        """Raise FairlabError if the sources or their versions differ from the sources in training."""
        versions = {source.name: source.version for source in sources.sources}
        trained: Mapping[str, str] = self.description["sources"]
        if sources.features != self.description["features"] or versions.keys() != trained.keys():
            raise FairlabError(
                f"the ensemble was trained on the scores {listed_names(self.description['features'])}, not on "
                f"{listed_names(sources.features)}; give the former, or train again"
            )
        for source in sources.sources:
            if source.version != (version := trained[source.name]):
                same = (
                    f"; if its scores are from the same version of the classifier, add +sources.{source.name}.version="
                )
                raise FairlabError(
                    f"the ensemble was trained with version {version} of the source {source.name}, not with version "
                    f"{source.version}; use the former, or train again"
                    + (f"{same}{version}" if isinstance(source, StoredScores) else "")
                )


def save_ensemble(
    models: Mapping[str, Any],
    sources: Sources,
    folder: Path,
    thresholds: Mapping[str, float] | None = None,
    identities: Sequence[str] = (SUBGROUPS,),
    average: bool = False,
) -> Path:
    """Write a file of arrays for each harm, and the description with any chosen thresholds.

    User-defined lexicons are copied, so that new texts are rewritten with the same words. If scores are averaged over
    reference groups, the description contains a hash of their words.
    """
    folder.mkdir(parents=True, exist_ok=True)
    harms = {}
    for harm, model in models.items():
        file = folder / f"{harm}{ARRAYS}"
        write_arrays(model.pipelines, file)
        harms[harm] = {"file": file.name, "sha256": sha256(file), "slope": model.slope, "intercept": model.intercept}
        if thresholds and harm in thresholds:
            harms[harm]["threshold"] = thresholds[harm]
    described = sources.facts() | {"harms": harms, "identities": copied_lexicons(identities, folder)}
    if average:
        described["references"] = References(identities).sha256
    write_whole(folder / DESCRIPTION, json.dumps(described, indent=1) + "\n")
    return folder / DESCRIPTION


def copied_lexicons(identities: Sequence[str], folder: Path) -> list[str]:
    """Copy user-defined lexicon files to an ensemble's folder, and return all lexicons' names in the folder."""
    found = []
    for name in identities:
        if is_file_of_words(name):
            place = Path(IDENTITIES) / Path(name).name
            (folder / IDENTITIES).mkdir(parents=True, exist_ok=True)
            write_whole(folder / place, Path(name).read_text(encoding="utf-8"))
            found.append(place.as_posix())
        else:
            found.append(name)
    return found


def load_ensemble(folder: Path) -> Ensemble:
    """Load an exported ensemble without running any code from its files.

    Raises:
        FairlabError: The folder has no ensemble, a file was changed, or a file has content that does not belong to an
            ensemble.
    """
    from fairlab.methods.safety_ensemble.model import HarmModel

    description = read_description(folder)
    models = {}
    for harm, entry in description["harms"].items():
        file = _check_hash(folder / entry["file"], entry.get("sha256"))
        fitted = read_arrays(file)
        if not fitted or {len(one.medians) for one in fitted} != {len(description["features"])}:
            raise FairlabError(
                f"{file} holds models of scores that {DESCRIPTION} does not name; export the ensemble again"
            )
        models[harm] = HarmModel(fitted, entry["slope"], entry["intercept"])
    return Ensemble(models, description, _references(folder, description))


def _references(folder: Path, description: Mapping[str, Any]) -> References | None:
    """Return the rewriter to reference groups that an export requires, or None.

    Raises:
        FairlabError: The rewriter's words differ from the words at export.
    """
    if (expected := description.get("references")) is None:
        return None
    found = References(description.get("identities", [SUBGROUPS]))
    if found.sha256 != expected:
        raise FairlabError(
            f"{folder} averages its scores over reference groups with words that differ from this fairlab's; use the "
            "fairlab and the lexicons that it was exported with, or train it again"
        )
    return found


def _check_hash(file: Path, expected: object) -> Path:
    """Return a file after checking its hash against the description."""
    if not inside(file.parent, file.name, str(file.parent)).is_file() or sha256(file) != expected:
        raise FairlabError(f"{file} is not the file that was exported; export the ensemble again")
    return file
