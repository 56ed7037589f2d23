"""Choice of the mentions to rewrite, and their targets, when all people of a text are rewritten."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from fairlab.rewriting.english.mentions import Mention, Possible
from fairlab.rewriting.english.syntax import Syntax
from fairlab.rewriting.english.vocabulary import Sense
from fairlab.text.words import match_case
from fairlab.types import NEUTRAL

EITHER = "either"  # placeholder for the attribute of *he or she*
# Separators between alternative words for a person, also after a possessive ending: *man's/woman's*.
ALTERNATIVE = frozenset(ending + sign for ending in ("", "'s", "'") for sign in (" or ", "/", " / "))


@dataclass(frozen=True)
class WholeText:
    """Choice of all people in a text, who are rewritten to one target; see ``RuleRewriter`` for neutral words."""

    target: str

    def may_turn(self, possible: Possible) -> bool:
        """Return whether a text with the given possible attributes may contain a mention to rewrite."""
        if possible.attributes - {self.target, NEUTRAL}:
            return True
        return self.target != NEUTRAL and possible.returns and self.target not in possible.certain

    def is_told_by(self, certain: Sequence[Mention]) -> bool:
        """Return whether the certain mentions suffice, so that no parse is needed.

        The verbs of singular *they* need a parse.
        """
        return self.target != NEUTRAL or all(mention.sense.pos != "pronoun" for mention in certain)

    def __call__(self, mentions: list[Mention], text: str, syntax: Syntax | None) -> list[tuple[Mention, str]]:
        """Return the mentions to rewrite, each with its target."""
        marked = [mention for mention in mentions if mention.sense.attribute != NEUTRAL]
        if marked or self.target == NEUTRAL:
            joined = _join_alternatives(marked, text)
            return [(mention, self.target) for mention in joined if mention.sense.attribute != self.target]
        if syntax is None or any(syntax.plural_people_before(syntax.at(mention.start)) for mention in mentions[:1]):
            return []
        return [(mention, self.target) for mention in mentions if mention.returns]


@dataclass(frozen=True)
class Exchanged:
    """Choice of all mentions, so that each is rewritten to the other attribute."""

    other: Mapping[str, str]

    def may_turn(self, possible: Possible) -> bool:
        """Return whether a text with the given possible attributes may contain a mention to rewrite."""
        return not possible.attributes.isdisjoint(self.other)

    def is_told_by(self, certain: Sequence[Mention]) -> bool:
        """Return whether the certain mentions suffice, so that no parse is needed."""
        return bool(certain)

    def __call__(self, mentions: list[Mention], text: str, syntax: Syntax | None) -> list[tuple[Mention, str]]:
        """Return the mentions to rewrite, each with its target."""
        del text, syntax
        return [
            (mention, self.other[mention.sense.attribute])
            for mention in mentions
            if mention.sense.attribute in self.other
        ]


def _join_alternatives(mentions: list[Mention], text: str) -> list[Mention]:
    """Merge alternatives, such as *he or she*, *his/her* and *husband/wife*, into one mention that spans both words.

    A merged mention has the grammatical case of the second word.
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
