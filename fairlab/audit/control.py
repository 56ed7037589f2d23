"""Control texts, in which the same number of words is changed as in the rewritten texts, but people stay the same.

First names become names of the same gender and race, and other words become synonyms. A text without such words is
given an opener such as *In fact*. The predictions of an unstable classifier also change in the control, so instability
is not mistaken for bias.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from functools import cache

from fairlab.lexicons import lexicon_axes, load_lexicon
from fairlab.lexicons.names import Name, find_name, load_names
from fairlab.rewriting.labelled.paraphrase import SMALL, lists, synonyms
from fairlab.text.difference import pieces, stretches
from fairlab.text.words import match_case

POOL = 50  # number of most frequent names of a gender and race that replacements are drawn from


def control_of(before: Sequence[str], after: Sequence[str], key: str) -> tuple[list[str], int]:
    """Return the fields of a control text and its number of changed words, about the same as in the rewritten text.

    The control changes the same fields as the rewritten text. The hash of ``key`` determines which words change.
    """
    made, count = [], 0
    for number, (old, new) in enumerate(zip(before, after, strict=True)):
        wanted = changed_words(old, new)
        text, changed = _change_words(old, new, wanted, f"{key}:{number}") if wanted else (old, 0)
        made.append(text)
        count += changed
    return made, count


def changed_words(before: str, after: str) -> int:
    """Return the number of words of a text that are missing from another version.

    The number is at least 1 if the texts differ.

    Example:
        >>> changed_words("She saw her cat.", "He saw his cat.")
        2
    """
    differing = [old for old, new in stretches(pieces(before), pieces(after)) if old != new]
    count = sum(piece[:1].isalnum() for old in differing for piece in old)
    return count or int(before != after)


def _change_words(old: str, new: str, wanted: int, key: str) -> tuple[str, int]:
    """Change about ``wanted`` words of a text, or fewer if fewer words can be changed."""
    parts = pieces(old)
    turned = {piece for first, second in stretches(parts, pieces(new)) if first != second for piece in first}
    names = {part: other for part in dict.fromkeys(parts) if (other := _other_name(part, parts, key))}
    words = {part: other for part in dict.fromkeys(parts) if (other := _synonym(part, key))}
    order = sorted(names | words, key=lambda part: (part not in turned, _hash(key, part)))
    chosen: dict[str, str] = {}
    count = 0
    for part in order:
        if count >= wanted:
            break
        chosen[part] = names.get(part) or words[part]
        count += parts.count(part)
    if chosen:
        return "".join(chosen.get(part, part) for part in parts), count
    return _opened(old, key), 2


def _other_name(word: str, parts: Sequence[str], key: str) -> str:
    """Return another first name of the same gender and race.

    The result is empty if the word may not be a first name.
    """
    known = find_name(word) if word[:1].isupper() else None
    if known is None or known.other_sense or known.gender == "both":
        return ""
    pool = [name for name in _alike(known.gender, known.race) if name != known.name and name not in parts]
    return pool[_hash(key, word) % len(pool)] if pool else ""


@cache
def _alike(gender: str, race: str) -> list[str]:
    def fits(name: Name) -> bool:
        return name.is_counted and not name.other_sense and (name.gender, name.race) == (gender, race)

    return [name.name for name in load_names().values() if fits(name)][:POOL]


def _synonym(word: str, key: str) -> str:
    others = sorted(synonyms().get(word.casefold(), frozenset()) - _of_people())
    if not others or word.casefold() in _of_people():
        return ""
    return match_case(word, others[_hash(key, word) % len(others)])


@cache
def _of_people() -> frozenset[str]:
    """Return all words in the lexicons of the axes, which a control must not change."""
    lexicons = [load_lexicon(axis) for axis in lexicon_axes()]
    return frozenset(form.casefold() for one in lexicons for entry in one.entries for form in entry.forms if form)


def _opened(text: str, key: str) -> str:
    openers = lists()["openers"]
    opener = openers[_hash(key, text) % len(openers)]
    first = text.split(maxsplit=1)[0] if text.split() else ""
    small = first.casefold() in SMALL and first != "I"
    return f"{opener}, {text[:1].lower() + text[1:] if small else text}"


def _hash(*parts: str) -> int:
    return int.from_bytes(hashlib.sha256("\0".join(parts).encode()).digest()[:6])
