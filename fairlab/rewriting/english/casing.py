"""Conversion of headlines, and of paragraphs in all upper or all lower case, to sentence case."""

from __future__ import annotations

import re
from collections.abc import Callable, Container, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache

from fairlab.lexicons.names import find_name, load_names, load_not_people
from fairlab.rewriting.english.agreement import is_bare_noun, is_known
from fairlab.rewriting.english.given_names import BEFORE_FIRST_NAMES, BEFORE_SURNAMES
from fairlab.rewriting.english.pronouns import NOT_POSSESSED
from fairlab.text.cleaning import PARAGRAPH
from fairlab.text.folding import unaccented
from fairlab.text.view import View, read_view

FEWEST = 3  # minimum number of words for changing the case of a paragraph: shorter ones are acronyms or labels
SHORTEST_HEADLINE = 5  # minimum number of words of a headline; shorter ones are names and titles of works
_WORD = re.compile(r"[^\W\d_]+")
_ASCII_WORD = re.compile("[A-Za-z]+")  # the same in ASCII texts, found faster
_SMALL = re.compile(" [a-z]{4}")  # a longer word in lower case
_STARTS = re.compile(r"(?:^|[.!?…]['\")\]]* |\u2029)[\"'(\[]*([^\W\d_])")
_TITLES = BEFORE_SURNAMES - frozenset("major general von van de da do dos das del della di du la le al bin ibn".split())
_TITLES |= frozenset("san santa".split())
_NUMBERS = frozenset("two three four five six seven eight nine ten eleven twelve".split())
_NUMERALS = frozenset("ii iii iv".split())
_AFTER_SURNAMES = _NUMERALS | {"jr", "sr"}


@dataclass(frozen=True)
class _Cases:
    """Original case of the paragraphs that were converted.

    Each paragraph has a start, an end and a function that restores its case. The function takes new words and the first
    letter of the original words.
    """

    text: str
    paragraphs: Sequence[tuple[int, int, Callable[[str, str], str]]]

    def __call__(self, new: str, start: int) -> str:
        """Return ``new`` in the original case of the paragraph that contains the offset ``start``."""
        write = next((write for first, end, write in self.paragraphs if first <= start < end), None)
        return write(new, self.text[start]) if write else new


@lru_cache(maxsize=64)
def read_cased(text: str) -> View:
    """Return the view of a text in which headlines, and paragraphs in only one case, are converted to sentence case.

    First names, titles, *I* and the first words of sentences are capitalised; other names cannot be recognised. In
    headlines, words that are not in the dictionary keep their capitals.

    Example:
        >>> read_cased("MARY SAID THAT SHE WAS LATE.").text
        'Mary said that she was late.'
    """
    view = read_view.__wrapped__(text)  # this function has its own cache, so bypass the inner one
    if PARAGRAPH not in view.text and not may_be_read_in_another_case(view.text):
        return view
    read: list[str] = []
    changed = []
    start = 0
    for paragraph in view.text.split(PARAGRAPH):
        cased, write = _read_paragraph(paragraph)
        if cased != paragraph:
            changed.append((start, start + len(cased), write))
        read.append(cased)
        start += len(cased) + 1
    if not changed:
        return view
    return View(view.original, PARAGRAPH.join(read), view.starts, view.ends, _Cases(view.text, changed))


def may_be_read_in_another_case(text: str) -> bool:
    """Return whether a text without markup and layout is in only one case, or may be a headline."""
    return text.isupper() or text.islower() or _is_headline(text)


def _read_paragraph(text: str) -> tuple[str, Callable[[str, str], str]]:
    """Return a paragraph in sentence case, and the function that restores the case of new words."""
    if text.isupper():
        return in_sentence_case(text), lambda new, _: new.upper()
    if text.islower():
        return in_sentence_case(text), lambda new, _: new.lower()
    return (_headline_to_sentence_case(text) if _is_headline(text) else text), _capitalise


def _capitalise(new: str, first: str) -> str:
    """Capitalise each new word of a headline if ``first``, the first letter of the old words, is a capital."""
    return re.sub(r"(?<![^\W_])[^\W\d_]", lambda match: match[0].upper(), new) if first.isupper() else new


def _is_headline(text: str) -> bool:
    """Return whether a paragraph is written like *Woman Sues Hospital after Losing Her Husband*."""
    if text[-1:] in ".,:;" or text.count(" ") < SHORTEST_HEADLINE - 1 or _SMALL.search(text) or '"' in text:
        return False
    words = [word for word in text.split(" ") if word[:1].isalpha()]
    longer = [word for word in words if len(word) > 3]
    return (
        len(longer) > 2
        and all(word[0].isupper() for word in longer)
        and words[0] not in ("The", "A", "An")
        and len(words) >= SHORTEST_HEADLINE
    )


def _headline_to_sentence_case(text: str) -> str:
    """Convert a headline to sentence case. Dictionary words become lower-case unless they are part of a name."""
    letters, matches = list(text), list(_WORD.finditer(text))
    kept = [_keeps_capital(match[0]) for match in matches]
    for number, match in enumerate(matches[1:], start=1):
        word, before = match[0].lower(), matches[number - 1]
        title = (word in _TITLES or word in BEFORE_FIRST_NAMES) and kept[number + 1 : number + 2] == [True]
        beside = text[before.end() : match.start()] == " "
        if not (kept[number] or title or (beside and _is_first_name(before[0]) and _is_surname(word))):
            letters[match.start()] = letters[match.start()].lower()
    return "".join(letters)


