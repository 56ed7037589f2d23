"""Words of a text and the separators between them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from itertools import accumulate

from fairlab.text.words import JOINED_AFTER, JOINED_BEFORE

_split = lru_cache(maxsize=1)(re.compile(r"(\W+)").split)  # both functions below split the same text
# Translation tables for printable ASCII texts, which split them several times as fast as the pattern.
_WORD_BYTES = frozenset(byte for byte in range(128) if chr(byte).isalnum() or chr(byte) == "_")
_BLANK = "\x01"  # represents a space in a separator while a text is split
_WORDS = bytes(byte if byte in _WORD_BYTES else 32 for byte in range(256))
_GAPS = bytes(32 if byte in _WORD_BYTES else 1 if byte == 32 else byte for byte in range(256))


class _Separators(dict[str, str]):
    """Separators between words by their encoded form. Only frequent separators are stored."""

    def __missing__(self, form: str) -> str:
        return form.replace(_BLANK, " ")


_separator = _Separators({form.replace(" ", _BLANK): form for form in (" ", ", ", ". ", ".", "'", "-")}).__getitem__


def split_words(text: str) -> list[str]:
    """Return the words of a text. The first and the last word may be empty, as in :func:`with_gaps`.

    Example:
        >>> split_words("(She's here)")
        ['', 'She', 's', 'here', '']
    """
    if not text.isascii():
        return _split(text)[::2]
    words = text.encode().translate(_WORDS).decode().split()
    if text and words:
        if words[-1][-1] != text[-1]:
            words.append("")
        if words[0][0] != text[0]:
            words.insert(0, "")
        return words
    return _split(text)[::2]


def with_gaps(text: str, words: list[str]) -> list[str]:
    """Return the words of a text at even indices, and the separators between them at odd ones.

    Example:
        >>> with_gaps("She's here.", split_words("She's here."))
        ['She', "'", 's', ' ', 'here', '.', '']
    """
    if not (text.isascii() and text.isprintable()) or len(words) < 3:
        return _split(text).copy()
    pieces = [""] * (2 * len(words) - 1)
    pieces[::2] = words
    pieces[1::2] = map(_separator, text.encode().translate(_GAPS).decode().split())
    return pieces


def piece_spans(pieces: Sequence[str]) -> list[tuple[int, int]]:
    """Return the start and end of every piece in the concatenated text."""
    ends = list(accumulate(map(len, pieces)))
    return list(zip([0, *ends], ends, strict=False))


def piece(pieces: Sequence[str], place: int) -> str:
    """Return the piece at an index, or an empty string if the index is out of range."""
    return pieces[place] if 0 <= place < len(pieces) else ""


def is_in_compound(pieces: Sequence[str], place: int) -> bool:
    """Return whether a hyphen, or the ending of *don't*, joins the word at an index to another word."""
    before, after = piece(pieces, place - 1), piece(pieces, place + 1)
    preceding, following = piece(pieces, place - 2), piece(pieces, place + 2).casefold()
    if before == "'" and preceding:  # D'Angelo
        return True
    if after in ("'", "’") and following == "t":
        return True
    if before == "-" and preceding and preceding.casefold() not in JOINED_AFTER:
        return True
    return after == "-" and following != "" and following not in JOINED_BEFORE
