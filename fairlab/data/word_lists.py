"""Word lists of an axis, and the sentences in plain text that contain their words.

Source: Kaneko and Bollegala 2021, section 4.1; Yang et al. 2023; and their code.
"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import yaml

from fairlab.data.published.download import locate
from fairlab.lexicons import FOLDER, load_lexicon
from fairlab.text.reading import text_lines
from fairlab.text.words import Span, TermFinder
from fairlab.types import NEUTRAL, FairlabError

FEWEST_WORDS, MOST_WORDS = 2, 128  # minimum and maximum number of words of a sentence, as in the authors' code


NEUTRAL_KIND = 0  # attributes are numbered from 1


@dataclass(frozen=True)
class WordLists:
    """Words of the attributes of an axis, and neutral words, in lower case.

    Attributes:
        attributes: Words of each attribute. Words at the same position are counterparts, and an empty string marks a
            missing counterpart.
        neutral: Words without an attribute.
    """

    attributes: Mapping[str, Sequence[str]]
    neutral: set[str]

    def kinds(self) -> dict[str, int]:
        """Return the kind of each word. Words that several attributes list are left out."""
        columns = [{word for word in column if word} for column in self.attributes.values()]
        kinds = dict.fromkeys(self.neutral.difference(*columns), NEUTRAL_KIND)
        for kind, column in enumerate(columns, start=1):
            kinds |= dict.fromkeys(column.difference(*columns[: kind - 1], *columns[kind:]), kind)
        return kinds


def lexicon_words(axis: str) -> WordLists:
    """Return the words of an axis from the lexicons that come with fairlab."""
    lexicon = load_lexicon(axis)
    columns = {
        name: [row[k].casefold() if row[k].casefold() != row[0].casefold() else "" for row in lexicon.rows]
        for k, name in enumerate(lexicon.attributes, start=1)
    }
    return WordLists(columns, stereotyped_words(axis))


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


def listed_words(lists: Mapping[str, str]) -> WordLists:
    """Read words from files with one word per line.

    Raises:
        FairlabError: There is no neutral list, there are fewer than two attributes, or their lists differ in length.
        DataUnavailable: A file is unavailable.
    """
    if NEUTRAL not in lists or len(lists) < 3:
        raise FairlabError(f"data.lists needs '{NEUTRAL}' and at least two attributes, not: {', '.join(lists)}")
    columns = {name: [line.strip().casefold() for line in text_lines(locate(file))] for name, file in lists.items()}
    neutral = set(columns.pop(NEUTRAL)) - {""}
    if len(lengths := {len(column) for column in columns.values()}) > 1:
        raise FairlabError(
            f"the lists of {', '.join(columns)} have {sorted(lengths)} lines; "
            "give lists of equal length with corresponding lines"
        )
    return WordLists(columns, neutral)


@dataclass(frozen=True)
class Found:
    """Occurrence of a listed word at ``text[start:end]`` in a sentence, with the word as listed and its kind."""

    text: str
    start: int
    end: int
    word: str
    kind: int


def find_words(lines: Iterable[str], words: WordLists, mixed: str) -> Iterator[Found]:
    """Yield the first occurrence of each listed word in a sentence.

    Sentences without listed words are left out. ``mixed`` is explained in
    :class:`fairlab.data.attribute_sentences.AttributeSentences`.
    """
    kinds = words.kinds()
    finder = TermFinder(kinds)
    for text in lines:
        if not FEWEST_WORDS <= len(text.split()) <= MOST_WORDS:
            continue
        first: dict[str, Span] = {}
        for span in finder.find(text):
            first.setdefault(span.term, span)
        found = [Found(text, span.start, span.end, term, kinds[term]) for term, span in first.items()]
        marked = [entry for entry in found if entry.kind != NEUTRAL_KIND]
        if not marked or mixed == "keep":
            yield from marked or found
        elif len({entry.kind for entry in marked}) == 1:
            yield marked[0]


def balanced(found: Sequence[Found], words: WordLists, at_least: int) -> list[Found]:
    """Return the neutral sentences, and equally many sentences for all words in a row of counterparts.

    This number is the frequency of the rarest word in the row. If it is below ``at_least``, the row is left out. A word
    in two rows is used for both, so some sentences occur twice, as in the code of ADEPT's authors.
    """
    by_word: dict[tuple[int, str], list[Found]] = defaultdict(list)
    for entry in found:
        by_word[entry.kind, entry.word].append(entry)
    kept = [entry for entry in found if entry.kind == NEUTRAL_KIND]
    for row in zip(*words.attributes.values(), strict=True):
        members = [by_word[kind, word] for kind, word in enumerate(row, start=1)]
        rarest = min(map(len, members))
        if rarest >= at_least:
            kept += [entry for member in members for entry in member[:rarest]]
    return kept


def split_by_hash(found: Sequence[Found], validation: float) -> tuple[list[Found], list[Found]]:
    """Order entries by a hash of their text, and split them into held-out entries and the others."""
    ranked = sorted(found, key=lambda entry: hashlib.sha256(entry.text.encode()).digest())
    count = int(validation) if validation >= 1 else round(validation * len(ranked))
    return ranked[:count], ranked[count:]
