"""Atomic file writes, files of records, checks of untrusted folders, and hashes.

A run writes its record as ``record.json``. A compressed record, ``record.json.xz``, can be read instead. If a folder
has both, the plain one is used, because it was written later, by a resumed run.
"""

from __future__ import annotations

import errno
import hashlib
import lzma
import os
import re
import secrets
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import Any

from fairlab.types import FairlabError

NO_SPACE = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
PLAIN, COMPACT = "record.json", "record.json.xz"
SWEEP = "sweep.json"  # file in a sweep's folder with its overrides and whether all its runs have finished
MOST_FILES = 200_000  # in a folder that is opened
MOST_BYTES = 64 << 20  # in a JSON or YAML description, or in a decompressed record
MOST_MEMORY = 256 << 20  # for decompression, because the file itself decides how much is needed
NAME_LENGTH = 128  # characters of a file's name that its temporary name repeats
NO_NAME = re.compile("[\0\ud800-\udfff]")  # characters that no name contains: NUL, and halves of surrogate pairs
# folders at the root that hold no ordinary files, and the exception
OF_SYSTEM, MEMORY = ("dev", "proc", "sys"), "/dev/shm"
UNFINISHED = re.compile(r"\..+\.[0-9a-f]{16}\.new", re.DOTALL)  # names of :func:`temporary_beside`


@contextmanager
def no_space_is_one_sentence(path: Path) -> Iterator[None]:
    """Convert the error of a full disk to a :class:`FairlabError` that names the path.

    All other errors are raised unchanged.
    """
    try:
        yield
    except FairlabError:
        raise
    except Exception as error:
        # safetensors raises its own error, with the error number only in its text.
        in_text = re.search(r"os error (\d+)", str(error))
        number = getattr(error, "errno", None) or (int(in_text[1]) if in_text else None)
        if number not in NO_SPACE:
            raise
        raise FairlabError(
            f"no space left to write {getattr(error, 'filename', None) or path}; free some space and continue the "
            "run, or choose another folder"
        ) from error


def temporary_beside(path: Path) -> Path:
    """Return a hidden path next to ``path`` that cannot be predicted, so that no file can be placed there in advance.

    Raises:
        FairlabError: ``path`` does not end in a file name, like ``.`` or ``/``.
    """
    if not path.name:
        raise FairlabError(f"{str(path)!r} does not end in a name; give the name of the output")
    return path.with_name(f".{path.name[:NAME_LENGTH]}.{secrets.token_hex(8)}.new")


def remove_unfinished(folder: Path) -> None:
    """Remove the unfinished files of a killed process, as named by :func:`temporary_beside`, from a folder.

    Call this only while the folder is locked. Subfolders are searched too, but links are not followed.
    """
    for place, folders, files in os.walk(folder):
        for name in filter(UNFINISHED.fullmatch, folders):
            shutil.rmtree(Path(place, name), ignore_errors=True)
        for name in filter(UNFINISHED.fullmatch, files):
            Path(place, name).unlink(missing_ok=True)


@contextmanager
def replaced_when_written(path: Path) -> Iterator[Path]:
    """Yield a new empty file next to ``path``, which is renamed to ``path`` at the end or removed on an error.

    Missing folders above ``path`` are created. The file has an unpredictable name and is created exclusively, so that
    no link in an untrusted folder can redirect the output. A link at ``path`` itself is replaced, not followed.

    Raises:
        FairlabError: ``path`` is a device, a pipe or a socket, or is in a system folder such as ``/dev``.
    """
    _refuse_special(path)
    if not path.is_symlink() and path.is_dir():
        raise IsADirectoryError(errno.EISDIR, "Is a directory", str(path))
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = temporary_beside(path)
    os.close(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0), 0o666))
    try:
        yield temporary
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def save_arrays(arrays: Mapping[str, Any], file: Path, metadata: dict[str, str] | None = None) -> None:
    """Write numpy arrays to a safetensors file, atomically.

    Every array is written in C order: safetensors stores the memory unchanged, which would scramble a transposed array.
    """
    import numpy as np
    from safetensors.numpy import save_file

    with replaced_when_written(file) as temporary:
        save_file({name: np.asarray(array, order="C") for name, array in arrays.items()}, temporary, metadata)