def _is_first_name(word: str) -> bool:
    """Return whether a word is a first name that has no other common sense."""
    known = find_name(word)
    return known is not None and not known.other_sense


def _keeps_capital(word: str) -> bool:
    """Return whether a word in a headline keeps its capital because it is a name or an acronym."""
    known = find_name(word)
    if not word[0].isupper() or word == "I" or (word.isupper() and len(word) > 1):
        return True
    return not (is_known(word.lower()) or word.lower() in NOT_POSSESSED | _NUMBERS) or (
        known is not None and not known.other_sense
    )


def _word_pattern(text: str) -> re.Pattern[str]:
    """Return the pattern of the words in a text."""
    return _ASCII_WORD if text.isascii() else _WORD


def in_sentence_case(text: str) -> str:
    """Convert a text in only one case to sentence case.

    The text stays unchanged if it is too short, has no words to capitalise, or could not be converted back.
    """
    upper = text.isupper()
    words = _word_pattern(text).findall(unaccented(text))
    if len(words) < FEWEST or (not upper and capitalised().isdisjoint(words)):
        return text
    cased = _sentence_case(text.lower())
    reversible = len(cased) == len(text) and (cased.upper() if upper else cased.lower()) == text
    return cased if reversible else text


def _sentence_case(text: str) -> str:
    """Add the capitals that can be inferred to a lower-case text."""
    letters, known, longer = list(text), capitalised(), _longer_names()
    places = [match.start(1) for match in _STARTS.finditer(text)]
    things: list[tuple[int, str]] = []
    named, last = -3, ""  # end of the last name, and its last word
    for match in _word_pattern(text).finditer(text):
        word = match[0]
        if word not in known and word not in longer and match.start() - named > 2 and word.isascii():
            continue
        start = match.start()
        if word in longer and (thing := _thing_at(text, start, longer[word])):
            things.append((start, thing))
        gap = text[named:start] if named >= 0 else ""
        after_title = last in _TITLES and gap in (" ", ". ")
        follows = gap == " " or (gap == ". " and (after_title or len(last) == 1))
        if not (follows or word in known or not word.isascii()):
            continue
        title = _is_title(word, text, match.end())
        name = _is_name(word, text, match.end()) or (follows and _continues_name(word, text[match.end() :][:1]))
        if name or title or word == "i":
            places += range(start, match.end() if word in _NUMERALS else start + 1)
        if name or title:
            named, last = match.end(), word
    for place in places:
        letters[place] = letters[place].upper()
    for start, thing in things:
        letters[start : start + len(thing)] = thing
    return "".join(letters)


def may_gain_capitals(text: str, words: Container[str]) -> bool:
    """Return whether sentence case may capitalise a name, a title or one of ``words`` in a lower-case text.

    One of ``words`` counts only at the start of a sentence.
    """
    known = capitalised()
    for match in _word_pattern(text).finditer(text):
        word, start = match[0], match.start()
        if word in known and word != "i" and (_is_title(word, text, match.end()) or _is_name(word, text, match.end())):
            return True
        if word in words and (
            start < 2 or text[start - 1] != " " or not (text[start - 2].isalnum() or text[start - 2] == ",")
        ):
            return True  # perhaps at the start of a sentence
    return False


def _thing_at(text: str, start: int, names: Sequence[str]) -> str:
    """Return the first of the names of things that starts at an offset of a lower-case text, or an empty string."""
    for name in names:
        end = start + len(name)
        if text.startswith(name.lower(), start) and not text[end : end + 1].isalnum():
            return name
    return ""


@cache
def _longer_names() -> dict[str, list[str]]:
    """Return the multi-word names of things, longest first, by their first word in lower case."""
    names: dict[str, list[str]] = {}
    for name in sorted(load_not_people(), key=len, reverse=True):
        if " " in name:
            names.setdefault(_WORD.findall(name.lower())[0], []).append(name)
    return names


@cache
def capitalised() -> frozenset[str]:
    """Return the words that may need a capital in a lower-case text."""
    return frozenset(load_names()) | _TITLES | {"i"}


def _is_title(word: str, text: str, end: int) -> bool:
    """Return whether a lower-case word is a title. *miss* counts only before a surname, unlike in *hit and miss*."""
    if word != "miss":
        return word in _TITLES
    following = _WORD.match(text, end + 1)
    return following is not None and text[end] == " " and _is_surname(following[0])


def _is_name(word: str, text: str, end: int) -> bool:
    """Return whether a lower-case word is a first name.

    A name that is also a common word counts only before a surname or an initial.
    """
    known = find_name(word)
    if known is None or known.other_sense == "rarely" or text.startswith("'t", end):  # don't
        return False
    if not known.other_sense or not (known.other_sense == "place" or is_known(word)):
        return True
    following = _WORD.match(text, end + 1)
    if following is None or text[end] != " ":
        return False
    if len(following[0]) == 1:
        return text[following.end() :][:1] == "."
    return len(following[0]) > 3 and _is_surname(following[0])


def _continues_name(word: str, after: str) -> bool:
    """Return whether a lower-case word directly after a name belongs to it: an initial, a surname or a noun (*stone*).

    ``after`` is the character after the word.
    """
    if len(word) == 1:
        return after == "." or word not in "aio"
    return word in _AFTER_SURNAMES or _is_surname(word) or (len(word) > 3 and is_bare_noun(word))


def _is_surname(word: str) -> bool:
    """Return whether a lower-case word may be a surname: it is listed as one, or the dictionary does not contain it."""
    known = find_name(word)
    if known is not None:
        return known.other_sense in ("", "surname", "rarely")
    return word not in NOT_POSSESSED and not is_known(word)
