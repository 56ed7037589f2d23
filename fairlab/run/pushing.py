"""Uploads to the hub with the user's token, which is never written or printed."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

from fairlab.backbones.reach import hub_unreachable
from fairlab.checks.escapes import print_escaped
from fairlab.types import FairlabError, NotPushed

PART = r"[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?"
NAME = re.compile(rf"{PART}/{PART}")
LONGEST = 96  # maximum number of characters of a name
SHOWN = 200  # maximum number of characters shown of the hub's message
HOW = "set HF_TOKEN, or run hf auth login"


def refuse_push(name: str | None) -> None:
    """Raise an error before any work is done if the result could not be pushed.

    Args:
        name: Repository ``USER/NAME``, where ``USER`` is the token's owner or one of the owner's organisations; None
            disables the push.

    Raises:
        FairlabError: The name is invalid, there is no token, or the hub does not accept it.
    """
    if name is None:
        return
    if len(name) > LONGEST or not NAME.fullmatch(name) or ".." in name or "--" in name:
        raise FairlabError("push must be USER/NAME, with only letters, digits, '-', '_' and '.'")
    from huggingface_hub import HfApi, constants, get_token

    if get_token() is None:
        raise FairlabError(f"push={name} needs a token for the hub, which is missing; {HOW}")
    if reason := hub_unreachable():
        raise FairlabError(f"push={name} is not possible: {reason}; leave push out")
    with _in_one_sentence(name, f"give a token that can write: {HOW}"):
        user = HfApi(endpoint=constants.ENDPOINT).whoami()
    owners = [user["name"], *(one["name"] for one in user.get("orgs", []))]
    if name.partition("/")[0] not in owners:
        raise FairlabError(
            f"push={name} belongs to another user; give a name of the token's owners: {', '.join(owners)}"
        )


def push(folder: Path, files: Sequence[Path], name: str, kind: Literal["dataset", "model"], card: str) -> str:
    """Push files to the hub as one commit, together with their card, and return the address of the repository.

    The repository is created if missing.

    Args:
        folder: Folder of the files; relative paths in it are the names in the repository.
        files: Files to push in addition to the card, ``README.md``.
        name: Repository ``USER/NAME``; see :func:`refuse_push`.
        kind: Kind of the repository.
        card: Text of the card.

    Raises:
        NotPushed: The hub does not accept the push; the files are kept.
    """
    from huggingface_hub import CommitOperationAdd, HfApi, constants

    added = [
        CommitOperationAdd(path.relative_to(folder).as_posix(), path) for path in files if path.name != "README.md"
    ]
    added.append(CommitOperationAdd("README.md", card.encode()))
    api = HfApi(endpoint=constants.ENDPOINT)
    again = "give the same command again" if kind == "dataset" else "push it with fairlab.evaluate model=RUN push=..."
    with _in_one_sentence(name, f"the result is in {folder}; {again}", NotPushed):
        address = api.create_repo(name, repo_type=kind, exist_ok=True)
        api.create_commit(name, added, commit_message="Written by fairlab", repo_type=kind)
    return str(address)


def push_model(folder: Path, name: str, with_results: Callable[[str], str] = str) -> None:
    """Push a model's folder and print its address.

    ``with_results`` adds results to the pushed card; the folder keeps the original card.
    """
    readme = folder / "README.md"
    card = with_results(readme.read_text(encoding="utf-8") if readme.is_file() else "")
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    print_escaped(f"pushed to {push(folder, files, name, 'model', card)}")


@contextmanager
def _in_one_sentence(name: str, remedy: str, kind: type[FairlabError] = FairlabError) -> Iterator[None]:
    """Convert errors of the hub's client to one-sentence errors without the token."""
    from huggingface_hub import get_token

    try:
        yield
    except Exception as error:  # errors of the hub's client and of its HTTP library are of many types
        said = " ".join(str(error).replace(get_token() or "\0", "<token>").split())[:SHOWN]
        raise kind(f"push={name} was rejected by the hub: {said}; {remedy}") from None  # no token in a trace
