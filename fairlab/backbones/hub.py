"""The folder of a model of the hub: from the cache, or downloaded; what cannot be had is said within seconds."""

from __future__ import annotations

import threading
import urllib.error
import urllib.request
from pathlib import Path

from fairlab.backbones.trust import INDEX, WEIGHTS, check_model_folder
from fairlab.types import FairlabError

OFFLINE_COMMAND = "python -m fairlab.train +experiment=ccd_bert backbone=minilm"
Licence = str | list[str] | None  # as a card names it; None where it names none
HUB_FILES = ["*.json", "*.txt", "*.model", "*.safetensors", "README.md"]


def hub_folder(name: str, revision: str | None, file: str) -> Path:
    """The newest folder of a hub name that holds a file, or for safetensors their index.

    Raises:
        FairlabError: there is none, saying what was tried and what runs offline.
    """
    from huggingface_hub import constants, snapshot_download, try_to_load_from_cache

    try:
        cached = try_to_load_from_cache(name, file, revision=revision)
        if cached is None and file == WEIGHTS:
            cached = try_to_load_from_cache(name, INDEX, revision=revision)
    except ValueError as error:  # no name the hub could have
        raise FairlabError(
            f"{name} is neither a folder nor a hub name; offline, this runs: {OFFLINE_COMMAND}"
        ) from error
    if isinstance(cached, str):
        check_model_folder(Path(cached).parent)
        return Path(cached).parent
    offline = constants.HF_HUB_OFFLINE
    unreachable = "HF_HUB_OFFLINE is set" if offline else why_unreachable(constants.ENDPOINT)
    if unreachable:
        raise FairlabError(
            f"the weights of {name} cannot be had: no such folder, not in the hub cache "
            f"{constants.HF_HUB_CACHE}, and {unreachable}; offline, this runs: {OFFLINE_COMMAND}"
        )
    try:
        folder = Path(snapshot_download(name, revision=revision, allow_patterns=[*HUB_FILES, file]))
    except (OSError, ValueError) as error:
        reason = " ".join(str(error).split())[:200]
        raise FairlabError(
            f"the weights of {name} cannot be had: no such folder, and the hub says: {reason}; "
            f"offline, this runs: {OFFLINE_COMMAND}"
        ) from error
    if not (folder / file).is_file() and not (file == WEIGHTS and (folder / INDEX).is_file()):
        raise FairlabError(f"{name} has no {file} at revision {revision or 'main'}; convert it to safetensors first")
    check_model_folder(folder)
    return folder


def why_unreachable(endpoint: str, seconds: float = 3.0) -> str:
    """Empty when the hub answers at all; else the reason. The hub client itself would retry for most of a minute."""
    answers: list[str] = []

    def ask() -> None:
        try:
            urllib.request.urlopen(urllib.request.Request(endpoint, method="HEAD"), timeout=seconds).close()
            answers.append("")
        except urllib.error.HTTPError:
            answers.append("")
        except (OSError, ValueError) as error:
            answers.append(f"{endpoint} is out of reach ({getattr(error, 'reason', error)})")

    # A thread, because the timeout of a connection bounds neither name look-up nor a list of addresses.
    thread = threading.Thread(target=ask, daemon=True)
    thread.start()
    thread.join(seconds)
    return answers[0] if answers else f"{endpoint} gave no answer within {seconds:.0f} seconds"


def licence_in(folder: Path) -> Licence:
    """The licence that the card in a folder, its ``README.md``, names; None where there is none."""
    from huggingface_hub import RepoCard

    card = folder / "README.md"
    try:
        return RepoCard.load(card, ignore_metadata_errors=True).data.get("license") if card.is_file() else None
    except (OSError, ValueError):  # no card that can be read
        return None
