"""Lexicons: words and names for each attribute of an axis, with their counterparts."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from pathlib import Path
from typing import Annotated, Any, Required, TypedDict

from fairlab.checks.foreign import read_yaml, require_form
from fairlab.checks.values import Text
from fairlab.lexicons.biasers import as_lexicon
from fairlab.text.reading import CONTROL, decompressed
from fairlab.types import NEUTRAL, Bounds, FairlabError

FOLDER = Path(__file__).parent
NAMES = FOLDER / "names.csv.xz"
SYNONYMS = {"sexuality": "orientation"}
ALONE = "alone"
CONTEXTS = (ALONE, "before_person", "before_noun")  # contexts for which a row may list a neutral form


Form = Text | int | float | None
Row = list[Form | dict[str, Text]]
Sections = dict[str, list[Row] | None]
Ends = dict[str, Annotated[list[int], Bounds(2, 2)]]


class LexiconFile(TypedDict, total=False):
    """Layout of a lexicon file; see ``gender.yaml``."""

    axis: Required[str]
    attributes: Required[list[str]]
    words: Required[Sections | None]
    names: list[Row] | None
    further: Sections | None
    alike: dict[str, list[str]] | None
    polysemous: dict[str, str] | None
    returning: list[str] | None
    alone: Text
    idioms: list[str] | None
    figures: Ends | None
    ages: Ends | None
    wrong: Annotated[list[int], Bounds(2, 2)] | None
    people: list[str] | None
    judged: list[str] | None
    pos: dict[str, str] | None
    source: str
    sources: dict[str, str] | None
    licence: str
    licences: dict[str, str] | None


@dataclass(frozen=True)
class Entry:
    """Concept with its neutral form and its form for every attribute.

    Attributes:
        forms: Neutral form first, then one per attribute of the lexicon. An empty neutral form means that the word
            is dropped (``an Asian doctor``, ``a doctor``). An empty attribute form means that the attribute has no
            form.
        section: Section of the lexicon: ``pronouns``, ``kinship``, ``titles``, ``roles``, ``names``, ...
        pos: Part of speech: ``pronoun``, ``noun``, ``adjective``, ``title`` or ``name``.
        source: Source of the entry.
        licence: SPDX identifier of the source's licence.
        before_person: Neutral form before a noun for a person, if it differs. The form is empty if the word is dropped
            in this position (*a Jewish teacher* becomes *a teacher*), and None if it does not differ.
        before_noun: Neutral form before any other noun, and before a noun for a person if ``before_person`` is None.
    """

    forms: tuple[str, ...]
    section: str
    pos: str
    source: str
    licence: str
    before_person: str | None = None
    before_noun: str | None = None

    @property
    def neutral_forms(self) -> tuple[str, ...]:
        """Return every neutral form, starting with the one used without a following noun."""
        return (self.forms[0], *(form for form in (self.before_person, self.before_noun) if form is not None))


@dataclass(frozen=True)
class Lexicon:
    """Words and first names of an axis. Each row is one concept: its neutral form first, then one form per attribute.

    Attributes:
        axis: Name of the axis, e.g. ``gender``.
        attributes: Names of the columns after the neutral one, e.g. ``("man", "woman")``.
        rows: Word rows, then name rows, in file order; a word's first row decides its counterparts. Word swapping and
            polarity counts use these rows.
        entries: Rows with all their details, and further rows that need syntax or context to be used safely, for the
            rule rewriter.
        alike: Entries of words that the rule rewriter replaces like another word of the lexicon (*Catholic* like
            *Christian*) and never writes.
        polysemous: Other common sense of each word that has one: ``{"black": "colour"}``.
        returning: Neutral forms that may be replaced by an attribute's form (``sibling``); other ones are too general.
        alone: Replacement for an adjective with an empty neutral form when no noun follows (*of some background*).
        idioms: Set phrases in which words are not counted (*an old friend*).
        figures: Lowest and highest age in years of each attribute that an age implies; empty on other axes.
        ages: Lowest and highest age for each word that implies an age range, by case-folded form (*toddler*: 1 to 3).
        wrong: Number of rule rewrites that were found wrong, and number of rule rewrites that were read; None if none
            were read.
        people: Further nouns for persons, case-folded, that the lexicon's words can describe (*a deaf seamstress*).
        judged: Sections whose words refer to people or describe people only if a trained judge of contexts confirms
            this (:mod:`fairlab.rewriting.english.people_judge`).
    """

    axis: str
    attributes: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    entries: tuple[Entry, ...] = ()
    polysemous: dict[str, str] = field(default_factory=dict)
    returning: frozenset[str] = frozenset()
    alone: str = ""
    idioms: tuple[str, ...] = ()
    figures: dict[str, tuple[int, int]] = field(default_factory=dict)
    ages: dict[str, tuple[int, int]] = field(default_factory=dict)
    wrong: tuple[int, int] | None = None
    people: frozenset[str] = frozenset()
    judged: tuple[str, ...] = field(default=(), repr=False)
    alike: tuple[Entry, ...] = field(default=(), repr=False)

    @property
    def error_rate(self) -> str:
        """Return a phrase with the number of rule rewrites that were found wrong."""
        return f"{self.wrong[0]} of {self.wrong[1]} wrong" if self.wrong else "unmeasured"

    def only(self, attributes: Sequence[str]) -> Lexicon:
        """Return the lexicon restricted to some of its attributes.

        Raises:
            FairlabError: An attribute is unknown or repeated, or fewer than two are given.
        """
        if unknown := [name for name in attributes if name not in self.attributes]:
            raise FairlabError(
                f"the axis '{self.axis}' has no attribute '{unknown[0]}'; it has {', '.join(self.attributes)}"
            )
        if len(set(attributes)) < max(2, len(attributes)):
            raise FairlabError(f"attributes must name at least two of {', '.join(self.attributes)}, each once")
        columns = [0, *(self.attributes.index(name) + 1 for name in attributes)]

        def cut(forms: tuple[str, ...]) -> tuple[str, ...]:
            return tuple(forms[column] for column in columns)

        entries, alike = (
            tuple(replace(entry, forms=cut(entry.forms)) for entry in some) for some in (self.entries, self.alike)
        )
        figures = {name: ends for name, ends in self.figures.items() if name in attributes}
        rows = tuple(map(cut, self.rows))
        return replace(self, attributes=tuple(attributes), rows=rows, entries=entries, figures=figures, alike=alike)

    @cached_property
    def sha256(self) -> str:
        """Return a hash of the lexicon's whole content and of the list of first names."""
        plain = replace(self, returning=frozenset(), people=frozenset(), wrong=None)
        content = repr((plain, sorted(self.returning), sorted(self.people), *self.judged, *self.alike))
        with decompressed(NAMES) as names:
            return hashlib.sha256(content.encode() + names.read()).hexdigest()

    def terms(self, attribute: str) -> set[str]:
        """Return the case-folded forms that mark ``attribute``: those that differ from their row's neutral form."""
        column = self.attributes.index(attribute) + 1
        forms = {row[column].casefold() for row in self.rows if row[column].casefold() != row[0].casefold()}
        return forms - {""}

    def counterparts(self, source: str, target: str) -> dict[str, str]:
        """Map every form that marks ``source`` to the form of ``target`` (``neutral`` or an attribute)."""
        columns = (NEUTRAL, *self.attributes)
        start, end = columns.index(source), columns.index(target)
        marking = self.terms(source)
        table: dict[str, str] = {}
        for row in self.rows:
            if row[start].casefold() in marking:
                table.setdefault(row[start].casefold(), row[end] or row[0])
        return table


