"""Reading of results from any tool: selection of the reader for a file, and search for runs in folders."""

from __future__ import annotations

import pkgutil
from collections.abc import Iterator, Sequence
from importlib import import_module
from pathlib import Path
from types import ModuleType

from fairlab.files import check_folder, run_folders
from fairlab.judge import formats
from fairlab.judge.formats import item_tables
from fairlab.judge.opening import beginning
from fairlab.judge.scores import ToolRun
from fairlab.types import FairlabError

MOST_FILES = 20_000  # maximum number of files below a folder
PACKED = (".zip", ".gz", ".xz", ".bz2", ".zst", ".tar", ".tgz", ".7z")
SPREADSHEETS = (".xlsx", ".xls", ".ods")
TABLES = (".csv", ".tsv", ".parquet", ".jsonl")
LOGS = (".json", ".eval")
MOST_NAMED = 5  # maximum number of files that a message names


def readers() -> list[ModuleType]:
    """Return the modules of :mod:`fairlab.judge.formats`, in order of their names."""
    return [import_module(f"{formats.__name__}.{found.name}") for found in pkgutil.iter_modules(formats.__path__)]


def read_tool_runs(place: str | Path) -> list[ToolRun]:
    """Read all runs (at least one) in a file, or in a folder and its subfolders, in order of their files.

    Raises:
        FairlabError: The file or folder does not exist, contains a link that leads out of it, or contains no run of a
            supported tool; or a file is damaged.
    """
    if runs := find_tool_runs(place):
        return runs
    path, columns = Path(place), " and ".join(item_tables.COLUMNS)
    if path.is_dir() and (own := run_folders(path)):
        named = " ".join(map(str, own[:MOST_NAMED]))
        raise FairlabError(f"{place} holds runs of fairlab ({len(own)}); give the folders of some, such as {named}")
    if packed := [file for file in ([path] if path.is_file() else _files(path)) if file.suffix in PACKED]:
        raise FairlabError(f"{packed[0]} is compressed; unpack it, and give the files in it")
    if path.suffix in SPREADSHEETS:
        raise FairlabError(f"{place} is a spreadsheet; save it as .csv with the columns {columns}")
    if path.suffix == ".jsonl" and path.name.startswith("samples_"):
        raise FairlabError(f"{place} contains only the samples of a run; give the file results_DATE.json next to it")
    if path.suffix in TABLES:
        first = beginning(path).partition("\n")[0].strip()[:80]
        begins = f" (it begins with '{first}')" if first else ""
        raise FairlabError(f"{place} has no columns {columns}, separated by commas, in UTF-8{begins}; name them so")
    tools = ", ".join(reader.TOOL for reader in readers())
    raise FairlabError(f"{place} holds no readable results; give results of {tools}")


def find_tool_runs(place: str | Path) -> list[ToolRun]:
    """Read all runs (possibly none) in a file, or in a folder and its subfolders, in order of their files.

    Raises:
        FairlabError: The file or folder does not exist or contains a link that leads out of it, or a file is damaged.
    """
    path = Path(place)
    if not path.exists():
        raise FairlabError(f"{place} does not exist; give a file of results, or a folder of them")
    if path.is_dir():
        check_folder(path)
    return [_read(file, reader) for file, reader in _recognised_files(path)]


def unread_files(folder: str | Path) -> list[str]:
    """Return the files of a folder that look like results but that no reader recognises, each with the reason.

    Runs of fairlab are listed by their folders. The result is empty for a single file, which :func:`read_tool_runs`
    reads or refuses.
    """
    path = Path(folder)
    if not path.is_dir():
        return []
    own = run_folders(path)
    found = [f"{run} (a run of fairlab; compare it by its own folder)" for run in own]
    for file in _files(path):
        reason = "" if any(file.is_relative_to(run) for run in own) else _unread_reason(file)
        if reason and not any(one.recognises(file) for one in readers()):
            found.append(f"{file} ({reason})")
    return found


def left_out_of_tables(folder: str | Path) -> list[str]:
    """Return the files with results that a table of a folder lacks, each with the reason.

    If the folder holds runs of fairlab, the table has only these, and results of other tools next to them are returned.
    """
    path = Path(folder)
    if not path.is_dir() or not (own := run_folders(path)):
        return unread_files(path)
    others = [file for file in _files(path) if not any(file.is_relative_to(run) for run in own)]
    results = [file for file in others if any(one.recognises(file) for one in readers())]
    return [f"{file} (results of another tool next to runs of fairlab; give its path as well)" for file in results]


def _unread_reason(file: Path) -> str:
    """Return the reason why a file that may hold results is not read, or an empty string for other files."""
    if file.suffix in PACKED:
        return "compressed; unpack it"
    if file.suffix in SPREADSHEETS:
        return "a spreadsheet; save it as .csv"
    if file.suffix in (*TABLES, *LOGS) and not file.stat().st_size:
        return "empty"
    if file.suffix in (".csv", ".tsv", ".parquet"):
        return f"no columns {' and '.join(item_tables.COLUMNS)}"
    return ""


def shortened(unread: Sequence[str]) -> str:
    """Join the first entries of :func:`unread_files`, with the number of the others."""
    more = f", and {len(unread) - MOST_NAMED} more" if len(unread) > MOST_NAMED else ""
    return ", ".join(unread[:MOST_NAMED]) + more


def _read(file: Path, reader: ModuleType) -> ToolRun:
    """Read a file, and add its name to any error message."""
    try:
        run: ToolRun = reader.read(file)
    except FairlabError as error:
        raise error if str(file.parent) in str(error) else FairlabError(f"{file}: {error}") from error
    return run


def _recognised_files(path: Path) -> Iterator[tuple[Path, ModuleType]]:
    """Yield each file that a reader recognises, together with the reader. Links are not followed."""
    for file in [path] if path.is_file() else _files(path):
        reader = next((one for one in readers() if one.recognises(file)), None)
        if reader is not None:
            yield file, reader


def _files(folder: Path) -> Sequence[Path]:
    files = []
    for file in folder.rglob("*"):
        if file.is_file() and not file.is_symlink():
            files.append(file)
        if len(files) > MOST_FILES:
            raise FairlabError(f"{folder} holds more than {MOST_FILES:,} files; give a smaller folder")
    return sorted(files)
