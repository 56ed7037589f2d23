"""Views of texts for rules: without layout, markup and invisible characters, with positions in the original.

Mail, web pages, books, subtitles and tables write the same sentence in many ways. :func:`read_view` converts all of
them to the same plain line, so that rules treat them alike. :meth:`View.write` applies changes to the original and
keeps the rest of it byte for byte.
"""

from __future__ import annotations

import re
import string
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

from fairlab.text.cleaning import clean

# First character that requires cleaning. Most texts do not have one, and then this search is the only cost.
_UNUSUAL = re.compile(
    r"""[^A-Za-z0-9 ,':À-ÖØ-öø-ž£…]
    (?:(?<=[^.!?;()"$#@/–—`&-])  # any sign except these, which are common on their own:
    |(?<=&)(?!\ )  # not before a blank
    |(?<=\A[-–—#])  # at the start of a text
    |(?<=\w-)(?=\s|\Z)|(?<=\s-)\w|(?<=[^\w\s]--)\w  # at one end of a word
    |(?<=\w\w\.)[A-Z]|(?<=\w[!?;)"(])\w|(?<=\w\$)  # between two words
    |(?<=/)\ ?[bBgGhHsSmM]  # between two pronouns
    |(?<=\ \#)\w+(?:\ +\#\w+)*\ *\Z)  # before tags at the end
    |\A(?:S\ HE|S\ he|H\ (?:ER|er|IS|is|E|e))\b  # a large first letter
    |(?<=\A\d)[\d.%]*[,;]["A-Za-z]  # a cell of a number
    """,
    re.VERBOSE,
)
# Characters that need no cleaning in any place, a full stop before a blank or at the end, a hyphen within a word, and a
# question mark at the end.
_USUAL = (string.ascii_letters + string.digits + " ,':.-?").encode()
# Signs at which the words of an ASCII text may be parted or joined.
_JOINING = ("<", "&", "\\", "[", "_", "-\n", "-\r", "- ", "s/", "S/", "(s", "(S", "(e", "(E", "(i", "(I", "(w", "(W")
# Printable ASCII characters of which no such sign consists; most texts have no other ones.
_APART = bytes(byte for byte in range(32, 127) if chr(byte) not in "<&\\[_-(/")
# Parts of words without meaning: a hyphen at the end of a line, and invisible characters.
_UNSEEN = re.compile(r"[-\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff]")


@dataclass(frozen=True)
class Edit:
    """Replacement of ``text[start:end]`` by ``new``; an empty ``new`` deletes the text."""

    start: int
    end: int
    new: str


