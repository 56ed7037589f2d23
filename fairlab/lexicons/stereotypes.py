"""Words without an attribute of their own that stereotypes link to one, such as occupations."""

from __future__ import annotations

import yaml

from fairlab.lexicons import FOLDER
from fairlab.types import FairlabError


def stereotyped_words(axis: str) -> set[str]:
    """Return the words of an axis that should be independent of its attributes, in lower case.

    Raises:
        FairlabError: there is no list for this axis.
    """
    path = FOLDER / "stereotyped" / f"{axis}.yaml"
    if not path.is_file():
        there = ", ".join(sorted(file.stem for file in path.parent.glob("*.yaml")))
        raise FairlabError(f"there are no stereotyped words for the axis '{axis}', only for: {there}")
    sections: dict[str, list[str]] = yaml.safe_load(path.read_text(encoding="utf-8"))
    return {word for words in sections.values() for word in words}
