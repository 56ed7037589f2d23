"""Matching of the items that two runs have in common."""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

from fairlab.judge.scores import TaskScores
from fairlab.types import FairlabError

LIKENESS = "Unicode form (NFC, NFD), or in blanks or invisible characters"


@dataclass(frozen=True)
class Pairing:
    """Matched items of two runs.

    Attributes:
        first, second: Positions of the matched items in each run, in the same order.
        by: Key by which items were matched: ``id`` or ``text``.
        only_first, only_second: Number of items that are only in the first or only in the second run.
        conflicts: Number of items with the same id but different inputs, which are left out.
        alike: Number of items only in the first run whose ids look like ids of the second run; see :func:`appearance`.
    """

    first: list[int]
    second: list[int]
    by: str
    only_first: int
    only_second: int
    conflicts: int
    alike: int = 0


def pair_items(first: TaskScores, second: TaskScores) -> Pairing:
    """Match the items of two runs by id, or by input if the ids do not refer to the same items.

    An id conflicts if both tools hashed the same kind of input and the hashes differ. Items are matched by input if
    more than half of the shared ids conflict, or if no id is shared.

    Raises:
        FairlabError: The runs have no item in common.
    """
    by_id = _match(first, second, first.ids, second.ids, "id")
    if _comparable(first.texts, second.texts):
        conflicting = {
            (a, b) for a, b in zip(by_id.first, by_id.second, strict=True) if first.texts[a] != second.texts[b]
        }
        if not by_id.first or 2 * len(conflicting) > len(by_id.first):
            by_text = _match(first, second, _number_repeats(first.texts), _number_repeats(second.texts), "text")
            return _refuse_none(by_text, first, second, len(conflicting))
        kept = [pair for pair in zip(by_id.first, by_id.second, strict=True) if pair not in conflicting]
        sides = [a for a, _ in kept], [b for _, b in kept]
        by_id = replace(by_id, first=sides[0], second=sides[1], conflicts=len(conflicting))
    return _refuse_none(by_id, first, second)


def _comparable(mine: Sequence[str], theirs: Sequence[str]) -> bool:
    """Return whether both runs stored hashes of the same kind of input, which is named before the colon."""
    return bool(mine and theirs) and mine[0].partition(":")[0] == theirs[0].partition(":")[0]


def _number_repeats(texts: Sequence[str]) -> list[str]:
    """Append a running number to each text, so that repeated inputs have distinct keys."""
    seen: Counter[str] = Counter()
    keys = []
    for text in texts:
        seen[text] += 1
        keys.append(f"{text}#{seen[text]}")
    return keys


def _match(first: TaskScores, second: TaskScores, mine: Sequence[str], theirs: Sequence[str], by: str) -> Pairing:
    place = {key: k for k, key in enumerate(theirs)}
    shared = [(k, place[key]) for k, key in enumerate(mine) if key in place]
    only_first, only_second = len(first.ids) - len(shared), len(second.ids) - len(shared)
    alike = 0
    if by == "id" and only_first and only_second:
        known = set(mine)
        seen = {appearance(key) for key in theirs if key not in known}
        alike = sum(appearance(key) in seen for key in mine if key not in place)
    return Pairing([a for a, _ in shared], [b for _, b in shared], by, only_first, only_second, 0, alike)


def appearance(key: str) -> str:
    """Return an identifier as it looks: in one Unicode form, without characters and outer blanks that are not seen.

    Example:
        >>> appearance("e\N{COMBINING ACUTE ACCENT} ") == appearance("\N{LATIN SMALL LETTER E WITH ACUTE}")
        True
    """
    seen = "".join(one for one in unicodedata.normalize("NFKC", key) if unicodedata.category(one) != "Cf")
    return " ".join(seen.split())


def _refuse_none(pairing: Pairing, scores: TaskScores, other: TaskScores, conflicts: int = 0) -> Pairing:
    if not pairing.first and conflicts:
        raise FairlabError(
            f"the runs share {conflicts} identifiers of {scores.task}, but no input: their data, splits, languages or "
            "revisions differ; evaluate both on the same data"
        )
    if not pairing.first and pairing.alike:
        first, second = _first_alike(scores.ids, other.ids)
        raise FairlabError(
            f"the runs share no item of {scores.task}, but {pairing.alike} identifiers look alike: {first} and "
            f"{second} differ in their {LIKENESS}; write identifiers alike"
        )
    if not pairing.first:
        raise FairlabError(
            f"the runs share no item of {scores.task}: their first identifiers are '{scores.ids[0]}' and "
            f"'{other.ids[0]}'; write identifiers alike, or evaluate both on the same data"
        )
    return pairing


def _first_alike(mine: Sequence[str], theirs: Sequence[str]) -> tuple[str, str]:
    """Return the first two identifiers that differ but look alike, with escapes for all but ASCII characters."""
    seen = {appearance(key): key for key in theirs}
    key = next(key for key in mine if seen.get(appearance(key), key) != key)
    return ascii(key), ascii(seen[appearance(key)])