def lexicon_axes() -> list[str]:
    """Return the axes that have a built-in lexicon."""
    return sorted(path.stem for path in FOLDER.glob("*.yaml"))


def load_lexicon(axis: str) -> Lexicon:
    """Load the lexicon of an axis.

    Args:
        axis: Name of a built-in lexicon (``sexuality`` is an alias of ``orientation``), or path of a YAML file that
            contains a lexicon (see ``gender.yaml``) or a set of biasers (see ``ethnicity.yaml``).

    Raises:
        FairlabError: No lexicon exists for this axis, or the file is not a valid lexicon.
    """
    axis = SYNONYMS.get(axis, axis)
    path = Path(axis) if axis.endswith((".yaml", ".yml")) else FOLDER / f"{axis}.yaml"
    if not path.is_file():
        raise FairlabError(
            f"no lexicon for the axis '{axis}'; there are lexicons for: {', '.join(lexicon_axes())}; "
            "or give the path of a YAML file"
        )
    state = path.stat()
    return _load(path, (state.st_mtime_ns, state.st_size))


@cache
def _load(path: Path, state: tuple[int, int]) -> Lexicon:
    """Load a lexicon, and load it again only if the size or the modification time of its file has changed."""
    content = read_yaml(path)
    if isinstance(content, dict) and "biasers" in content:
        return read_lexicon(as_lexicon(content, path), path, fewest=1)
    return read_lexicon(content, path)


