"""Words of a text that can be perturbed, and a score of its demographic content.

Source: Qian et al. 2022, "Perturbation Augmentation for Fairer NLP", algorithm 1 and equation 2.
"""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import chain, pairwise
from typing import Any, Literal

from fairlab.lexicons import Lexicon
from fairlab.rewriting.english.casing import read_cased
from fairlab.rewriting.english.linkers import RULES, load_linker
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
    its gender. It also marks its race, unless that race is white: most names with a known race are listed as white,
    whatever the race of the person. A neutral noun that may be converted back to an attribute, such as *parent*,
    counts in a text without a gendered word. *They* never counts, because it usually refers to several people or
    things.

    Args:
        lexicons: Lexicons of the axes, one per axis.
        mode: Method of finding words: ``syntax`` parses every text that has a listed word; ``lexical`` uses only
            neighbouring words.
        linker: Method of finding the words for one person, see :func:`fairlab.rewriting.english.linkers.load_linker`.

    Raises:
        FairlabError: The mode or linker is unknown, or two lexicons have the same axis.
    """

    def __init__(
        self, lexicons: Sequence[Lexicon], mode: Literal["syntax", "lexical"] = "syntax", linker: str = RULES
    ) -> None:
        if mode not in ("syntax", "lexical"):
            raise FairlabError(f"augmentation.mode must be syntax or lexical, not {mode}")
        axes = [lexicon.axis for lexicon in lexicons]
        if not axes or len(set(axes)) < len(axes):
            raise FairlabError(f"augmentation.axes must name one axis or more, each once, not {axes}")
        self.mode, self.linker = mode, load_linker(linker, mode)
        self.people = frozenset[str]().union(*(lexicon.people for lexicon in lexicons))
        self._known_targets: dict[tuple[str, str, int], list[str]] = {}
        self.finders = {
            lexicon.axis: MentionFinder(Vocabulary(lexicon, seed=0), keep_quotations=False) for lexicon in lexicons
        }

    def open(self, texts: Sequence[str]) -> list[PerturbableText]:
        """Return the texts with their words that may be selected.

        Texts with a listed word that has a target are parsed in batches.
        """
        views = [read_cased(text) for text in texts]
        parsed: dict[int, Any] = {}
        if self.mode == "syntax":
            listed = [k for k, view in enumerate(views) if next(self.possible(view.text), None)]
            parsed = dict(zip(listed, parse_views((views[k] for k in listed), self._named_words), strict=True))
        return [PerturbableText(self, view, parsed.get(k)) for k, view in enumerate(views)]

    def possible(self, text: str) -> Iterator[tuple[str, str, str]]:
        """Yield the axis, the folded word and the target of a superset of a text's K, which is found without a parse.

        The text has the form returned by :func:`read_cased`.
        """
        for axis, finder in self.finders.items():
            for word, sense in finder.possible_senses(text):
                folded = word.casefold()
                for target in self.targets(axis, sense):
                    yield axis, folded, target

    def _named_words(self, text: str) -> Iterator[int]:
        return chain.from_iterable(finder.named_words(text) for finder in self.finders.values())

    def selections(self, texts: Sequence[str]) -> list[list[Selection]]:
        """Return the candidate perturbations of every text, the set K of algorithm 1.

        The candidates are all pairs of a distinct word, at its first occurrence, and another attribute of the word's
        axis. Targets for which the lexicon has no form of the word are omitted.

        Source: Qian et al. 2022, "Perturbation Augmentation for Fairer NLP", algorithm 1.
        """
        return [
            [one.selection(axis, mention, target) for axis, mention, target in one.candidates()]
            for one in self.open(texts)
        ]

    def targets(self, axis: str, sense: Sense) -> list[str]:
        """Return the possible targets of a word. On an axis with pronouns, they include *neutral* (non-binary)."""
        key = axis, sense.attribute, id(sense.entry)  # entries are kept by the vocabulary
        if key not in self._known_targets:
            self._known_targets[key] = self._find_targets(axis, sense)
        return self._known_targets[key]

    def _find_targets(self, axis: str, sense: Sense) -> list[str]:
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
        if any(finder.may_change(text) for finder in self.finders.values()):
            for axis, finder in self.finders.items():
                counts.update(
                    f"{axis}/{mention.sense.attribute}"
                    for mention in finder.find_by_neighbours(text)
                    if _marks_attribute(mention)
                )
        return counts

    def stayed(self, before: Sequence[str], after: Sequence[str], axis: str) -> list[str]:
        """Return the fields of an example that mention a person of an axis but were not rewritten."""
        unchanged = (old for old, new in zip(before, after, strict=True) if old == new)
        return [text for text in unchanged if any(place.startswith(f"{axis}/") for place in self.attributes(text))]


class PerturbableText:
    """Words of one text that may be selected, on several axes. Axes and words are only judged when they are asked for.

    The view is in sentence case. Without a parse (``doc`` is None), words are judged by their neighbours.
    """

    def __init__(self, words: PerturbableWords, view: View, doc: Any) -> None:
        self.words, self.view = words, view
        self.syntax = Syntax(doc, words.people) if doc is not None else None
        self._axes: dict[str, tuple[list[Mention], People | None]] = {}

    def draw(self, rng: random.Random) -> tuple[str, Mention, str] | None:
        """Draw an axis, a word and a target uniformly from K, or return None if K is empty.

        All pairs of a listed word and a target are put in random order, and the first one that is in K is taken. K
        itself is not needed, and only the axes of the pairs that come first are searched.
        """
        pairs = list(dict.fromkeys(self.words.possible(self.view.text)))
        for axis, word, target in in_random_order(pairs, rng):
            mention = self._first(axis, word)
            if mention is not None and target in self.words.targets(axis, mention.sense):
                return axis, mention, target
        return None

    def candidates(self) -> Iterator[tuple[str, Mention, str]]:
        """Yield the axis, the first mention of a word, and the target of every element of K."""
        for axis in self.words.finders:
            mentions = [one for one in self._on_axis(axis)[0] if self._is_turned_whole(axis, one)]
            for mention in {one.found.casefold(): one for one in reversed(mentions)}.values():
                for target in self.words.targets(axis, mention.sense):
                    yield axis, mention, target

    def people(self, axis: str) -> People | None:
        """Return the people that the words of an axis refer to, or None if they are not known from a parse."""
        return self._on_axis(axis)[1]

    def selection(self, axis: str, mention: Mention, target: str) -> Selection:
        """Return a candidate with its word's offset in the original text."""
        start, end = self.view.span(mention.start, mention.end)
        return Selection(start, self.view.original[start:end], axis, mention.sense.attribute, target)

    def _first(self, axis: str, word: str) -> Mention | None:
        """Return the first mention of a folded word whose person can be rewritten completely, or None."""
        alike = (one for one in self._on_axis(axis)[0] if one.found.casefold() == word)
        return next((one for one in alike if self._is_turned_whole(axis, one)), None)

    def _is_turned_whole(self, axis: str, mention: Mention) -> bool:
        people = self._on_axis(axis)[1]
        return people is None or not people.half_turned(mention)

    def _on_axis(self, axis: str) -> tuple[list[Mention], People | None]:
        """Return the selectable mentions of an axis from left to right, and the people whom they refer to."""
        if axis not in self._axes:
            text, finder, people = self.view.text, self.words.finders[axis], None
            try:
                mentions = finder.find(text, self.syntax) if self.syntax else finder.find_by_neighbours(text)
                people = People(finder, self.view, self.syntax, mentions, self.words.linker) if self.syntax else None
            except Unaligned:  # the rewriter reports why such a text cannot be rewritten
                mentions = finder.find_by_neighbours(text)
            self._axes[axis] = _selectable(finder, mentions, text), people
        return self._axes[axis]


