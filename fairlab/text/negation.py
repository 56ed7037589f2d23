"""Contradiction of a sentence by rules: another number, an opposite, or a negation inserted or removed.

The rules are this project's. A number or an opposite is preferred to inserting a negation, which would reveal the
label.
"""

from __future__ import annotations

import re

NUMBER = re.compile(r"(?<![\w.,-])\d+(?![\w-])(?![.,]\d)")
OPPOSITES = [
    ("always", "never"), ("all", "none"), ("before", "after"), ("first", "last"), ("best", "worst"), ("male", "female"),
    ("man", "woman"), ("men", "women"), ("boy", "girl"), ("brother", "sister"), ("father", "mother"),
    ("son", "daughter"), ("husband", "wife"), ("actor", "actress"), ("north", "south"), ("northern", "southern"),
    ("east", "west"),
    ("eastern", "western"), ("more", "less"), ("most", "least"), ("many", "few"), ("larger", "smaller"),
    ("largest", "smallest"), ("higher", "lower"), ("highest", "lowest"), ("older", "younger"), ("oldest", "youngest"),
    ("old", "new"), ("early", "late"), ("born", "died"), ("alive", "dead"),
    ("increased", "decreased"), ("rose", "fell"), ("began", "ended"), ("started", "stopped"), ("good", "bad"),
    ("rich", "poor"), ("true", "false"), ("inside", "outside"), ("above", "below"), ("under", "over"), ("hot", "cold"),
    ("easy", "difficult"), ("married", "unmarried"), ("successful", "unsuccessful"), ("at least", "fewer than"),
    ("more than", "less than"), ("everyone", "no one"), ("everything", "nothing"),
]  # fmt: skip
OPPOSITE = {one: other for pair in OPPOSITES for one, other in (pair, pair[::-1])}
WORDS = re.compile(rf"\b({'|'.join(sorted(map(re.escape, OPPOSITE), key=len, reverse=True))})\b", re.IGNORECASE)
CONTRACTED = re.compile(r"\b(\w+?)\s?n['’]t\b", re.IGNORECASE)
NOT = re.compile(r"\s(?:not|never)\b", re.IGNORECASE)
AUXILIARY = re.compile(
    r"\b(is|are|was|were|am|has|have|had|can|could|will|would|shall|should|may|might|must|do|does|did)\b", re.IGNORECASE
)
STEMS = {"ca": "can", "wo": "will", "sha": "shall"}


def negated(sentence: str) -> str | None:
    """Return a sentence that contradicts the given one, or None if no rule applies.

    The first applicable rule is used: remove a negation; increase a number by one; replace a listed word by its
    opposite; insert *not* after the first auxiliary.

    Example:
        >>> negated("The film won 3 prizes in 1999.")
        'The film won 4 prizes in 1999.'
        >>> negated("She was the first president."), negated("It isn't red."), negated("Rome is in Italy.")
        ('She was the last president.', 'It is red.', 'Rome is not in Italy.')
    """
    if found := CONTRACTED.search(sentence):
        verb = STEMS.get(found[1].lower(), found[1])
        return sentence[: found.start()] + verb + sentence[found.end() :]
    if found := NOT.search(sentence):
        return sentence[: found.start()] + sentence[found.end() :]
    if found := NUMBER.search(sentence):
        return sentence[: found.start()] + str(int(found[0]) + 1) + sentence[found.end() :]
    if found := WORDS.search(sentence):
        opposite = OPPOSITE[found[0].lower()]
        cased = opposite.capitalize() if found[0][0].isupper() else opposite
        return sentence[: found.start()] + cased + sentence[found.end() :]
    if found := AUXILIARY.search(sentence):
        return f"{sentence[: found.end()]} not{sentence[found.end() :]}"
    return None
