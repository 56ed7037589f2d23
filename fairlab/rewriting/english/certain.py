"""Mentions that are certain without a parse: most pronouns, and nouns between an article and the end of a phrase."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from fairlab.rewriting.english.mentions import Mention
from fairlab.rewriting.english.pronouns import AMBIGUOUS, certain_case
from fairlab.rewriting.english.vocabulary import ListedWord
from fairlab.types import NEUTRAL

_BEFORE = re.compile(r"(?:^|[\s(\"“])$")
_AFTER = re.compile(r"$|[\s.,;:!?)\"”]|['’](?:s|d|ll)\b")
_FOLLOWING = re.compile(r"(\W*)(\w*)\W*(\w*)")
_ARTICLES = frozenset("a an the this that".split())
# Ends of noun phrases: a noun before one of these cannot be part of a longer compound.
_END_OF_PHRASE = re.compile(
    r"$|[.,;:!?)]| (?:in|on|at|with|of|from|by|for|to|into|who|that|is|was|has|had|can|will|would|does|did)\b"
)


def certain_mentions(text: str, listed: Sequence[ListedWord], polysemous: Mapping[str, str]) -> list[Mention]:
    """Return the mentions that mark an attribute if all such mentions are certain, else an empty list.

    Neutral words are omitted, because they stay unchanged in a text with a word that marks an attribute.
    """
    found = []
    for one in listed:
        if all(sense.attribute == NEUTRAL for sense in one.senses):
            continue
        mention = _certain_mention(text, one, polysemous)
        if mention is None:
            return []
        found.append(mention)
    return found


def _certain_mention(text: str, one: ListedWord, polysemous: Mapping[str, str]) -> Mention | None:
    if not (_BEFORE.search(text[max(0, one.start - 1) : one.start]) and _AFTER.match(text, one.end)):
        return None
    kinds = {sense.pos for sense in one.senses}
    folded, case = one.word.casefold(), ""
    if kinds == {"pronoun"}:
        if folded in AMBIGUOUS:
            gap, following, then = _FOLLOWING.match(text, one.end).groups()  # type: ignore[union-attr]
            case = certain_case(folded, gap, following.casefold(), then.casefold())
            if not case:
                return None
    elif not (kinds == {"noun"} and len(one.senses) == 1 and _is_plain(text, one, polysemous.get(folded))):
        return None
    return Mention(one.start, one.end, one.word, one.senses[0], None, kinds == {"pronoun"}, case)


def _is_plain(text: str, one: ListedWord, other: str | None) -> bool:
    """Return whether a noun names people and its neighbours show that it is not part of a compound."""
    before = one.beside.before.casefold() in _ARTICLES and one.beside.gap_before == " "
    return other in (None, "verb") and one.word.islower() and before and bool(_END_OF_PHRASE.match(text, one.end))