def read_lexicon(content: Any, path: Path, fewest: int = 2) -> Lexicon:
    """Build a lexicon from the content of its file, and check it.

    A lexicon has at least ``fewest`` attributes: a set of biasers, each of which is one attribute, may have only one.

    Raises:
        FairlabError: A key is missing, a row has the wrong length, the lexicon contains no words, a name is listed
            twice, a word has a control character, or the content contradicts itself.
    """
    if not isinstance(content, dict) or not {"axis", "attributes", "words"} <= set(content):
        raise FairlabError(f"{path} is not a lexicon; it needs the keys axis, attributes and words")
    require_form(path, content, LexiconFile)
    attributes = tuple(content["attributes"])
    if not attributes:
        raise FairlabError(f"the lexicon {path} is empty: 'attributes' is not a list of at least one name")
    if len(attributes) < fewest:
        raise FairlabError(
            f"the lexicon {path} has only the attribute '{attributes[0]}'; "
            "give at least two, because versions of a text are compared with each other"
        )
    if len(set(attributes) - {NEUTRAL}) < len(attributes):
        raise FairlabError(f"{path}: give every attribute a different name, other than '{NEUTRAL}'")
    content = {**content, "attributes": attributes}
    sections = {**(content["words"] or {}), **({"names": content["names"]} if content.get("names") else {})}
    swapped = list(_entries(sections, content, path))
    _check_names(content.get("names") or [], path)
    further = list(_entries(content.get("further") or {}, content, path))
    alike = list(_entries_alike(content.get("alike") or {}, (*swapped, *further), path))
    for form in (form for entry in (*swapped, *further, *alike) for form in entry.forms):
        if CONTROL.search(form):
            raise FairlabError(f"{path}: the word {form!a} has a character that is not text; remove it")
    if not swapped:
        raise FairlabError(f"the lexicon {path} is empty; give it at least one row of words")
    lexicon = Lexicon(
        content["axis"],
        attributes,
        tuple(entry.forms for entry in swapped),
        (*swapped, *further),
        {word.casefold(): sense for word, sense in (content.get("polysemous") or {}).items()},
        frozenset(content.get("returning") or ()),
        content.get("alone", ""),
        tuple(content.get("idioms") or ()),
        _read_ends("figures", content),
        _read_ends("ages", content),
        _read_wrong(content, path),
        _read_people(content, path),
        tuple(content.get("judged") or ()),
        tuple(alike),
    )
    if unknown_sections := set(lexicon.judged) - set(sections):
        raise FairlabError(f"{path}: 'judged' names {min(unknown_sections)}, which is not one of {', '.join(sections)}")
    if unknown := set(lexicon.figures) - set(attributes):
        raise FairlabError(f"{path}: 'figures' names {min(unknown)}, which is not one of {', '.join(attributes)}")
    _check_marks(lexicon, path)
    return lexicon


def _entries(sections: dict[str, list[list[str | None]]], content: dict[str, Any], path: Path) -> Iterator[Entry]:
    """Yield the entries of sections. ``pos``, ``sources`` and ``licences`` are given per section or per form."""
    width = len(content["attributes"]) + 1
    pos, sources, licences = (content.get(key) or {} for key in ("pos", "sources", "licences"))
    for section, rows in sections.items():
        for row in rows or []:
            if len(row) != width:
                raise FairlabError(
                    f"{path}: the row {row} of '{section}' must hold {width} forms, the neutral one first"
                )
            alone, before = _neutral_forms(row[0], f"{path}: the row {row} of '{section}'")
            forms = tuple("" if form is None else str(form) for form in (alone, *row[1:]))
            if any(form and not any(map(str.isalnum, form)) for form in (*forms, *before.values())):
                raise FairlabError(f"{path}: the row {row} of '{section}' has a form without letters; fix it")
            part = next((pos[form] for form in forms if form in pos), pos.get(section, "noun"))
            source = sources.get(section, content.get("source", "compiled for this lexicon"))
            licence = licences.get(section, content.get("licence", "unknown"))
            yield Entry(forms, section, part, source, licence, **before)


