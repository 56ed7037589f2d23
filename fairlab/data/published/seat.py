"""Association tests (WEAT, SEAT) in the file format of sent-bias: one JSON object per file.

Source: May et al. 2019, "On Measuring Social Biases in Sentence Encoders"; words of Caliskan et al. 2017.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fairlab.text.reading import read_json_file
from fairlab.types import FairlabError

KEYS = ("targ1", "targ2", "attr1", "attr2")


@dataclass(frozen=True)
class AssociationTest:
    """Texts of an association test, named as in its file: target sets X and Y, attribute sets A and B.

    Attributes:
        targ1, targ2, attr1, attr2: Distinct texts in file order, at least one each.
        words: Name or term in each target sentence, first for set X, then for set Y; empty if unknown.
    """

    targ1: tuple[str, ...]
    targ2: tuple[str, ...]
    attr1: tuple[str, ...]
    attr2: tuple[str, ...]
    words: tuple[str, ...] = ()

    @property
    def sets(self) -> tuple[tuple[str, ...], ...]:
        """Return the sets X, Y, A and B."""
        return self.targ1, self.targ2, self.attr1, self.attr2


def read_association_test(path: Path) -> AssociationTest:
    """Read and check a test. A text that is repeated within a set counts once, as in sent-bias.

    Raises:
        FairlabError: The file is not a JSON object, or a set lacks its texts. The message names file and key.
    """
    content = read_json_file(path, "write an association test as one JSON object")
    if not isinstance(content, dict):
        raise FairlabError(
            f"{path} is not an association test; it must be one JSON object with the keys {', '.join(KEYS)}"
        )
    return AssociationTest(*(_texts(path, key, content.get(key)) for key in KEYS))


def word_within(text: str, words: Iterable[str]) -> str:
    """Return the longest word that occurs in a sentence, in the singular or the plural.

    If no word occurs in it, return the sentence.

    Example:
        >>> word_within("These are dances.", ["dance", "an"])
        'dance'
        >>> word_within("Those are men.", ["man", "woman"])
        'man'
    """
    found = [word for word in words if re.search(_forms(word), text, re.IGNORECASE)]
    return max(found, key=len, default=text)


def _forms(word: str) -> str:
    """Return a regular expression for the singular and plural of a word."""
    plurals = {f"{word}s", f"{word}es", re.sub("y$", "ies", word), re.sub("man$", "men", word), f"{word}ren"}
    singular = {word, word.removesuffix("s")} if len(word) > 3 else {word}
    return rf"\b(?:{'|'.join(map(re.escape, sorted(plurals | singular)))})\b"


def _texts(path: Path, key: str, value: Any) -> tuple[str, ...]:
    examples = value.get("examples") if isinstance(value, dict) else None
    if not isinstance(examples, list) or not examples or not all(isinstance(text, str) for text in examples):
        raise FairlabError(f'{path}: {key} needs texts, as in "{key}": {{"category": "...", "examples": ["..."]}}')
    return tuple(dict.fromkeys(examples))
