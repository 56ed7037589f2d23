"""Storage of a search's finished rounds as ``round-NN.json``, from which the same command resumes."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NotRequired, TypedDict

from fairlab.checks.foreign import read_json, require_form
from fairlab.checks.values import Text
from fairlab.files import write_whole
from fairlab.types import FairlabError, Natural


class CorrectedRound(TypedDict):
    """Layout of the file of a prompt search's round."""

    round: Natural
    examples: list[dict[str, Text]]
    prompt_sha256: str
    texts: Natural
    rewritten: Natural
    right: Natural
    chosen: dict[str, Any] | None
    corrector: str
    correction: dict[str, Text] | None


class TriedDocument(TypedDict):
    """Outcome for a document that a round of RAZOR selected.

    Attributes:
        text: Rewrite that replaced the document, or None if the document was kept.
        before, after: Shortcut score of the document when it was selected, and score of ``text`` or, if the document
            was kept, of the best rewrite that passed the check; ``after`` is None if no rewrite passed.
        reason: Reason for keeping the document; empty if it was replaced.
        turned_down: Rewrites that the check rejected, each as [rewrite, reason].
    """

    text: Text | None
    before: float
    after: float | None
    reason: Text
    turned_down: list[list[Text]]


class RewrittenRound(TypedDict):
    """Layout of the file of a RAZOR round."""

    round: Natural
    objective_before: float
    objective: float
    tried: dict[str, TriedDocument]
    gain_before: NotRequired[float | None]
    gain: NotRequired[float | None]


def write_round(file: Path, one: Mapping[str, Any]) -> None:
    """Write the file of a finished round."""
    write_whole(file, json.dumps(one, ensure_ascii=False, indent=1) + "\n")


def read_corrected_round(file: Path) -> dict[str, Any]:
    """Read the file of a prompt search's round.

    Raises:
        FairlabError: The file is damaged, or does not have the layout.
    """
    return _read(file, CorrectedRound)


def read_rewritten_round(file: Path, documents: int) -> dict[str, Any]:
    """Read the file of a RAZOR round.

    Raises:
        FairlabError: The file is damaged, does not have the layout, or names a document that does not exist.
    """
    one = _read(file, RewrittenRound)
    for place in one["tried"]:
        if not (place.isascii() and place.isdigit() and len(place) < 20 and int(place) < documents):
            raise FairlabError(
                f"{file}: tried.{place} is not the number of one of the {documents:,} documents; remove it"
            )
    return one


def _read(file: Path, form: Any) -> dict[str, Any]:
    content = read_json(file)
    require_form(file, content, form)
    return content  # type: ignore[no-any-return]