def _refuse_special(path: Path) -> None:
    """Raise if ``path`` is a device, a pipe or a socket, or is in a system folder."""
    place = Path(os.path.realpath(path.parent)) / path.name
    if place.parts[1:2] and place.parts[1] in OF_SYSTEM and not place.is_relative_to(MEMORY):
        raise FairlabError(f"{path} is in a folder reserved for the system; choose another place to write to")
    if path.exists() and not path.is_symlink() and not path.is_file() and not path.is_dir():
        raise FairlabError(f"{path} is a pipe, a socket or a device, not a file; choose another place to write to")


@contextmanager
def folder_replaced_when_written(folder: Path) -> Iterator[Path]:
    """Yield a new empty folder next to ``folder``, which replaces ``folder`` at the end.

    An existing folder with this name is deleted. The new folder is removed if writing fails.

    Raises:
        FairlabError: ``folder`` is in a system folder such as ``/proc``.
    """
    _refuse_special(folder)
    temporary = temporary_beside(folder)
    temporary.mkdir(parents=True)
    try:
        yield temporary
        if folder.is_symlink():
            folder.unlink()
        elif folder.is_dir():
            shutil.rmtree(folder)
        temporary.replace(folder)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def write_whole(path: Path, text: str) -> None:
    r"""Write a text atomically: a reader sees either the old file or the new one.

    An unpaired surrogate, which UTF-8 cannot represent, is written as in JSON (``\ud800``).

    Raises:
        FairlabError: The disk is full; the old file is unchanged and no temporary file remains.
    """
    with no_space_is_one_sentence(path), replaced_when_written(path) as temporary:
        temporary.write_text(text, encoding="utf-8", errors="backslashreplace")


def gather(path: Path, files: Sequence[Path]) -> None:
    """Concatenate several files into one, in order."""
    with replaced_when_written(path) as temporary, temporary.open("wb") as gathered:
        for name in files:
            with name.open("rb") as file:
                shutil.copyfileobj(file, gathered)


def check_folder(folder: Path, root: Path | None = None) -> None:
    """Raise if a folder contains links to files outside it.

    Call this before opening or writing any file in it.

    Args:
        folder: Folder that may have been written by someone else.
        root: Folder that links may point into; None allows only links within ``folder``.

    Raises:
        FairlabError: A link points elsewhere, or the folder contains a pipe, a socket, a device or more than
            :data:`MOST_FILES` files.
    """
    allowed = os.path.realpath(root or folder)
    waiting, count = [os.fspath(folder)], 0
    while waiting:
        with os.scandir(waiting.pop()) as entries:
            for entry in entries:
                count += 1
                if count > MOST_FILES:
                    raise FairlabError(f"{folder} contains more than {MOST_FILES:,} files; give a smaller folder")
                if entry.is_symlink():
                    if not is_below(entry.path, allowed):
                        raise FairlabError(
                            f"{entry.path} is a link out of the folder; copy the file there if you trust it"
                        )
                elif entry.is_dir(follow_symlinks=False):
                    waiting.append(entry.path)
                elif not entry.is_file(follow_symlinks=False):
                    raise FairlabError(f"{entry.path} is a pipe, a socket or a device, not a file; remove it")


def refuse_used(folder: Path, remedy: str = "give a new folder") -> None:
    """Raise unless a path is a new or an empty folder; the message ends with the ``remedy``."""
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise FairlabError(f"{folder} already exists; {remedy}")


def is_below(place: str | Path, folder: str | Path) -> bool:
    """Return whether a path is a folder or is inside it, after all links are resolved."""
    return Path(os.path.realpath(place)).is_relative_to(os.path.realpath(folder))


