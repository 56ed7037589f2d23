"""Views of texts for rules: without layout, markup and invisible characters, with positions in the original.

Mail, web pages, books, subtitles and tables write the same sentence in many ways. :func:`read_view` converts all of
them to the same plain line, so that rules treat them alike. :meth:`View.write` applies changes to the original and
keeps the rest of it byte for byte.
"""

from __future__ import annotations

import re
import string
from array import array
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

from fairlab.text.cleaning import PARAGRAPH, clean
from fairlab.text.fields import SEPARATOR

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
# ASCII texts are searched by character classes, which is several times as fast. ``A`` and ``a`` represent characters of
# words, ``!`` for signs at one end of a word, and ``#`` for signs that the pattern above decides on.
_MEMBERS = {"A": string.ascii_uppercase, "a": string.ascii_lowercase + string.digits, "!": '!?;)"('}
_MEMBERS["#"] = "".join({*map(chr, range(128))} - {*" ,':@`.-$&", *"".join(_MEMBERS.values())})
_CLASSES = bytes.maketrans(
    "".join(_MEMBERS.values()).encode(), "".join(sign * len(members) for sign, members in _MEMBERS.items()).encode()
)
_UNUSUAL_CLASSES = re.compile(
    rb"""\#|!(?<=[Aa]!)[Aa]|\.(?<=[Aa]{2}\.)A|\$(?<=[Aa]\$)|&(?!\ )  # between two words
    |-(?:(?<=[Aa]-)(?:\ |\Z)|(?<=\ -)[Aa]|(?<=[^Aa\ ]--)[Aa])  # at one end of a word
    """,
    re.VERBOSE,
)
# Strings at which cleaning may split or join the words of an ASCII text.
_JOINING = (
    "<",
    "&",
    "\\",
    "[",
    "_",
    "-\n",
    "-\r",
    "- ",
    *"s/ S/ o/ O/ e/m E/M (s (S (e (E (f (F (i (I (r (R (w (W".split(),
)
# Printable ASCII characters that none of these strings requires; most texts contain only these.
_APART = bytes(byte for byte in range(32, 127) if chr(byte) not in "<&\\[_-(/")
_FIELD_END = re.compile(rf"\s*{SEPARATOR}\s*")
# Meaningless parts of words: a hyphen at the end of a line, and invisible characters.
_UNSEEN = re.compile(r"[-\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff]")


@dataclass(frozen=True)
class Edit:
    """Replacement of ``text[start:end]`` by ``new``; an empty ``new`` deletes the text."""

    start: int
    end: int
    new: str


