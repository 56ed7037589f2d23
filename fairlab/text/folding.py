"""Words without accents and case, as lists of words and names are looked up."""

from __future__ import annotations

import unicodedata

# Letters that have no parts, as plain ones.
_LETTERS = str.maketrans({"đ": "d", "Đ": "D", "ø": "o", "Ø": "O", "ł": "l", "Ł": "L", "ı": "i", "ß": "ss", "æ": "ae"})


def unaccented(word: str) -> str:
    """Return a word with its letters of the plain Latin alphabet.

    Example:
        >>> unaccented("Siobhán"), unaccented("Đức"), unaccented("λόγος")
        ('Siobhan', 'Duc', 'λογος')
    """
    if word.isascii():
        return word
    parted = unicodedata.normalize("NFD", word.translate(_LETTERS))
    return unicodedata.normalize("NFC", "".join(sign for sign in parted if not unicodedata.combining(sign)))


def fold(word: str) -> str:
    """Return a word in small letters, without accents.

    Example:
        >>> fold("José")
        'jose'
    """
    return unaccented(word).casefold()
