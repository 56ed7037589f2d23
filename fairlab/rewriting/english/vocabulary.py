"""Vocabulary of an axis: the attributes that listed words and first names mark, and their replacements."""

from __future__ import annotations

import hashlib
from collections.abc import Container, Iterable
from dataclasses import dataclass

from fairlab.lexicons import Entry, Lexicon
from fairlab.lexicons.names import Name, load_names
from fairlab.rewriting.english.agreement import may_be_noun
from fairlab.rewriting.english.given_names import BEFORE_FIRST_NAMES, Neighbours
from fairlab.rewriting.english.people import is_thing
from fairlab.rewriting.english.pronouns import CASES, NOT_POSSESSED
from fairlab.text.folding import fold
from fairlab.types import NEUTRAL, FairlabError

# The reflexive of singular *they* counts as the same word if written as two words or in the plural.
PLURAL_REFLEXIVE = "themselves"
MOST_FREQUENT = 100  # number of first names to choose from; the list of names is sorted by frequency


@dataclass(frozen=True)
class Sense:
    """Sense of a listed form: the attribute that it marks, and its entry (None for a name from the list of names)."""

    attribute: str
    entry: Entry | None

    @property
    def pos(self) -> str:
        """Return the part of speech of the form in this sense."""
        return self.entry.pos if self.entry else "name"


@dataclass(frozen=True)
class ListedWord:
    """Listed word that may be a mention, judged from the text alone.

    Attributes:
        start: Offset of the word's first character.
        end: Offset after the word's last character.
        word: Word as written in the text.
        senses: Possible senses of the word in this context, one or more.
        beside: Words before and after the listed word.
    """

    start: int
    end: int
    word: str
    senses: tuple[Sense, ...]
    beside: Neighbours


