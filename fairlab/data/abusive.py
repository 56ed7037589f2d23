"""Reader of abusive texts to compare a dataset with: tweets labelled by people, or a custom file.

Source: Davidson et al. 2017, "Automated Hate Speech Detection and the Problem of Offensive Language"; tweets of the
class "neither" are left out.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from pathlib import Path

from fairlab.data.published.download import locate
from fairlab.data.stream.rows import read_rows
from fairlab.types import FairlabError, Row

NAME = "hate_speech_offensive/labeled_data.csv"
CLASSES = {"0": "hate", "1": "offensive"}
UNSORTED = "all"  # category of every text if no column of categories is named


@dataclass(frozen=True)
class AbusiveReference:
    """Abusive texts that a dataset is compared with.

    Attributes:
        path: File that the texts were read from.
        texts: Abusive texts, which are never printed.
        categories: Category of each text.
    """

    path: Path
    texts: list[str]
    categories: list[str]

    def sample(self, entries: int | None, seed: int) -> AbusiveReference:
        """Return a random sample of the texts, in their original order; all if ``entries`` is None or not smaller."""
        if entries is None or entries >= len(self.texts):
            return self
        chosen = sorted(random.Random(seed).sample(range(len(self.texts)), entries))
        return AbusiveReference(self.path, [self.texts[k] for k in chosen], [self.categories[k] for k in chosen])


def read_comparison(path: str | None = None, *, field: str = "text", category: str | None = None) -> AbusiveReference:
    """Read the abusive texts to compare a dataset with.

    Args:
        path: Path of a file that ``read_rows`` accepts; None for the tweets of Davidson et al.
        field: Name of the column that holds the text, in a custom file.
        category: Name of the column that holds the category, in a custom file; None puts all texts in one category.

    Raises:
        DataUnavailable: The file is unavailable.
        FairlabError: No entry can be read, or an entry has no category.
    """
    file = locate(NAME, path)
    tweets = path is None
    texts, categories = [], []
    for row in read_rows(str(file), "tweet" if tweets else field):
        if not isinstance(row, Row):
            continue
        if tweets:
            label = CLASSES.get(row.extra["class"])
        elif category is None:
            label = UNSORTED
        elif (label := str(row.extra.get(category) or "")) == "":
            raise FairlabError(f"{file}, {row.place}: no category in the field '{category}'; give category=NAME of it")
        if label is not None:
            texts.append(row.text)
            categories.append(label)
    if not texts:
        raise FairlabError(
            f"the comparison set {file} holds no text in the field '{field}'; give a file of abusive entries"
        )
    return AbusiveReference(file, texts, categories)