@dataclass(slots=True)
class View:
    """Text in the form that rules read, with its positions in the original.

    Attributes:
        original: Original text.
        text: Text for rules: single blanks, plain quotation marks, and a paragraph sign between paragraphs.
        starts: Start in the original of every character of ``text``; empty if all positions are unchanged.
        ends: End in the original of every character of ``text``; empty if all positions are unchanged.
        cased: Function that restores the case of a converted paragraph in new words, given the words and their offset
            in ``text``; None if no case was converted.
    """

    original: str
    text: str
    starts: Sequence[int] = field(default=(), repr=False)
    ends: Sequence[int] = field(default=(), repr=False)
    cased: Callable[[str, int], str] | None = None

    @property
    def is_plain(self) -> bool:
        """Return whether the text and the original are the same, except for case."""
        return not self.starts

    @property
    def is_unchanged(self) -> bool:
        """Return whether the text and the original are the same."""
        return not self.starts and self.cased is None

    def span(self, start: int, end: int) -> tuple[int, int]:
        """Convert a span of the text to a span of the original."""
        if self.is_plain:
            return start, end
        if start >= len(self.text):
            return len(self.original), len(self.original)
        first = self.starts[start]
        return first, max(first, self.ends[end - 1]) if end > start else first

    def place(self, offset: int) -> int:
        """Convert an offset in the original to one in the text.

        A character that is not in the text gets the offset of the next one that is.
        """
        return offset if self.is_plain else bisect_right(self.ends, offset)

    def field_ends(self) -> list[int]:
        """Return the end in the text of every field except the last, if the original joins several fields."""
        if SEPARATOR not in self.original:
            return []
        return [self.place(match.start()) for match in re.finditer(SEPARATOR, self.original)]

    def write(self, edits: Iterable[Edit]) -> str:
        """Apply non-overlapping edits of the text, from left to right, to the original, and return the result."""
        pieces, position = [], 0
        for edit in edits if self.is_plain else self._extend_edits(edits):
            start, end = self.span(edit.start, edit.end)
            pieces += [self.original[position:start], self._written(edit, self.original[start:end])]
            position = max(position, end)
        return "".join([*pieces, self.original[position:]])

    def _extend_edits(self, edits: Iterable[Edit]) -> Iterator[Edit]:
        """Yield the edits, extended to whole spans of the original: *he/she* for *(s)he*."""
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

    def _written(self, edit: Edit, found: str) -> str:
        """Return the new words of an edit in the original's style: its case, apostrophes, blanks and inner markup.

        ``found`` is the text of the original that the edit replaces.
        """
        new = self.cased(edit.new, edit.start) if self.cased else edit.new
        if self.is_plain:
            return new
        if "'" in new:
            new = new.replace("'", self._apostrophe(edit))
        read = self.text[edit.start : edit.end]
        if read == found:
            return new
        parts = [self._hidden_before(place, edit.start) for place in range(edit.start, edit.end)]
        blanks = [part for part, sign in zip(parts, read, strict=True) if sign.isspace()]
        if blanks and new.count(" ") == len(blanks):
            words = new.split(" ")
            new = words[0] + "".join(blank + word for blank, word in zip(blanks, words[1:], strict=True))
            parts = [part for part, sign in zip(parts, read, strict=True) if not sign.isspace()]
        else:
            parts = ["" if part.strip(" \u00a0") == "" else part for part in parts]  # a tab separates cells
        inside = read[-1:].isalnum() and self.text[edit.end : edit.end + 1].isalnum()
        return "".join([*parts, new] if inside else [new, *parts])  # an edit may end inside a word that it capitalises

    def _apostrophe(self, edit: Edit) -> str:
        """Return the apostrophe that the original uses, if possible within the edit."""
        place = self.text.find("'", edit.start, edit.end)
        if place >= 0:
            return self.original[self.starts[place] : self.ends[place]]
        return "’" if "’" in self.original and "'" not in self.original else "'"

    def _hidden_before(self, place: int, first: int) -> str:
        """Return the original text that is hidden before a character within an edit, without invisible parts of words.

        For a blank, the original blank is appended.
        """
        hidden = self.original[self.ends[place - 1] : self.starts[place]] if place > first else ""
        blank = self.original[self.starts[place] : self.ends[place]] if self.text[place].isspace() else ""
        return _UNSEEN.sub("", hidden) + blank


def is_plain(text: str) -> bool:
    """Return whether a quick check shows that a text can be read unchanged."""
    if "  " in text or text[:1] == " " or text[-1:] == " ":
        return False
    first = text[:1]
    if text.isascii() and not (first in "-" or first.isdigit() or (first in "SH" and text[1:2] == " ")):
        classes = text.encode().translate(_CLASSES)
        return _UNUSUAL_CLASSES.search(classes) is None or _UNUSUAL.search(text) is None
    return _UNUSUAL.search(text) is None


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
    r"""Return the view of a text, which is cleaned if necessary.

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
    if SEPARATOR in read_as:
        read_as, starts, ends = _part_fields(read_as, starts, ends)
    if read_as == text:
        return View(text, text)
    return View(text, read_as, starts, ends)


def _part_fields(text: str, starts: array[int], ends: array[int]) -> tuple[str, array[int], array[int]]:
    """Replace the signs between fields by paragraph signs in a cleaned text, given with its positions.

    Empty positions mean that the text is the original.
    """
    starts, ends = starts or array("q", range(len(text))), ends or array("q", range(1, len(text) + 1))
    for match in reversed([*_FIELD_END.finditer(text)]):
        first, last = match.span()
        between = PARAGRAPH if first > 0 and last < len(text) else ""
        starts[first:last], ends[first:last] = starts[first : first + len(between)], ends[last - len(between) : last]
        text = text[:first] + between + text[last:]
    return text, starts, ends
