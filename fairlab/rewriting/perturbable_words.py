"""Words of a text that can be perturbed, and a score of its demographic content.

Source: Qian et al. 2022, "Perturbation Augmentation for Fairer NLP", algorithm 1 and equation 2.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any, Literal

from fairlab.lexicons import Lexicon
from fairlab.rewriting.english.casing import read_cased
from fairlab.rewriting.english.mentions import Mention, MentionFinder, Unaligned
from fairlab.rewriting.english.one_person import People
from fairlab.rewriting.english.syntax import Syntax, parse_views
from fairlab.rewriting.english.vocabulary import Sense, Vocabulary
from fairlab.rewriting.word_rewriters import Selection
from fairlab.text.pipeline import count_entities
from fairlab.text.view import View
from fairlab.text.words import WORD
from fairlab.types import NEUTRAL, FairlabError

COMMONEST = "white"  # see _marks_attribute


class PerturbableWords:
    """Finder of the words that mark an attribute in texts, on several axes at once.

    The words are those that the rule rewriter changes: words of the lexicons, in the relevant sense. A first name marks
    its gender. It also marks its race, unless that is white, the race of most names with a known race, whoever bears
    them. A neutral noun that may be converted back to an attribute, such as *parent*, counts in a text without a
    gendered word; *they* never counts, because it usually refers to several people or things.

    Args:
        lexicons: Lexicons of the axes, one per axis.
        mode: Method of finding words: ``syntax`` parses every text that has a listed word; ``lexical`` uses only
            neighbouring words.

    Raises:
        FairlabError: The mode is unknown, or two lexicons have the same axis.
    """

    def __init__(self, lexicons: Sequence[Lexicon], mode: Literal["syntax", "lexical"] = "syntax") -> None:
        if mode not in ("syntax", "lexical"):
            raise FairlabError(f"augmentation.mode must be syntax or lexical, not {mode}")
        axes = [lexicon.axis for lexicon in lexicons]
        if not axes or len(set(axes)) < len(axes):
            raise FairlabError(f"augmentation.axes must name one axis or more, each once, not {axes}")
        self.mode = mode
        self.people = frozenset[str]().union(*(lexicon.people for lexicon in lexicons))
        self.finders = {
            lexicon.axis: MentionFinder(Vocabulary(lexicon, seed=0), keep_quotations=False) for lexicon in lexicons
        }

    def mentions(self, texts: Sequence[str], docs: Sequence[Any] | None = None) -> list[dict[str, list[Mention]]]:
        """Return, for every text and axis, the words that may be selected, from left to right.

        Args:
            texts: Texts to search.
            docs: Parses of the texts in sentence case, as returned by :meth:`parsed`; None parses the texts.
        """
        views = [read_cased(text) for text in texts]
        found: list[dict[str, list[Mention]]] = [{axis: [] for axis in self.finders} for _ in texts]
        listed = [k for k, text in enumerate(texts) if self.may_hold(text)]
        if self.mode == "lexical":
            for k in listed:
                for axis, finder in self.finders.items():
                    mentions = _selectable(finder.find_by_neighbours(views[k].text), views[k].text)
                    found[k][axis] = _to_original(mentions, views[k])
            return found
        parsed = (
            parse_views((views[k] for k in listed), self._asks_entities) if docs is None else (docs[k] for k in listed)
        )
        for k, doc in zip(listed, parsed, strict=True):
            text, syntax = views[k].text, Syntax(doc, self.people)
            for axis, finder in self.finders.items():
                try:
                    mentions = finder.find(text, syntax)
                except Unaligned:  # the rewriter reports why such a text cannot be rewritten
                    mentions = finder.find_by_neighbours(text)
                    found[k][axis] = _to_original(_selectable(mentions, text), views[k])
                    continue
                whole = _fully_rewritable(_selectable(mentions, text), People(finder, text, syntax, mentions))
                found[k][axis] = _to_original(whole, views[k])
        return found

    def may_hold(self, text: str) -> bool:
        """Return whether a text may contain a word of any axis, without parsing it."""
        return self._may_hold(read_cased(text).text)

    def _may_hold(self, text: str) -> bool:
        return any(finder.may_change(text) for finder in self.finders.values())

    def parsed(self, texts: Iterable[str]) -> Iterator[Any]:
        """Yield the parse of each text in sentence case, with named entities if a name requires them."""
        return parse_views(map(read_cased, texts), self._asks_entities)

    def _asks_entities(self, text: str) -> bool:
        """Return whether named entities are needed to tell whether a name in a text in sentence case is a person's."""
        return any(finder.asks_entities(text) for finder in self.finders.values())

    def selections(self, texts: Sequence[str], docs: Sequence[Any] | None = None) -> list[list[Selection]]:
        """Return the candidate perturbations of every text, the set K of algorithm 1.

        The candidates are all pairs of a distinct word, at its first occurrence, and another attribute of the word's
        axis. Targets for which the lexicon has no form of the word are omitted. For the arguments, see
        :meth:`mentions`.

        Source: Qian et al. 2022, "Perturbation Augmentation for Fairer NLP", algorithm 1.
        """
        return [
            [
                Selection(mention.start, text[mention.start : mention.end], axis, mention.sense.attribute, target)
                for axis, mentions in by_axis.items()
                for mention in {mention.found.casefold(): mention for mention in reversed(mentions)}.values()
                for target in self._targets(axis, mention.sense)
            ]
            for text, by_axis in zip(texts, self.mentions(texts, docs), strict=True)
        ]

    def _targets(self, axis: str, sense: Sense) -> list[str]:
        """Return the possible targets of a word. On an axis with pronouns, they include *neutral* (non-binary)."""
        vocabulary = self.finders[axis].vocabulary
        targets = [*([NEUTRAL] if vocabulary.pronouns else []), *vocabulary.lexicon.attributes]
        entry = sense.entry
        return [
            target
            for target in targets
            if target != sense.attribute
            and (entry is None or target == NEUTRAL or entry.forms[vocabulary.column(target)])
        ]

    def attributes(self, text: str) -> Counter[str]:
        """Count the words of a text per ``axis/attribute``, with their sense judged from neighbouring words."""
        counts = Counter[str]()
        text = read_cased(text).text
        if self._may_hold(text):
            for axis, finder in self.finders.items():
                counts.update(
                    f"{axis}/{mention.sense.attribute}"
                    for mention in finder.find_by_neighbours(text)
                    if _marks_attribute(mention)
                )
        return counts

    def stayed(self, before: Sequence[str], after: Sequence[str], axis: str) -> list[str]:
        """Return the fields of an example that mention a person of an axis but were not rewritten.

        Args:
            before: Fields of the example.
            after: The same fields after rewriting.
            axis: Axis on which a person was rewritten.
        """
        unchanged = (old for old, new in zip(before, after, strict=True) if old == new)
        return [text for text in unchanged if any(place.startswith(f"{axis}/") for place in self.attributes(text))]


