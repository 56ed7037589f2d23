"""Rewriter that replaces a group named in a text (a *biaser*), at every mention, by each other member of its set.

Source: Mondal and Lipizzi 2024, "Mitigating Large Language Model Bias: Automated Dataset Augmentation and Prejudice
Quantification", section 3.1. The paper calls an axis a "bias producer" and an attribute of it a "biaser".
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal

from fairlab.lexicons import Entry, Lexicon, load_lexicon
from fairlab.rewriting.english.casing import read_cased
from fairlab.rewriting.english.edits import fitted_edits
from fairlab.rewriting.english.mentions import Mention, Unaligned
from fairlab.rewriting.english.protected import protected_spans
from fairlab.rewriting.english.rules import RuleRewriter
from fairlab.rewriting.english.syntax import ONE, SUBJECTS, Syntax, parse_views, precedes_verb
from fairlab.rewriting.english.vocabulary import Sense
from fairlab.text.papers import MONDAL_2024
from fairlab.text.view import Edit, View
from fairlab.text.words import TermFinder
from fairlab.types import NEUTRAL, FairlabError

# Axes whose members spaCy tags as NORP (nationalities, religious and political groups).
BY_ENTITIES = ("ethnicity", "nationality", "race")
GROUP, LANGUAGE = "NORP", "LANGUAGE"
# Endings and list of names of peoples; the recogniser returns many other words (*Hemispheric*, *Marines*).
_ENDINGS = ("an", "ese", "ish", "i")
_PEOPLES = frozenset(
    """
    soviet greek dutch czech slovak kazakh uzbek tajik turk pole swede dane finn swiss french arab kurd serb croat slav
    cherokee navajo apache sioux inuit maori zulu thai filipino filipina latino latina latinx baltic nordic hispanic
    aborigine scot welsh hmong tamil uyghur tatar lao khmer basque breton hutu yoruba igbo hausa berber bedouin roma
    """.split()
)
# Political NORPs, identified by ending or list; religious ones are identified by the lexicon of religion.
_POLITICAL = frozenset(
    """
    republican republicans congressional gop nazi nazis labour labor tory tories whig whigs green greens taliban
    hezbollah hamas liberal liberals conservative conservatives bolshevik bolsheviks federalist confederate union
    western westerner westerners eastern easterner democratic democracy
    """.split()
)
_SPEAK = frozenset("speak speaks speaking spoke spoken learn learns learned taught teaches".split())
_POLITICAL_ENDINGS = ("ist", "crat", "ism", "cratic", "istic")  # also in the plural


@dataclass(frozen=True)
class Copy:
    """Text with one biaser replaced.

    Attributes:
        text: Text of the copy.
        biaser: Member of the set that the copy mentions.
        replaced: Biaser that was replaced: an attribute of the lexicon, or the word in the text if it is unlisted.
    """

    text: str
    biaser: str
    replaced: str


class BiaserRewriter:
    """Rewriter that finds and replaces the biasers of texts.

    Mentions are the lexicon's words in the relevant sense. On the axes ethnicity, nationality and race, unlisted words
    that named-entity recognition tags as a people are mentions, too. Words inside a longer name (*American Airlines*)
    and names of languages are not mentions.

    Args:
        lexicon: Lexicon of the axis, whose attributes are the members of the set.
        whole: Lexicon used to find mentions, which may have more members; None uses ``lexicon``.
        seed: Seed for choosing among equally suitable first names.
        names: Treatment of first names: ``swap`` replaces them if the axis has any, ``keep`` leaves them unchanged.

    Raises:
        FairlabError: The value of ``names`` is unknown.
    """

    title = "replacement of a group by the other groups of its set"
    limits = (
        "Listed English words of one axis; "
        "rules adapt the grammar around a word, but facts about the member are unchanged."
    )
    citation = MONDAL_2024

    def __init__(
        self, *, lexicon: Lexicon, whole: Lexicon | None = None, seed: int = 0, names: Literal["swap", "keep"] = "swap"
    ) -> None:
        if names not in ("swap", "keep"):
            raise FairlabError(f"rewriter.names must be swap or keep, not {names}")
        self.lexicon = lexicon
        self.whole = whole or lexicon
        self.rules = RuleRewriter(self.whole, names=names, seed=seed)
        self.people = {entry.forms[0]: entry for entry in self.whole.entries if entry.forms[0] in ("person", "people")}
        adjectives = [entry for entry in self.whole.entries if entry.pos == "adjective"]
        self.standing = {"": adjectives[0], **self.people} if adjectives and len(self.people) == 2 else {}
        self.entities = self.whole.axis in BY_ENTITIES and bool(self.standing)
        self.religious = set[str]()
        if self.entities:
            religion = load_lexicon("religion")
            self.religious = {term for name in religion.attributes for term in religion.terms(name)}
        self.protected = TermFinder(
            form for entry in self.whole.entries for form in entry.forms if form and form not in self.people
        )
        self.provenance: dict[str, Any] = {"rewriter": "biasers", "seed": seed}

    def copies(self, texts: Sequence[str], *, mentions: Literal["first", "each"]) -> list[list[Copy] | Unaligned]:
        """Return the copies of every text, one per other member of the set, or the reason for failure.

        Args:
            texts: Texts to copy.
            mentions: Biasers to replace: ``first`` replaces only the first biaser in the text, ``each`` replaces every
                distinct biaser, each in its own copies. All mentions of a replaced biaser change; other biasers stay
                unchanged.
        """
        found: list[list[Copy] | Unaligned] = []
        views = [read_cased(text) for text in texts]
        for view, doc in zip(views, parse_views(views, self.entities), strict=True):
            try:
                turns = self._rewriters_by_biaser(view, doc)
            except Unaligned as error:
                found.append(error)
                continue
            chosen = list(turns)[:1] if mentions == "first" else list(turns)
            found.append(
                [
                    Copy(turns[biaser](member), member, biaser)
                    for biaser in chosen
                    for member in self.lexicon.attributes
                    if member != biaser
                ]
            )
        return found

    def groups(self, texts: Sequence[str]) -> list[Any]:
        """Raise FairlabError: this rewriter does not support groups."""
        del texts
        raise FairlabError("rewriter=biasers works only with the augmentation biasers; use rewriter=rules")

    def swapped(self, texts: Sequence[str]) -> list[Any]:
        """Raise FairlabError: this rewriter does not support swaps."""
        return self.groups(texts)

    def held(self, text: str) -> list[tuple[int, int]]:
        """Return the start and end of every word of the axis in a text.

        Other rewriters must not change these words.
        """
        return [(span.start, span.end) for span in self.protected.find(text)]

    def _rewriters_by_biaser(self, view: View, doc: Any) -> dict[str, Callable[[str], str]]:
        """Return, per biaser in order of first mention, a function that rewrites its mentions to a given member."""
        text, syntax = view.text, Syntax(doc, self.whole.people)
        listed = [self._as_noun(mention, syntax) for mention in self.rules.finder.find(text, syntax)]
        listed = [m for m in listed if m.sense.attribute != NEUTRAL and not _in_name(m, syntax.doc)]
        unlisted = list(self._find_unlisted(text, syntax, listed)) if self.entities else []
        starts: dict[str, int] = {}
        turns: dict[str, Callable[[str], str]] = {}
        for mention in listed:
            biaser = mention.sense.attribute
            starts.setdefault(biaser, mention.start)
            own = [other for other in listed if other.sense.attribute == biaser]
            turns[biaser] = partial(self._rewrite_mentions, view, syntax, own)
        for start, _, biaser, _ in unlisted:
            starts.setdefault(biaser, start)
            places = [(first, end, entry) for first, end, name, entry in unlisted if name == biaser]
            turns[biaser] = partial(self._rewrite_places, view, places)
        return {biaser: turns[biaser] for biaser in sorted(starts, key=starts.__getitem__)}

    def _rewrite_mentions(self, view: View, syntax: Syntax, mentions: list[Mention], member: str) -> str:
        edits = self.rules.edits(view.text, syntax, [(mention, member) for mention in mentions])
        return view.write(fitted_edits(view.text, edits))

    def _rewrite_places(self, view: View, places: list[tuple[int, int, Entry]], member: str) -> str:
        edits = [Edit(start, end, self._form(entry, member)) for start, end, entry in places]
        return view.write(fitted_edits(view.text, edits))

    def _form(self, entry: Entry, member: str) -> str:
        return entry.forms[self.whole.attributes.index(member) + 1] or entry.forms[0]

    def _as_noun(self, mention: Mention, syntax: Syntax) -> Mention:
        """Return a mention, converted to a noun if it is an adjective used for people, as in *the Chinese are*."""
        token = mention.token
        before = token.doc[token.i - 1].lower_ if token.i else ""
        if mention.sense.pos == "adjective" and before in ONE and precedes_verb(token) and "person" in self.people:
            return replace(mention, sense=Sense(mention.sense.attribute, self.people["person"]))
        nominal = before == "the" and token.dep_ in (*SUBJECTS, "pobj", "dobj", "conj") and not syntax.modifies(token)
        if mention.sense.pos != "adjective" or not nominal or "people" not in self.people:
            return mention
        return replace(mention, sense=Sense(mention.sense.attribute, self.people["people"]))

    def _find_unlisted(
        self, text: str, syntax: Syntax, listed: Sequence[Mention]
    ) -> Iterator[tuple[int, int, str, Entry]]:
        """Yield the start, end, biaser and entry of every mention of an unlisted people.

        The entry determines the form that replaces the mention: adjective, singular or plural.
        """
        taken = [(mention.start, mention.end) for mention in listed] + protected_spans(text)
        for entity in syntax.doc.ents:
            words = [token for token in entity if token.lower_ != "the"]
            if entity.label_ != GROUP or not words or not words[-1].text[:1].isupper():
                continue
            start, end = words[0].idx, words[-1].idx + len(words[-1])
            found = text[start:end].casefold()
            if any(first < end and start < last for first, last in taken) or self._is_other(found):
                continue
            last = words[-1]
            if last.tag_.startswith("JJ") or syntax.modifies(last):
                form = ""
            else:
                form = "people" if found.endswith("s") and not found.endswith(("ss", "us")) else "person"
            yield start, end, found.removesuffix("s") if form == "people" else found, self.standing[form]

    def _is_other(self, found: str) -> bool:
        """Return whether a name that is tagged as a group is political, religious or listed, not an unlisted people."""
        last = found.split()[-1]
        one = last if last.endswith(("ss", "us")) else last.removesuffix("s")
        named = one in _PEOPLES or one.endswith(_ENDINGS)
        political = last in _POLITICAL or one.endswith(_POLITICAL_ENDINGS)
        if political or not named or not found.replace(" ", "").isalpha():
            return True
        return found in self.religious or next(self.protected.find(found), None) is not None


def _in_name(mention: Mention, doc: Any) -> bool:
    """Return whether a mention names a language, or is part of a longer name other than a people's or person's."""
    token = mention.token
    while token.dep_ == "conj":  # in "French and German", only the first may be recognised as a language
        token = token.head
    if token.ent_type_ == LANGUAGE or (token.dep_ == "dobj" and token.head.lower_ in _SPEAK and token.tag_[-1] != "S"):
        return True
    for entity in doc.ents:
        if entity.start_char <= mention.start and mention.end <= entity.end_char:
            words = [token for token in entity if token.lower_ != "the" and token.tag_ != "POS"]
            longer = len(words) > len(mention.found.split()) and entity.label_ not in (GROUP, "PERSON")
            return bool(longer and _is_named(entity))
    return False


def _is_named(entity: Any) -> bool:
    """Return whether every noun of an entity is capitalised, as in a name."""
    return all(token.text[:1].isupper() for token in entity if token.tag_.startswith("NN"))