class Vocabulary:
    """Senses of every form of an axis, and their counterparts.

    Args:
        lexicon: Words and names of the axis.
        seed: Seed for choosing among equally suitable first names.

    Raises:
        FairlabError: The lexicon has pronouns but not one row for every case, or lists a word that does not name
            persons in ``people``.
    """

    def __init__(self, lexicon: Lexicon, seed: int) -> None:
        self.lexicon, self.seed = lexicon, seed
        for word in sorted(lexicon.people):
            if word in NOT_POSSESSED or is_thing(word) or not may_be_noun(word):
                raise FairlabError(
                    f"the lexicon of '{lexicon.axis}' lists '{word}' in 'people', which is no noun for persons; "
                    "remove it"
                )
        self.columns = (NEUTRAL, *lexicon.attributes)
        self.senses: dict[str, list[Sense]] = {}
        self._pools: dict[tuple[str, str, str], list[str]] = {}
        self._ordered: dict[tuple[str, str, str], list[str]] = {}
        self.names = {form: name for form, name in load_names().items() if self._attribute(name)}
        pronouns = [entry for entry in lexicon.entries if entry.pos == "pronoun"]
        if pronouns and len(pronouns) != len(CASES):
            raise FairlabError(
                f"the lexicon of '{lexicon.axis}' has {len(pronouns)} rows of pronouns; rules need {len(CASES)}, "
                f"in this order: {', '.join(CASES)}"
            )
        self.pronouns = dict(zip(CASES, pronouns, strict=False))
        self._list_forms()
        # Entry for ages in figures or words; its form for every attribute with ages is generated on use.
        told = {self._attribute_of_age(years) for years in range(120)}  # excludes *adult*, an unstated age
        forms = tuple(name if name in told else "" for name in self.columns)
        self.age = Entry(forms, "figures", "age", "", "")

    def _attribute(self, name: Name) -> str:
        """Return the attribute of this axis that a first name marks, or an empty string."""
        if name.other_sense == "rarely":
            return ""
        marked = {"gender": name.gender, "race": name.race}.get(self.lexicon.axis, "")
        return marked if marked in self.lexicon.attributes else ""

    def _list_forms(self) -> None:
        self._list_entries(self.lexicon.entries, frozenset())
        self._list_entries(self.lexicon.alike, frozenset(self.senses))
        if self.pronouns:
            self.senses.setdefault(PLURAL_REFLEXIVE, []).append(Sense(NEUTRAL, self.pronouns["reflexive"]))
        for form, name in self.names.items():
            if not any(sense.attribute != NEUTRAL for sense in self.senses.get(form, [])):
                self.senses.setdefault(form, []).append(Sense(self._attribute(name), None))

    def _list_entries(self, entries: Iterable[Entry], known: Container[str]) -> None:
        """List the senses of the entries' forms, except the forms that are already known."""
        for entry in entries:
            for column, form in zip(self.columns, entry.forms, strict=True):
                neutral, folded = column == NEUTRAL, form.casefold()
                if not form or folded in known or (not neutral and folded == entry.forms[0].casefold()):
                    continue
                if neutral and entry.pos == "name":
                    continue
                self.senses.setdefault(folded, []).append(Sense(column, entry))

    def age_sense(self, years: int) -> Sense | None:
        """Return the sense of an age, or None if no attribute includes it."""
        attribute = self._attribute_of_age(years)
        return Sense(attribute, self.age) if attribute else None

    def _attribute_of_age(self, years: int) -> str:
        """Return the first attribute that includes an age, or an empty string."""
        return next((name for name, (low, high) in self.lexicon.figures.items() if low <= years <= high), "")

    def fitting_age(self, years: int, target: str, words: Iterable[str]) -> int:
        """Return the age nearest to ``years`` that the target allows and that fits the words for the same person."""
        low, high = self.lexicon.figures[target]
        for word in words:
            least, most = self.lexicon.ages.get(word.casefold(), (low, high))
            low, high = (least, most) if least > high or most < low else (max(low, least), min(high, most))
        return min(max(years, low), high)

    def column(self, target: str) -> int:
        """Return the index of a target's form in an entry.

        Raises:
            FairlabError: The target is not in the lexicon.
        """
        if target not in self.columns:
            raise FairlabError(
                f"the axis '{self.lexicon.axis}' has no attribute '{target}'; it has {', '.join(self.columns)}"
            )
        return self.columns.index(target)

    def form(self, entry: Entry, target: str, before: str = "") -> str:
        """Return the form of an entry for a target, or the neutral form if there is no form for the target.

        ``before`` is the kind of noun that follows the form, ``person`` or ``noun``, or empty if it is used alone.
        """
        form = entry.forms[self.column(target)]
        if form and target != NEUTRAL:
            return form
        fitting = {"person": (entry.before_person, entry.before_noun), "noun": (entry.before_noun,)}.get(before, ())
        return next((one for one in fitting if one is not None), entry.forms[0])

    def people(self, target: str) -> str:
        """Return the noun for several people of a target (*Danes*, *white people*), or an empty string."""
        column = self.column(target)
        rows = (entry.forms for entry in self.lexicon.entries if entry.pos == "noun" and entry.forms[0] == "people")
        return next((forms[column] for forms in rows if forms[column]), "")

    def listed(self, sense: Sense) -> str:
        """Return the listed form of a sense.

        The form is empty for a name from the list of first names, and for two alternatives that were merged.
        """
        known = sense.entry is not None and sense.attribute in self.columns
        return sense.entry.forms[self.column(sense.attribute)] if known and sense.entry else ""

    def is_listed_name(self, word: str) -> bool:
        """Return whether a word is listed as a first name of the axis, or is a title used with first names."""
        named = any(sense.pos == "name" for sense in self.senses.get(word.casefold(), []))
        return named or word.casefold() in BEFORE_FIRST_NAMES

    def name(self, found: str, sense: Sense, target: str, taken: Container[str]) -> str:
        """Return a first name of the target that is not in ``taken``.

        The counterpart in the lexicon's row comes first, then names of similar race and gender.
        """
        if sense.entry is not None and (form := self.form(sense.entry, target)).casefold() not in taken:
            return form
        ordered = self._ordered.get((target, found, sense.attribute))
        if ordered is None:
            known = self.names.get(fold(found)) or self.names.get(fold(found.split(" ")[0]))  # José of José Luis
            ordered = self._order(target, known or Name(found, sense.attribute, "", "", ""))
            if len(self._ordered) < 50_000:
                self._ordered[target, found, sense.attribute] = ordered
        for name in ordered:
            if name.casefold() not in taken:
                return name
        return ordered[0] if ordered else found

    def _order(self, target: str, known: Name) -> list[str]:
        """Return the candidates to replace ``known``, starting with one chosen by its letters and the seed."""
        if (target, known.race, known.gender) not in self._pools:
            self._pools[target, known.race, known.gender] = self._pool(target, known)
        pool = self._pools[target, known.race, known.gender]
        digest = hashlib.sha256(f"{self.seed}:{target}:{known.name}".encode()).digest()
        start = int.from_bytes(digest[:4], "big") % max(1, len(pool))
        return pool[start:] + pool[:start]

    def _pool(self, target: str, known: Name) -> list[str]:
        """Return the candidates to replace ``known``: names of the target with the same value on the other axis."""
        own, other = ("gender", "race") if self.lexicon.axis == "gender" else ("race", "gender")
        if own == "gender" and target == NEUTRAL:
            return sorted({entry.forms[0] for entry in self.lexicon.entries if entry.pos == "name"})
        usable = (name for name in self.names.values() if name.is_counted and not name.other_sense)
        fitting = [name for name in usable if getattr(name, own) == target]
        shared = getattr(known, other)
        alike = [name for name in fitting if shared and getattr(name, other) == shared]
        return [name.name for name in (alike or fitting)[:MOST_FREQUENT]]
