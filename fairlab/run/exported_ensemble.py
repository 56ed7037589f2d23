"""Loading of an exported ensemble from its folder."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fairlab.files import holds_run
from fairlab.run.config.build import build

if TYPE_CHECKING:  # imported lazily so that --help is fast
    from fairlab.methods.safety_ensemble.exported.columns import Columns
    from fairlab.methods.safety_ensemble.exported.export import Ensemble
    from fairlab.methods.safety_ensemble.sources.combined import Sources

Given = Mapping[str, Mapping[str, Any]]


def model_folder(path: Path) -> Path:
    """Return the folder of an exported ensemble: ``model`` if the path is the folder of a run, else the path itself."""
    return path / "model" if holds_run(path) else path


def load_columns(
    folder: str, cache: str | None, given: Given, *, source_scores: bool = False, versions: bool = False
) -> Columns:
    """Load an exported ensemble, and return the scorer that adds its columns to texts."""
    from fairlab.methods.safety_ensemble.exported.columns import Columns

    ensemble, sources = load_with_sources(folder, cache, given)
    return Columns(ensemble, sources, source_scores=source_scores, versions=versions)


def load_with_sources(folder: str, cache: str | None = None, given: Given | None = None) -> tuple[Ensemble, Sources]:
    """Load an exported ensemble with its sources.

    Args:
        folder: Folder of the ensemble.
        cache: File that stores source scores, or None to store no scores.
        given: Settings by source name, such as addresses, that override the stored settings.

    Raises:
        FairlabError: The ensemble does not exist, or it names a class that must not be used.
    """
    from fairlab.methods.safety_ensemble.exported.export import load_ensemble
    from fairlab.methods.safety_ensemble.exported.trust import read_sources
    from fairlab.methods.safety_ensemble.sources.combined import Sources

    ensemble = load_ensemble(Path(folder))
    nodes = read_sources(Path(folder), given or {})
    return ensemble, Sources([build(node) for node in nodes.values()], cache=cache)