def in_random_order(items: list[Any], rng: random.Random) -> Iterator[Any]:
    """Yield the items of a list in random order, and draw only as many as are asked for."""
    for last in range(len(items) - 1, -1, -1):
        place = int(rng.random() * (last + 1))
        items[place], items[last] = items[last], items[place]
        yield items[last]


def _marks_attribute(mention: Mention) -> bool:
    """Return whether a word marks an attribute. A name of the commonest race does not."""
    return mention.sense.attribute not in (NEUTRAL, COMMONEST if mention.sense.pos == "name" else NEUTRAL)


# Separators between two words of different attributes that together mean everyone: *men and women*, *his or her*.
_PAIRED = re.compile(r"\s*(?:/|&|,|,? ?(?:and|or|nor|and/or))\s*(?:to |in |for |one |the other )?", re.IGNORECASE)


def _selectable(finder: MentionFinder, mentions: Sequence[Mention], text: str) -> list[Mention]:
    """Return the selectable words: words that mark an attribute or, without such words, neutral nouns.

    On an axis with a judge, only words for people are selectable: *Christian*, but not *church*.
    """
    if marked := [mention for mention in mentions if mention.sense.attribute != NEUTRAL]:
        paired = _find_paired(marked, text)
        judge = finder.judge
        return [
            mention
            for mention in marked
            if _marks_attribute(mention)
            and mention.start not in paired
            and (judge is None or judge.judges(mention.sense))
        ]
    return [mention for mention in mentions if mention.returns and mention.sense.pos != "pronoun"]


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
