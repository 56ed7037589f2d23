"""Lexicons: words and names of each attribute of an axis, with their counterparts."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path

import yaml

from fairlab.types import NEUTRAL, FairlabError

FOLDER = Path(__file__).parent


@dataclass(frozen=True)
class Lexicon:
    """Words and first names of an axis: each row holds one concept, neutral form first, then one per attribute.

    Attributes:
        axis: e.g. ``gender``.
        attributes: the columns after the neutral one, e.g. ``("man", "woman")``.
        rows: word rows, then name rows, in file order; a word's first row decides its counterparts.
    """

    axis: str
    attributes: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]

    def terms(self, attribute: str) -> set[str]:
        """Case-folded forms that mark ``attribute``: those that differ from their row's neutral form."""
        column = self.attributes.index(attribute) + 1
        return {row[column].casefold() for row in self.rows if row[column].casefold() != row[0].casefold()}

    def counterparts(self, source: str, target: str) -> dict[str, str]:
        """For every form that marks ``source``, the form of ``target`` (``neutral`` or an attribute)."""
        columns = (NEUTRAL, *self.attributes)
        start, end = columns.index(source), columns.index(target)
        marking = self.terms(source)
        table: dict[str, str] = {}
        for row in self.rows:
            if row[start].casefold() in marking:
                table.setdefault(row[start].casefold(), row[end])
        return table


def lexicon_axes() -> list[str]:
    """Axes a built-in lexicon exists for."""
    return sorted(path.stem for path in FOLDER.glob("*.yaml"))


@cache
def load_lexicon(axis: str) -> Lexicon:
    """The built-in lexicon of an axis.

    Raises:
        FairlabError: there is none for this axis.
    """
    path = FOLDER / f"{axis}.yaml"
    if not path.is_file():
        raise FairlabError(f"no lexicon for the axis '{axis}'; there are lexicons for: {', '.join(lexicon_axes())}")
    content = yaml.safe_load(path.read_text(encoding="utf-8"))
    words = [row for section in content["words"].values() for row in section]
    return Lexicon(axis, tuple(content["attributes"]), tuple(tuple(row) for row in [*words, *content["names"]]))
