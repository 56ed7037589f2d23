"""Which mentions of a text are turned, and to what, where all of its people are meant."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from fairlab.rewriting.english.mentions import Mention, Possible
from fairlab.rewriting.english.syntax import Syntax
from fairlab.rewriting.english.vocabulary import Sense
from fairlab.text.words import match_case
from fairlab.types import NEUTRAL

EITHER = "either"  # stands for the attribute of *he or she*
ALTERNATIVE = (" or ", "/", " / ")  # what stands between two words for either of two people


@dataclass(frozen=True)
class WholeText:
    """A text with all of its people turned to a target; ``RuleRewriter`` describes how neutral words are treated."""

    target: str

    def may_turn(self, possible: Possible) -> bool:
        """Whether anything can be turned in a text that holds no more than is possible."""
        if possible.attributes - {self.target, NEUTRAL}:
            return True
        return self.target != NEUTRAL and possible.returns and self.target not in possible.certain

    def is_told_by(self, certain: Sequence[Mention]) -> bool:
        """Whether mentions without tokens are enough: verbs of singular *they* are told by a parse."""
        return self.target != NEUTRAL or all(mention.sense.pos != "pronoun" for mention in certain)

    def __call__(self, mentions: list[Mention], text: str, syntax: Syntax | None) -> list[tuple[Mention, str]]:
        """The mentions that are turned, each with its target."""
        marked = [mention for mention in mentions if mention.sense.attribute != NEUTRAL]
        if marked or self.target == NEUTRAL:
            joined = _join_alternatives(marked, text)
            return [(mention, self.target) for mention in joined if mention.sense.attribute != self.target]
        if syntax is None or any(syntax.plural_people_before(mention.token) for mention in mentions[:1]):
            return []
        return [(mention, self.target) for mention in mentions if mention.returns]


@dataclass(frozen=True)
class Exchanged:
    """Every mention with the other attribute."""

    other: Mapping[str, str]

    def may_turn(self, possible: Possible) -> bool:
        """Whether anything can be turned in a text that holds no more than is possible."""
        return not possible.attributes.isdisjoint(self.other)

    def is_told_by(self, certain: Sequence[Mention]) -> bool:
        """Whether mentions without tokens are enough."""
        return bool(certain)

    def __call__(self, mentions: list[Mention], text: str, syntax: Syntax | None) -> list[tuple[Mention, str]]:
        """The mentions that are turned, each with its target."""
        del text, syntax
        return [
            (mention, self.other[mention.sense.attribute])
            for mention in mentions
            if mention.sense.attribute in self.other
        ]


def _join_alternatives(mentions: list[Mention], text: str) -> list[Mention]:
    """The mentions, with *he or she*, *his/her* and *husband/wife* as one that stands where both stood.

    It is in the case of the latter.
    """
    joined: list[Mention] = []
    for mention in mentions:
        before = joined[-1] if joined else mention
        between = text[before.end : mention.start]
        alike = before.sense.pos == mention.sense.pos == "pronoun" or before.sense.entry is mention.sense.entry
        if alike and between.lower() in ALTERNATIVE and before.sense.attribute not in (mention.sense.attribute, EITHER):
            found = match_case(before.found, mention.found)
            mention = replace(mention, start=before.start, found=found, sense=Sense(EITHER, mention.sense.entry))
            joined.pop()
        joined.append(mention)
    return joined