def _to_original(mentions: Sequence[Mention], view: View) -> list[Mention]:
    """Return mentions found in the sentence-case text with their positions in the original."""
    if view.is_plain:
        return list(mentions)
    spans = [view.span(mention.start, mention.end) for mention in mentions]
    return [replace(one, start=start, end=end) for one, (start, end) in zip(mentions, spans, strict=True)]


def _marks_attribute(mention: Mention) -> bool:
    """Return whether a word marks an attribute. A name of the commonest race does not."""
    return mention.sense.attribute not in (NEUTRAL, COMMONEST if mention.sense.pos == "name" else NEUTRAL)


# Separators between two words of different attributes that together mean everyone: *men and women*, *his or her*.
_PAIRED = re.compile(r"\s*(?:/|&|,|,? ?(?:and|or|nor|and/or))\s*(?:to |in |for |one |the other )?", re.IGNORECASE)


def _selectable(mentions: Sequence[Mention], text: str) -> list[Mention]:
    """Return the selectable words: words that mark an attribute or, without such words, neutral nouns."""
    if marked := [mention for mention in mentions if mention.sense.attribute != NEUTRAL]:
        paired = _find_paired(marked, text)
        return [mention for mention in marked if _marks_attribute(mention) and mention.start not in paired]
    return [mention for mention in mentions if mention.returns and mention.sense.pos != "pronoun"]


def _fully_rewritable(mentions: Sequence[Mention], people: People) -> list[Mention]:
    """Return the mentions whose person can be rewritten completely."""
    return [mention for mention in mentions if not people.half_turned(mention)]


def _find_paired(mentions: Sequence[Mention], text: str) -> set[int]:
    """Return the start offsets of words in pairs that together mean everyone, as in *men and women*.

    Such words must change together, so neither can be selected.
    """
    found = set[int]()
    for one, two in pairwise(mentions):
        kinds = {one.sense.pos, two.sense.pos}
        if kinds & {"name", "age", "title"}:
            continue
        if one.sense.attribute == two.sense.attribute and (
            not kinds <= {"adjective", "noun"} or "or" not in text[one.end : two.start]
        ):
            continue  # "Hispanic or Latino" is one group with two names
        if _PAIRED.fullmatch(text[one.end : two.start]):
            found |= {one.start, two.start}
    return found | {mention.start for mention in mentions if _stands_by_neutral(mention, text)}


def _stands_by_neutral(mention: Mention, text: str) -> bool:
    """Return whether *and* or *or* joins a word to its own neutral form: *actors and actresses*."""
    neutral = mention.sense.entry.forms[0] if mention.sense.entry is not None and mention.sense.pos == "noun" else ""
    if not neutral:
        return False
    form = re.escape(neutral)
    before = re.search(rf"\b{form}(?:/| (?:and|or|&) )$", text[: mention.start], re.IGNORECASE)
    return bool(before or re.match(rf"(?:/| (?:and|or|&) ){form}\b", text[mention.end :], re.IGNORECASE))


def perturbability(
    words: PerturbableWords, texts: Sequence[str], *, m0: float, m1: float, entities: bool
) -> list[float]:
    r"""Return a score of how likely each text is to contain demographic information.

    .. math:: \frac{m_0 \operatorname{NER}(s) + m_1 |s \cap D|}{|s|}

    Repeated words are counted each time, and the length of a text is its number of words. These choices and the weights
    are this project's, because the paper does not specify them.

    Args:
        words: Finder of the listed words D of all axes, which takes neighbouring words into account.
        texts: Texts to score.
        m0: Weight of named entities.
        m1: Weight of listed words.
        entities: Whether spaCy counts named persons, nationalities and groups; if not, their number is 0.

    Returns:
        Score of 0 or more for each text.

    Source: Qian et al. 2022, "Perturbation Augmentation for Fairer NLP", equation 2.
    """
    named = count_entities(texts) if entities else [0] * len(texts)
    return [
        (m0 * number + m1 * words.attributes(text).total()) / max(1, len(WORD.findall(text)))
        for number, text in zip(named, texts, strict=True)
    ]
