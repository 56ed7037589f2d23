"""Lines of Project Gutenberg's books, without the text that the project adds before and after each book."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from itertools import chain, islice
from typing import TypeVar

START = re.compile(r"\*\*\* ?START OF")
END = re.compile(r"\*\*\* ?END OF|End of (?:the )?Project Gutenberg")
PROBED = 400  # number of lines in which the first book must begin
T = TypeVar("T")


def book_lines(lines: Iterable[T], content: Callable[[T], object] = lambda line: line) -> Iterator[T]:
    """Yield the lines of every book in a file, or all lines if no book begins near the start of the file.

    A file may contain several books, one after the other. ``content`` returns the text of a line, or any other object
    for an unreadable line.
    """
    lines = iter(lines)
    first = list(islice(lines, PROBED))
    if not any(_matches(START, content(line)) for line in first):
        yield from chain(first, lines)
        return
    inside = False
    for line in chain(first, lines):
        said = content(line)
        if _matches(START, said):
            inside = True
        elif inside and _matches(END, said):
            inside = False
        elif inside:
            yield line


def _matches(pattern: re.Pattern[str], line: object) -> bool:
    return isinstance(line, str) and line[:1] in ("*", "E") and pattern.match(line) is not None