def inside(folder: Path, name: object, named_in: str) -> Path:
    """Return the path of a file that a description in ``folder`` refers to.

    ``named_in`` is the source of the name for messages, such as ``manifest.json, shards[0].data``.

    Raises:
        FairlabError: The name is not a relative path inside the folder, or a link leads out of it.
    """
    path = PurePosixPath(name) if isinstance(name, str) and "\\" not in name and not NO_NAME.search(name) else None
    if path is None or path.is_absolute() or ".." in path.parts or not path.parts:
        raise FairlabError(f"{named_in} names {name!r}, which is not a file inside {folder}; do not use this folder")
    if not is_below(folder / path, folder):
        raise FairlabError(f"{folder / path} is a link out of the folder; copy the file there if you trust it")
    return folder / path


def read_bounded(file: Path, most: int = MOST_BYTES) -> str:
    """Return the text of a file up to a maximum size.

    Raises:
        FairlabError: The path is not a regular file (but a folder, a pipe or a device), or the file cannot be read,
            exceeds the maximum size, or is not UTF-8.
    """
    if not file.is_file():
        raise FairlabError(f"{file} is not a file; put a complete copy of it there")
    try:
        with file.open("rb") as opened:
            content = opened.read(most + 1)
        if len(content) > most:
            raise FairlabError(f"{file} is larger than {most:,} bytes, the limit for such a file; do not use it")
        return content.decode("utf-8")
    except UnicodeDecodeError as error:
        raise FairlabError(f"{file} is not UTF-8 text (byte {error.start + 1:,}); save it as UTF-8") from error
    except OSError as error:
        raise FairlabError(f"{file} cannot be read ({error.strerror}); replace it with a complete copy") from error


def sha256(*paths: Path) -> str:
    """Return the hexadecimal SHA-256 of one file, or of the concatenation of several."""
    digest = hashlib.sha256()
    for path in paths:
        with path.open("rb") as file:
            while block := file.read(1 << 20):
                digest.update(block)
    return digest.hexdigest()


def record_file(folder: Path) -> Path:
    """Return the path of a folder's record, plain or compressed.

    If there is no record, return the path that a plain record would have.
    """
    plain, compact = folder / PLAIN, folder / COMPACT
    return compact if compact.exists() and not plain.exists() else plain


def holds_run(folder: Path) -> bool:
    """Return whether a folder has a record, plain or compressed."""
    return record_file(folder).exists()


def run_folders(folder: Path) -> list[Path]:
    """Return all folders with a record, at any depth in ``folder``, sorted by path."""
    return sorted({file.parent for name in (PLAIN, COMPACT) for file in folder.rglob(name)})


def read_record(file: Path) -> str:
    """Return the text of a record, plain or compressed.

    Raises:
        ValueError: ``file`` is not a regular file, cannot be decompressed, or contains more than :data:`MOST_BYTES`.
        OSError: ``file`` cannot be read.
    """
    if not file.is_file():
        raise ValueError("it is no file")
    if file.stat().st_size > MOST_BYTES:
        raise ValueError(f"it has more than {MOST_BYTES >> 20} MiB")
    if file.name != COMPACT:
        return file.read_text(encoding="utf-8")
    decompressor = lzma.LZMADecompressor(lzma.FORMAT_XZ, memlimit=MOST_MEMORY)
    try:
        content = decompressor.decompress(file.read_bytes(), MOST_BYTES + 1)
    except lzma.LZMAError as error:
        raise ValueError(f"it cannot be decompressed: {error}") from error
    if len(content) > MOST_BYTES:
        raise ValueError(f"it decompresses to more than {MOST_BYTES >> 20} MiB")
    if not decompressor.eof:
        raise ValueError("its end is missing")
    return content.decode("utf-8")


def compressed(text: str) -> bytes:
    """Compress the text of a record.

    The same text always gives the same bytes.
    """
    return lzma.compress(text.encode("utf-8"), preset=6 | lzma.PRESET_EXTREME)
