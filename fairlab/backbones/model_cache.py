"""Models in fairlab's own cache: one folder per hub name, with a manifest of the hashes of its files."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from fairlab.checks.foreign import read_object
from fairlab.types import FairlabError

MANIFEST = "manifest.json"
FETCH = "python -m experiments.real_models.fetch"  # lists the models it can download


@dataclass(frozen=True)
class PinnedFile:
    """Size in bytes and SHA-256 of a file."""

    bytes: int
    sha256: str


@dataclass(frozen=True)
class CachedModel:
    """Model in the cache.

    Attributes:
        hub: Name of the model on the hub.
        folder: Folder that holds the model's files.
        files: Size and hash of each file, by its path in the folder.
        memory: Bytes of memory needed to serve the model, or None for a model that is not served.
    """

    hub: str
    folder: Path
    files: dict[str, PinnedFile]
    memory: int | None


def cache_folder() -> Path:
    """Return the folder that holds all models, which ``XDG_CACHE_HOME`` can move."""
    import pooch

    return Path(pooch.os_cache("fairlab")) / "models"


def cached_folder(hub: str) -> Path:
    """Return the folder of a model in the cache, whether or not it exists."""
    return cache_folder() / hub.replace("/", "--")


def cached_model(hub: str) -> CachedModel | None:
    """Return a model in the cache, or None if it is missing or one of its files has another size.

    Hashes are compared only when the weights are loaded.

    Raises:
        FairlabError: If the manifest cannot be read.
    """
    folder = cached_folder(hub)
    if not (folder / MANIFEST).is_file():
        return None
    content = read_object(folder / MANIFEST)
    try:
        files = {name: PinnedFile(**pinned) for name, pinned in content["files"].items()}
        model = CachedModel(hub, folder, files, content["memory"])
    except (KeyError, TypeError, AttributeError) as error:
        raise FairlabError(
            f"{folder / MANIFEST} is not a manifest of a model; remove {folder} and fetch it again"
        ) from error
    return model if all(_size(folder / name) == pinned.bytes for name, pinned in files.items()) else None


def _size(path: Path) -> int | None:
    return path.stat().st_size if path.is_file() else None