@dataclass(slots=True)
class View:
    """A text as rules read it.

    Attributes:
        original: the text as given.
        text: the text to read: single blanks, plain quotation marks, and a paragraph sign between paragraphs.
        starts: start in the original for every character of ``text``; empty if all positions are unchanged.
        ends: end in the original for every character of ``text``; empty likewise.
        cased: function of new words and their offset in ``text`` that restores the case of a paragraph whose case was
            removed; None if no case was removed.
    """

    original: str
    text: str
    starts: Sequence[int] = field(default=(), repr=False)
    ends: Sequence[int] = field(default=(), repr=False)
    cased: Callable[[str, int], str] | None = None

    @property
    def is_plain(self) -> bool:
        """Return whether text and original are the same, except for case."""
        return not self.starts

    @property
    def is_unchanged(self) -> bool:
        """Return whether text and original are the same."""
        return not self.starts and self.cased is None

    def span(self, start: int, end: int) -> tuple[int, int]:
        """Return start and end in the original of a span of the text."""
        if self.is_plain:
            return start, end
        if start >= len(self.text):
            return len(self.original), len(self.original)
        first = self.starts[start]
        return first, max(first, self.ends[end - 1]) if end > start else first

    def place(self, offset: int) -> int:
        """Return the offset in the text of a character of the original, or of the next character that is read."""
        return offset if self.is_plain else bisect_right(self.ends, offset)

    def write(self, edits: Iterable[Edit]) -> str:
        """Return the original with edits of the text applied to it.

        Args:
            edits: non-overlapping edits of :attr:`text`, from left to right.
        """
        pieces, position = [], 0
        for edit in edits if self.is_plain else self._whole(edits):
            start, end = self.span(edit.start, edit.end)
            pieces += [self.original[position:start], self._written(edit)]
            position = max(position, end)
        return "".join([*pieces, self.original[position:]])

    def _whole(self, edits: Iterable[Edit]) -> Iterator[Edit]:
        """Yield the edits, widened to whole spans of the original: *he/she* for *(s)he*."""
        last: Edit | None = None
        for edit in edits:
            start, end = edit.start, edit.end
            while 0 < start < len(self.starts) and end > start and self.starts[start - 1] == self.starts[start]:
                start -= 1
            while start < end < len(self.ends) and self.ends[end] == self.ends[end - 1]:
                end += 1
            if last is not None and start < last.end:
                new = last.new[: len(last.new) - (last.end - edit.start)] + edit.new + self.text[edit.end : end]
                last = Edit(last.start, max(end, last.end), new)
                continue
            if last is not None:
                yield last
            last = Edit(start, end, self.text[start : edit.start] + edit.new + self.text[edit.end : end])
        if last is not None:
            yield last

    def _written(self, edit: Edit) -> str:
        """Return the new words of an edit in the original's style: its case, apostrophes, blanks and inner markup."""
        new = self.cased(edit.new, edit.start) if self.cased else edit.new
        if self.is_plain:
            return new
        if "'" in new:
            new = new.replace("'", self._apostrophe(edit))
        parts = [self._inner(place, edit.start) for place in range(edit.start, edit.end)]
        found = self.text[edit.start : edit.end]
        blanks = [part for part, sign in zip(parts, found, strict=True) if sign.isspace()]
        if blanks and new.count(" ") == len(blanks):
            words = new.split(" ")
            new = words[0] + "".join(blank + word for blank, word in zip(blanks, words[1:], strict=True))
            parts = [part for part, sign in zip(parts, found, strict=True) if not sign.isspace()]
        else:
            parts = ["" if part.strip(" \u00a0") == "" else part for part in parts]  # a tab separates cells
        inside = found[-1:].isalnum() and self.text[edit.end : edit.end + 1].isalnum()
        return "".join([*parts, new] if inside else [new, *parts])  # an edit may end inside a word that it capitalises

    def _apostrophe(self, edit: Edit) -> str:
        """Return the form of apostrophe in the original: within the edit, otherwise anywhere."""
        place = self.text.find("'", edit.start, edit.end)
        if place >= 0:
            return self.original[self.starts[place] : self.ends[place]]
        return "’" if "’" in self.original and "'" not in self.original else "'"

    def _inner(self, place: int, first: int) -> str:
        """Return the original's text before a character within an edit, or for a blank, but no parts of words."""
        hidden = self.original[self.ends[place - 1] : self.starts[place]] if place > first else ""
        blank = self.original[self.starts[place] : self.ends[place]] if self.text[place].isspace() else ""
        return _UNSEEN.sub("", hidden) + blank


def is_bare(text: str) -> bool:
    """Return whether a text consists of words, hyphens in them, single blanks, commas, colons, apostrophes and stops.

    Such a text is read unchanged. This check is faster than a pattern, and true of most sentences.
    """
    if (text[1:2] == " " and text[0] in "SH") or text[:1].isdigit():  # a large first letter or a cell, perhaps
        return False
    if not text.isascii() or text.encode().translate(None, _USUAL) or "  " in text:
        return False
    if "-" in text and (text[0] == "-" or text[-1] == "-" or "- " in text or " -" in text or "--" in text):
        return False
    if text.find("?", 0, -1) >= 0:
        return False
    first = text.find(".")
    stopped = first in (-1, len(text) - 1) or text.count(".") == text.count(". ") + text.endswith(".")
    return stopped and text[:1] != " " and text[-1:] != " "


def is_plain(text: str) -> bool:
    """Return whether a quick check shows that a text can be read unchanged."""
    return is_bare(text) or (_UNUSUAL.search(text) is None and "  " not in text and text.strip(" ") == text)


def may_join_words(text: str) -> bool:
    """Return whether the words of a text may change when markup and layout are removed."""
    if text.isascii() and not text.encode().translate(None, _APART) and text[:2] != "H ":
        return False
    return (
        not text.isascii()
        or any(map(text.__contains__, _JOINING))
        or (text[:2] == "H " or "\nH " in text)  # a large first letter
    )


@lru_cache(maxsize=64)
def read_view(text: str) -> View:
    r"""Return the view of a text.

    Example:
        >>> view = read_view("We kept <b>her</b>\nold photographs.")
        >>> view.text
        'We kept her old photographs.'
        >>> view.write([Edit(8, 11, "his")])
        'We kept <b>his</b>\nold photographs.'
    """
    if is_plain(text):
        return View(text, text)
    read_as, starts, ends = clean(text)
    if read_as == text:
        return View(text, text)
    return View(text, read_as, starts, ends)
