"""Words that mark no attribute but that stereotypes associate with one, such as occupations."""

from __future__ import annotations

import yaml

from fairlab.lexicons import FOLDER
from fairlab.types import FairlabError


def stereotyped_words(axis: str) -> set[str]:
    """Return the words, in lower case, that should be independent of the attributes of an axis.

    Raises:
        FairlabError: There is no list for this axis.
    """
    path = FOLDER / "stereotyped" / f"{axis}.yaml"
    if not path.is_file():
        there = ", ".join(sorted(file.stem for file in path.parent.glob("*.yaml")))
        raise FairlabError(f"there are no stereotyped words for the axis '{axis}', only for: {there}")
    sections: dict[str, list[str]] = yaml.safe_load(path.read_text(encoding="utf-8"))
    return {word for words in sections.values() for word in words}