def _entries_alike(alike: dict[str, list[str]], entries: Sequence[Entry], path: Path) -> Iterator[Entry]:
    """Yield the entries of words that are replaced like a listed word.

    A word gets a copy of the first entry of each part of speech that lists the other word, and takes its place there.
    """
    listed = {form.casefold() for entry in entries for form in entry.forms}
    for known, words in alike.items():
        if own := [one for one in words if one.casefold() in listed]:
            raise FairlabError(f"{path}: '{own[0]}' is like '{known}' but also in a row; remove it from 'alike'")
        found: dict[str, tuple[Entry, int]] = {}
        for entry in entries:
            forms = [form.casefold() for form in entry.forms]
            if known.casefold() in forms:
                found.setdefault(entry.pos, (entry, forms.index(known.casefold())))
        if not found:
            raise FairlabError(f"{path}: 'alike' lists words like '{known}', which is in no row; name a word of a row")
        for entry, place in found.values():
            yield from (replace(entry, forms=(*entry.forms[:place], one, *entry.forms[place + 1 :])) for one in words)


def _check_names(rows: list[list[str]], path: Path) -> None:
    """Check that every name has exactly one row, which defines its replacements."""
    for column in list(zip(*rows, strict=True))[1:]:  # a neutral name may serve several rows
        seen: set[str] = set()
        for name in map(str, filter(None, column)):
            if name.casefold() in seen:
                raise FairlabError(f"{path}: the name '{name}' is in two rows of 'names'; keep one of them")
            seen.add(name.casefold())


def _neutral_forms(neutral: Any, place: str) -> tuple[Any, dict[str, str]]:
    """Return the neutral form that is used without a noun, and the forms before nouns if a row lists them."""
    if not isinstance(neutral, dict):
        return neutral, {}
    said = f"{place} gives its neutral form by context; give"
    if unknown := [str(key) for key in neutral if key not in CONTEXTS]:
        raise FairlabError(f"{said} the keys {', '.join(CONTEXTS)}, not '{unknown[0]}'")
    if not isinstance(neutral.get(ALONE), str) or not neutral[ALONE]:
        raise FairlabError(f"{said} '{ALONE}' too, the form if no noun follows")
    return neutral[ALONE], {key: form for key, form in neutral.items() if key != ALONE}


def _read_wrong(content: dict[str, Any], path: Path) -> tuple[int, int] | None:
    """Return the number of wrong rewrites and the number of rewrites that were read, or None if none were read."""
    given = content.get("wrong")
    if given is None:
        return None
    wrong, read = given
    if not 0 <= wrong <= read or not read:
        raise FairlabError(f"{path}: 'wrong' is {given}; give two numbers: wrong rewrites, and rewrites read")
    return wrong, read


def _read_people(content: dict[str, Any], path: Path) -> frozenset[str]:
    """Return the lexicon's additional nouns for persons, case-folded."""
    given = [one.strip().casefold() for one in content.get("people") or []]
    if not all(map(str.isalpha, given)):
        raise FairlabError(
            f"{path}: 'people' is not a list of single words; give nouns for persons, such as [seamstress]"
        )
    if marked := set(given) & {
        str(form).casefold() for rows in (content["words"] or {}).values() for row in rows or [] for form in row[1:]
    }:
        raise FairlabError(f"{path}: '{min(marked)}' is a word of the axis, so 'people' cannot list it as well")
    return frozenset(given)


def _read_ends(key: str, content: dict[str, Any]) -> dict[str, tuple[int, int]]:
    """Return the lowest and highest age for each name under a key."""
    return {name.casefold(): (ends[0], ends[1]) for name, ends in (content.get(key) or {}).items()}


def _check_marks(lexicon: Lexicon, path: Path) -> None:
    """Check that every form marks at most one attribute, and that no such form is another row's neutral form."""
    entries = (*lexicon.entries, *lexicon.alike)
    neutral = {form.casefold() for entry in entries for form in entry.neutral_forms}
    marks: dict[str, str] = {}
    for entry in entries:
        for attribute, form in zip(lexicon.attributes, entry.forms[1:], strict=True):
            folded = form.casefold()
            if folded in ("", entry.forms[0].casefold()):
                continue
            if marks.setdefault(folded, attribute) != attribute:
                raise FairlabError(
                    f"the lexicon {path} contradicts itself: '{form}' marks both {marks[folded]} and {attribute}; "
                    "keep one of them"
                )
            if folded in neutral:
                raise FairlabError(
                    f"the lexicon {path} contradicts itself: '{form}' marks {attribute} but is also a neutral form; "
                    "remove one of them"
                )
    if marks and (bare := [name for name in lexicon.attributes if name not in marks.values()]):
        raise FairlabError(
            f"the lexicon {path} has no word for the attribute '{bare[0]}' that differs from its neutral form; give it "
            "at least one, or leave it out"
        )
    if not marks:
        raise FairlabError(f"the lexicon {path} is empty: no form differs from its neutral one")
