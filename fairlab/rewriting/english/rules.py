"""Rule-based counterfactual rewriter of the words, names and pronouns of an axis and the grammar around them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal

from fairlab.lexicons import Lexicon
from fairlab.rewriting.english.ages import age_in_years, follows_age, written_like
from fairlab.rewriting.english.agreement import plural_verb, singular_verb
from fairlab.rewriting.english.casing import read_cased
from fairlab.rewriting.english.certain import certain_mentions
from fairlab.rewriting.english.edits import fitted_edits, recase, say_once
from fairlab.rewriting.english.everybody import Exchanged, WholeText
from fairlab.rewriting.english.lexical import LexicalRules
from fairlab.rewriting.english.linkers import RULES, load_linker
from fairlab.rewriting.english.mentions import Mention, MentionFinder, Unaligned
from fairlab.rewriting.english.one_person import People
from fairlab.rewriting.english.pronouns import AMBIGUOUS, SUBJECT, case_by_syntax
from fairlab.rewriting.english.syntax import Syntax, parse_views
from fairlab.rewriting.english.vocabulary import Vocabulary
from fairlab.text.view import Edit, View
from fairlab.text.words import match_case
from fairlab.types import NEUTRAL, FairlabError


class RuleRewriter:
    """Rewriter that gives the people in a text another attribute of an axis.

    Pronouns take the case that their syntax requires (``her`` becomes ``him`` or ``his``), and verbs agree with
    singular *they*. Articles, possessives and capitals are corrected. First names are replaced by names of the target,
    consistently throughout a text. *He or she* becomes one pronoun. Addresses, code, quoted titles of works, words
    joined to others by a hyphen and words with another sense (a black car) stay unchanged.

    If a text has words of any attribute, its neutral words stay unchanged, because *they* may be several people. In a
    text without such words, *they* and *parent* are assumed to refer to the people to rewrite, unless the text names
    several people.

    Args:
        lexicon: Words of the axis.
        mode: Search method: ``syntax`` parses every text; ``lexical`` uses only neighbouring words, is about a hundred
            times as fast, and has no coreference (for its limits see :mod:`fairlab.rewriting.english.lexical`).
        names: Treatment of first names: ``swap`` replaces them, ``keep`` leaves them unchanged.
        quotations: Treatment of quotations: ``rewrite`` treats quoted speech as part of the text, about the same
            people; ``keep`` leaves everything in quotation marks unchanged.
        linker: Method of finding the words for one person, see :func:`fairlab.rewriting.english.linkers.load_linker`.
        seed: Seed for choosing among equally suitable first names.

    Attributes:
        unaligned: Number of texts returned unchanged so far because the parser did not separate one of their words from
            its neighbours; :meth:`versions`, :meth:`exchanges` and :meth:`turn_people` return the reason instead.
    """

    def __init__(
        self,
        lexicon: Lexicon,
        *,
        mode: Literal["syntax", "lexical"] = "syntax",
        names: Literal["swap", "keep"] = "swap",
        quotations: Literal["rewrite", "keep"] = "rewrite",
        linker: str = RULES,
        seed: int = 0,
    ) -> None:
        if mode not in ("syntax", "lexical"):
            raise FairlabError(f"the rule rewriter has the modes syntax and lexical, not '{mode}'")
        self.mode, self.names = mode, names
        self.linker = load_linker(linker, mode)
        self.unaligned = 0
        keep_quotations = quotations == "keep"
        self.vocabulary = Vocabulary(lexicon, seed)
        self.finder = MentionFinder(self.vocabulary, keep_quotations=keep_quotations)
        self.lexical = LexicalRules(self.vocabulary, swap_names=names == "swap", keep_quotations=keep_quotations)

    def __call__(self, text: str, target: str) -> str:
        """Return ``text`` with all mentions rewritten to ``target``.

        Raises:
            FairlabError: The axis has no such attribute.
        """
        return self.rewrite_all([text], [target])[0]

    def rewrite_all(self, texts: Sequence[str], targets: Sequence[str]) -> list[str]:
        """Return every text rewritten to its own target.

        Only texts with a listed word are parsed, in batches.
        """
        for target in set(targets):
            self.vocabulary.column(target)
        if self.mode == "lexical":
            return [self.lexical.rewrite(text, target) for text, target in zip(texts, targets, strict=True)]
        made = self._rewrite(texts, [[WholeText(target)] for target in targets])
        return self._keep_failed(texts, [one if isinstance(one, Unaligned) else one[0] for one in made])

    def versions(self, texts: Sequence[str], targets: Sequence[str]) -> list[list[str] | Unaligned]:
        """Return every text rewritten to each target, or the reason for failure. Each text is parsed at most once."""
        if self.mode == "lexical":
            return [[self.lexical.rewrite(text, target) for target in targets] for text in texts]
        for target in targets:
            self.vocabulary.column(target)
        return self._rewrite(texts, [[WholeText(target) for target in targets]] * len(texts))

    def swap_all(self, texts: Sequence[str]) -> list[str]:
        """Return every text with the two attributes of the axis swapped, as in word-list swapping.

        Raises:
            FairlabError: The axis does not have exactly two attributes.
        """
        return self._keep_failed(texts, self.exchanges(texts))

    def exchanges(self, texts: Sequence[str]) -> list[str | Unaligned]:
        """Return every text with the two attributes of the axis swapped, or the reason for failure.

        Raises:
            FairlabError: The axis does not have exactly two attributes.
        """
        attributes = self.vocabulary.lexicon.attributes
        if len(attributes) != 2:
            raise FairlabError(
                f"the axis '{self.vocabulary.lexicon.axis}' has {len(attributes)} attributes, but only two can be "
                "exchanged; rewrite to one of them"
            )
        other = dict(zip(attributes, attributes[::-1], strict=True))
        if self.mode == "lexical":
            return [self.lexical.exchange(text, other) for text in texts]
        made = self._rewrite(texts, [[Exchanged(other)]] * len(texts))
        return [one if isinstance(one, Unaligned) else one[0] for one in made]

    def _keep_failed(self, texts: Sequence[str], made: Sequence[str | Unaligned]) -> list[str]:
        """Return the rewritten texts. Texts that could not be rewritten are counted and stay unchanged."""
        self.unaligned += sum(isinstance(one, Unaligned) for one in made)
        return [text if isinstance(one, Unaligned) else one for text, one in zip(texts, made, strict=True)]

    def _rewrite(
        self, texts: Sequence[str], choices: Sequence[Sequence[WholeText | Exchanged]]
    ) -> list[list[str] | Unaligned]:
        """Return, for every text, the result of each of its choices, or the reason for failure.

        A text is parsed only if its words alone are not decisive.
        """
        rewritten: list[list[str] | Unaligned] = [
            [text] * len(chosen) for text, chosen in zip(texts, choices, strict=True)
        ]
        views = [read_cased(text) for text in texts]
        unsure = []
        for index, view in enumerate(views):
            chosen = choices[index]
            possible = self.finder.possible(view.text)
            if not any(choice.may_turn(possible) for choice in chosen):
                continue
            certain = self._certain(view.text)
            if certain and all(choice.is_told_by(certain) for choice in chosen):
                rewritten[index] = [
                    self._rewrite_view(view, None, choice(certain, view.text, None)) for choice in chosen
                ]
            else:
                unsure.append(index)
        docs = parse_views((views[index] for index in unsure), self.finder.named_words)
        for index, doc in zip(unsure, docs, strict=True):
            view, syntax = views[index], Syntax(doc, self.vocabulary.lexicon.people)
            try:
                mentions = self.finder.find(view.text, syntax)
            except Unaligned as error:
                rewritten[index] = error
                continue
            rewritten[index] = [
                self._rewrite_view(view, syntax, choice(mentions, view.text, syntax)) for choice in choices[index]
            ]
        return rewritten

    def _rewrite_view(self, view: View, syntax: Syntax | None, turned: list[tuple[Mention, str]]) -> str:
        """Rewrite some mentions in the text of a view, and return the original with these changes."""
        return view.write(fitted_edits(view.text, self.edits(view.text, syntax, turned)))

    def _certain(self, text: str) -> list[Mention]:
        """Return the mentions that mark an attribute if a parse would not improve on them, else an empty list."""
        if self.finder.judge is not None or self.finder.may_hold_age(text):
            return []
        return certain_mentions(text, self.finder.listed(text), self.vocabulary.lexicon.polysemous)

    def rewrite_entity(self, text: str, word: str | int, target: str) -> str:
        """Return ``text`` with one person rewritten to ``target``: the selected word and its coreferent words.

        Args:
            text: Text to rewrite.
            word: Selected word (its first occurrence is used), or the offset of its first character.
            target: Target attribute, or ``neutral``.

        Raises:
            FairlabError: The word does not occur, the axis has no such attribute, or the mode is lexical.
        """
        return self.rewrite_entities([text], [[(word, target)]])[0]

    def rewrite_entities(
        self,
        texts: Sequence[str],
        selections: Sequence[Iterable[tuple[str | int, str]]],
        docs: Iterable[Any] | None = None,
    ) -> list[str]:
        """Return every text with its selected words rewritten to their targets, as in :meth:`rewrite_entity`.

        The arguments are the same as for :meth:`turn_people`.
        """
        return self._keep_failed(texts, self.turn_people(texts, selections, docs))

    def turn_people(
        self,
        texts: Sequence[str],
        selections: Sequence[Iterable[tuple[str | int, str]]],
        docs: Iterable[Any] | None = None,
    ) -> list[str | Unaligned]:
        """Return every text with its selected words rewritten to their targets, or the reason for failure.

        In a text of several fields joined by ``<SEP>``, a noun or name that is rewritten in the selected word's field
        is also rewritten in the other fields: *A man runs <SEP> A man moves* is about one man.

        Args:
            texts: Texts to rewrite.
            selections: Selected words with their targets, for each text.
            docs: Parses of the texts in the form returned by :func:`read_cased`; None parses the texts.
        """
        if self.mode == "lexical":
            raise FairlabError("mode=lexical cannot rewrite one person of a text; use mode=syntax")
        views = [read_cased(text) for text in texts]
        chosen = [
            [(_offset(view, word), target) for word, target in some]
            for view, some in zip(views, selections, strict=True)
        ]
        if docs is not None:
            return [self._turn_people(*one) for one in zip(views, docs, chosen, strict=True)]
        rewritten: list[str | Unaligned | None] = [
            self._turn_alone(view, some) for view, some in zip(views, chosen, strict=True)
        ]
        unsure = [index for index, text in enumerate(rewritten) if text is None]
        parsed = parse_views((views[index] for index in unsure), self.finder.named_words)
        for index, doc in zip(unsure, parsed, strict=True):
            rewritten[index] = self._turn_people(views[index], doc, chosen[index])
        return [one for one in rewritten if one is not None]

    def _turn_people(self, view: View, doc: Any, chosen: Sequence[tuple[int, str]]) -> str | Unaligned:
        """Rewrite the people to whom the selected words of a parsed text refer, each to their target."""
        text, syntax = view.text, Syntax(doc, self.vocabulary.lexicon.people)
        try:
            mentions = self.finder.find(text, syntax)
        except Unaligned as error:
            return error
        return self.rewrite_people(view, People(self.finder, view, syntax, mentions, self.linker), chosen)

    def rewrite_people(self, view: View, people: People, chosen: Sequence[tuple[int, str]]) -> str:
        """Return the original of a view with some of its people rewritten, each to their own target.

        Args:
            view: View of a text.
            people: People of the view's text, on the axis of this rewriter.
            chosen: Offset in the view's text of a word for each person to rewrite, and the person's target.
        """
        turned: dict[int, tuple[Mention, str]] = {}
        for start, target in chosen:
            self.vocabulary.column(target)
            turned |= _person_mentions(people, start, target) | turned
            for other in _matches_in_other_fields(people, start, turned):
                turned |= _person_mentions(people, other, target) | turned
        return self._rewrite_view(view, people.syntax, list(turned.values()))

    def _turn_alone(self, view: View, chosen: Sequence[tuple[int, str]]) -> str | None:
        """Return the text with its only listed word rewritten if that word is selected and certain, else None."""
        if len(chosen) != 1 or len(self.finder.listed(view.text)) != 1:
            return None
        (start, target), certain = chosen[0], self._certain(view.text)
        self.vocabulary.column(target)
        if not certain or not WholeText(target).is_told_by(certain) or certain[0].start != start:
            return None
        return self._rewrite_view(view, None, [(certain[0], target)] if certain[0].sense.attribute != target else [])

    def edits(self, text: str, syntax: Syntax | None, turned: list[tuple[Mention, str]]) -> list[Edit]:
        """Return the edits that rewrite some of the finder's mentions, each to its target.

        Args:
            text: Text in the form returned by :func:`read_cased`.
            syntax: Parse of the text, or None if the mentions are certain without a parse.
            turned: Mentions with their targets.
        """
        any_name = any(mention.sense.pos == "name" for mention, _ in turned)
        taken = {word.casefold() for word in re.findall(r"\w+", text)} if any_name else set()
        taken -= {mention.found.casefold() for mention, _ in turned}  # these words are removed from the text
        named: dict[str, str] = {}  # replacement of each name, which no other name may receive
        edits: list[Edit] = []
        figures = self.vocabulary.lexicon.figures
        ages = [(mention, to) for mention, to in turned if mention.sense.pos == "age" and to in figures]
        for mention, target in turned:
            if mention.sense.pos == "age":
                continue
            if mention.sense.pos == "pronoun":
                edits += self._turn_pronoun(mention, target, syntax)
            elif mention.sense.pos == "name":
                if self.names == "swap":
                    new = self.vocabulary.name(
                        mention.found, mention.sense, target, taken - {named.get(mention.found, "")}
                    )
                    named[mention.found] = new.casefold()
                    taken.add(new.casefold())
                    edits.append(Edit(mention.start, mention.end, new.upper() if _all_capitals(mention.found) else new))
            else:
                edits.append(self._turn_word(text, mention, target, syntax))
        edits = say_once(text, edits, {mention.start for mention, _ in turned if mention.sense.pos == "adjective"})
        said = [edit.new for edit in edits]  # an age must fit these words
        for mention, target in ages:
            years = self.vocabulary.fitting_age(age_in_years(mention.found), target, said)
            edits.append(Edit(mention.start, mention.end, written_like(mention.found, years)))
        return edits

    def _turn_word(self, text: str, mention: Mention, target: str, syntax: Syntax | None) -> Edit:
        entry = mention.sense.entry
        assert entry is not None
        listed = self.vocabulary.listed(mention.sense)
        before = syntax.noun_after(mention.token) if syntax else ""
        several = syntax and entry.forms[0] in ("", "person") and syntax.means_several(mention.token)
        if several and (plural := self.vocabulary.people(target)):
            return Edit(mention.start, mention.end, plural)
        new = self.vocabulary.form(entry, target, before)
        if not new and not before:
            return Edit(mention.start, mention.end, self.vocabulary.lexicon.alone)
        if new.endswith(f" {entry.forms[0]}") and follows_age(text, mention.start):  # a 65-year-old man, not old man
            new = entry.forms[0]
        return Edit(mention.start, mention.end, recase(mention.found, listed, new))

    def _turn_pronoun(self, mention: Mention, target: str, syntax: Syntax | None) -> list[Edit]:
        """Return the edits for a pronoun, in its grammatical case, and for the verbs that must agree with it."""
        case = self.case(mention)
        new = self.vocabulary.form(self.vocabulary.pronouns[case], target)
        edits = [Edit(mention.start, mention.end, match_case(mention.found, new))]
        was_neutral, is_neutral = mention.sense.attribute == NEUTRAL, target == NEUTRAL
        if syntax and case == SUBJECT and was_neutral != is_neutral:
            for verb in syntax.verbs(mention.token, third_person=is_neutral):
                agreed = (
                    plural_verb(verb.text, perfect=syntax.is_perfect(verb)) if is_neutral else singular_verb(verb.text)
                )
                edits.append(Edit(verb.idx, verb.idx + len(verb.text), agreed))
        return edits

    def case(self, mention: Mention) -> str:
        """Return the grammatical case of a pronoun. Syntax decides if its form has two cases."""
        folded = mention.found.casefold()
        if mention.case:
            return mention.case
        if folded in AMBIGUOUS:
            return case_by_syntax(mention.token)
        rows = self.vocabulary.pronouns.items()
        return next((case for case, row in rows if folded in map(str.casefold, row.forms)), "reflexive")


def _person_mentions(people: People, start: int, target: str) -> dict[int, tuple[Mention, str]]:
    """Return the mentions to rewrite, by offset, for the person that the word at ``start`` refers to."""
    turned = {}
    for mention in people.mentions_at(start):
        selected = mention.start <= start < mention.end
        changes = mention.sense.attribute not in (target, NEUTRAL) or mention.returns or selected
        if changes and mention.sense.attribute != target:
            turned[mention.start] = (mention, target)
    return turned


def _matches_in_other_fields(people: People, start: int, turned: Mapping[int, tuple[Mention, str]]) -> list[int]:
    """Return the offsets of words in other fields that equal a rewritten noun or name and refer to the same person."""
    if not people.field_ends:
        return []
    own = people.field_of(start)
    forms = {mention.found.casefold() for mention, _ in turned.values() if mention.sense.pos != "pronoun"}
    return [
        mention.start
        for mention in people.mentions
        if mention.found.casefold() in forms and people.field_of(mention.start) != own
    ]


def _offset(view: View, word: str | int) -> int:
    """Return the start of the selected word in a view's text."""
    if isinstance(word, int):
        return view.place(word)
    match = re.search(rf"(?<!\w){re.escape(word)}(?!\w)", view.text)
    if match is None:
        raise FairlabError(f"the word '{word}' does not occur in the text; select one that does")
    return match.start()


def _all_capitals(word: str) -> bool:
    return len(word) > 1 and word.isupper()
