"""Location of published data: at an explicit path, in ``FAIRLAB_DATA``, or by a download verified by its hash."""

from __future__ import annotations

import os
from pathlib import Path
from urllib.parse import quote

import yaml

from fairlab.data.reads import note_read
from fairlab.types import DataUnavailable

_FOLDERS = yaml.safe_load(Path(__file__).with_name("sources.yaml").read_text(encoding="utf-8"))
# name under FAIRLAB_DATA -> (address, SHA-256 of the file)
FILES: dict[str, tuple[str, str]] = {
    f"{folder}/{name}": (f"{entry['source']}/{quote(name)}", digest)
    for folder, entry in _FOLDERS.items()
    for name, digest in entry["files"].items()
}


def locate(name: str, path: str | Path | None = None) -> Path:
    """Return the local file of a published dataset.

    Args:
        name: Name of the file under ``FAIRLAB_DATA``: a key of ``FILES``, or a file that the user must supply.
        path: Explicit path, which takes precedence over all other sources.

    Raises:
        DataUnavailable: The file was not found. The message lists the sources tried.
    """
    if path is not None:
        if not Path(path).is_file():
            raise DataUnavailable(f"{path} is not a file; give the path of {name}, or omit the path")
        return note_read(Path(path))
    folder = os.environ.get("FAIRLAB_DATA")
    if folder and (Path(folder) / name).is_file():
        return note_read(Path(folder) / name, name)
    tried = f"FAIRLAB_DATA/{name} does not exist" if folder else "FAIRLAB_DATA is not set"
    return note_read(_fetch(name, tried), name)


def _fetch(name: str, tried: str) -> Path:
    import pooch

    if name not in FILES:
        raise DataUnavailable(
            f"{name} was not found: no path given, {tried}, and there is no download with a known hash; "
            f"set FAIRLAB_DATA to a folder that holds {name}"
        )
    url, digest = FILES[name]
    try:
        cached = pooch.retrieve(
            url,
            known_hash=f"sha256:{digest}",
            fname=name.replace("/", "_"),
            path=pooch.os_cache("fairlab"),
            downloader=pooch.HTTPDownloader(timeout=10),
        )
    except (OSError, ValueError) as error:
        raise DataUnavailable(
            f"{name} was not found: no path given, {tried}, and {url} could not be fetched "
            f"({type(error).__name__}); set FAIRLAB_DATA to a folder that holds {name}"
        ) from error
    return Path(cached)
