"""Datasets of the ``datasets`` library: a folder that ``save_to_disk`` wrote, or a name on the hub."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fairlab.backbones.reach import no_answer_of
from fairlab.checks.foreign import read_object, require_form
from fairlab.files import check_folder, inside
from fairlab.types import DataUnavailable, FairlabError

if TYPE_CHECKING:  # datasets takes seconds to import
    import datasets

OF_SPLITS, OF_ONE = "dataset_dict.json", "state.json"  # files that mark a folder of several splits, and of one dataset
ONE = ""  # name of the only split of data without splits
SHOWN = 200  # maximum number of characters of another library's message


def saved_folder(source: str) -> Path | None:
    """Return the folder in ``FOLDER`` or ``FOLDER:SPLIT`` if ``save_to_disk`` wrote it, otherwise None."""
    places = [Path(source), Path(source.rpartition(":")[0])] if ":" in source else [Path(source)]
    found = (place for place in places if any((place / name).is_file() for name in (OF_SPLITS, OF_ONE)))
    return next(found, None)


def opened(source: str) -> Mapping[str, Any]:
    """Open a dataset from a saved folder or from the hub, by split. Data without splits has an empty key.

    Args:
        source: ``FOLDER`` or ``FOLDER:SPLIT``; or for the hub ``NAME``, ``NAME:SPLIT`` or ``NAME:CONFIG:SPLIT``. An
            empty split means all splits.

    Raises:
        DataUnavailable: The hub cannot be reached, or has no such dataset.
        FairlabError: The folder is damaged, or there is no such split.
    """
    folder = saved_folder(source)
    if folder is not None:
        name, split = str(folder), source[len(str(folder)) + 1 :] if Path(source) != folder else ""
        found = _from_disk(folder)
    else:
        name, _, rest = source.partition(":")
        config, _, split = rest.rpartition(":")
        found = _from_hub(name, config or None)
    if not found:
        raise FairlabError(f"{name} has no splits; copy or save the dataset again")
    if split and split not in found:
        known = ", ".join(filter(None, found)) or "none, so leave it out"
        raise FairlabError(f"{name} has no split '{split}'; there are: {known}")
    return {split: found[split]} if split else found


def one_split(source: str, found: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the split to use if no split was named: ``train``, or the only split.

    Raises:
        FairlabError: There are several splits, and no split ``train``.
    """
    if len(found) == 1:
        return found
    if "train" not in found:
        raise FairlabError(f"{source} has the splits {', '.join(found)} and no 'train'; name one as {source}:SPLIT")
    return {"train": found["train"]}


def _from_disk(folder: Path) -> dict[str, datasets.Dataset]:
    import datasets

    _check_saved(folder)
    try:
        found = datasets.load_from_disk(str(folder))
    except Exception as error:  # the library checks no types
        reason = " ".join(str(error).split())[:SHOWN]
        raise FairlabError(f"the dataset saved in {folder} is damaged ({reason}); save it there again") from error
    return dict(found) if isinstance(found, datasets.DatasetDict) else {ONE: found}


def _check_saved(folder: Path) -> None:
    """Check that a saved dataset has valid descriptions and no link out of its folder.

    Raises:
        FairlabError: A link or a file name leads out of the folder, or a description is not a JSON object.
    """
    check_folder(folder)
    for file in (*folder.rglob("state.json"), *folder.rglob("dataset_dict.json")):
        content = read_object(file)
        require_form(file, content.get("splits", []), list[str], "splits")
        for split in content.get("splits", []):
            inside(file.parent, split, f"{file}, splits")
        listed = content.get("_data_files", [])
        require_form(file, listed, list[dict[str, str]], "_data_files")
        for entry in listed:
            inside(file.parent, entry.get("filename"), f"{file}, _data_files")


def _from_hub(name: str, config: str | None) -> dict[str, Any]:
    """Stream the splits of a hub dataset. In offline mode, use the cached copy."""
    import datasets
    from huggingface_hub import constants

    offline = bool(constants.HF_HUB_OFFLINE)
    try:
        if reason := "" if offline else no_answer_of(constants.ENDPOINT):
            raise OSError(reason)
        return dict(datasets.load_dataset(name, config, streaming=not offline))
    except (OSError, ValueError) as error:
        reason = " ".join(str(error).split())[:SHOWN]
        raise DataUnavailable(f"{name} is not a file, and the hub does not have it as a dataset: {reason}") from error
