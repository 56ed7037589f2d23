"""Removal of accents and case from words, for lookup in lists of words and names."""

from __future__ import annotations

import unicodedata

# Plain forms of letters that have no Unicode decomposition.
_LETTERS = str.maketrans({"đ": "d", "Đ": "D", "ø": "o", "Ø": "O", "ł": "l", "Ł": "L", "ı": "i", "ß": "ss", "æ": "ae"})


def unaccented(word: str) -> str:
    """Return a word with accented letters replaced by plain Latin ones.

    Example:
        >>> unaccented("Siobhán"), unaccented("Đức"), unaccented("λόγος")
        ('Siobhan', 'Duc', 'λογος')
    """
    if word.isascii():
        return word
    parted = unicodedata.normalize("NFD", word.translate(_LETTERS))
    return unicodedata.normalize("NFC", "".join(sign for sign in parted if not unicodedata.combining(sign)))


def fold(word: str) -> str:
    """Return a word in lower case, without accents.

    Example:
        >>> fold("José")
        'jose'
    """
    return (word if word.isascii() else unaccented(word)).casefold()
