"""The folder of a model of the hub: from the cache, or downloaded; what cannot be had is said within seconds."""

from __future__ import annotations

from pathlib import Path

from fairlab.backbones.reach import hub_unreachable
from fairlab.backbones.trust import INDEX, WEIGHTS, check_model_folder
from fairlab.fetching.table import NEAR_COPY, standing_for
from fairlab.types import FairlabError

OFFLINE_COMMAND = "python -m fairlab.train +experiment=ccd_bert backbone=minilm"
Licence = str | list[str] | None  # as a card names it; None where it names none
HUB_FILES = ["*.json", "*.txt", "*.model", "*.safetensors", "README.md"]


def hub_folder(name: str, revision: str | None, file: str) -> Path:
    """The folder of a hub name that holds a file, or for safetensors their index: what was fetched, else the newest.

    ``fairlab fetch`` checks the files it brings, so that they stand for the hub's; a revision asks for the hub's own.

    Raises:
        FairlabError: there is none, saying what was tried and what runs offline.
    """
    from huggingface_hub import constants, snapshot_download, try_to_load_from_cache

    brought = standing_for(name)
    if brought and brought.is_there and revision is None and file in brought.files:
        check_model_folder(brought.folder)
        return brought.folder
    try:
        cached = try_to_load_from_cache(name, file, revision=revision)
        if cached is None and file == WEIGHTS:
            cached = try_to_load_from_cache(name, INDEX, revision=revision)
    except ValueError as error:  # no name the hub could have
        raise FairlabError(f"{name} is neither a folder nor a hub name; {_remedy(name)}") from error
    if isinstance(cached, str):
        check_model_folder(Path(cached).parent)
        return Path(cached).parent
    if unreachable := hub_unreachable():
        raise FairlabError(
            f"the weights of {name} cannot be had: no such folder, not in the hub cache "
            f"{constants.HF_HUB_CACHE}, and {unreachable}; {_remedy(name)}"
        )
    try:
        folder = Path(snapshot_download(name, revision=revision, allow_patterns=[*HUB_FILES, file]))
    except (OSError, ValueError) as error:
        reason = " ".join(str(error).split())[:200]
        raise FairlabError(
            f"the weights of {name} cannot be had: no such folder, and the hub says: {reason}; {_remedy(name)}"
        ) from error
    if not (folder / file).is_file() and not (file == WEIGHTS and (folder / INDEX).is_file()):
        raise FairlabError(f"{name} has no {file} at revision {revision or 'main'}; convert it to safetensors first")
    check_model_folder(folder)
    return folder


def _remedy(name: str) -> str:
    """What brings the weights, or else what runs without them."""
    if Path(name).name == NEAR_COPY:
        return "make it with: python experiments/ccd/distilbert_from_int8.py"
    model = standing_for(name)
    return f"bring them with: fairlab fetch {model.name}" if model else f"offline, this runs: {OFFLINE_COMMAND}"


def licence_in(folder: Path) -> Licence:
    """The licence that the card in a folder, its ``README.md``, names; None where there is none."""
    from huggingface_hub import RepoCard

    card = folder / "README.md"
    try:
        return RepoCard.load(card, ignore_metadata_errors=True).data.get("license") if card.is_file() else None
    except (OSError, ValueError):  # no card that can be read
        return None
