"""Rewriting of every listed identity to a few reference groups, so that texts about different groups become alike.

The groups, and words that other lexicons do not list, are in ``fairlab/lexicons/subgroups/references.yaml``.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property

import yaml

from fairlab.lexicons import FOLDER, Lexicon, load_lexicon
from fairlab.rewriting.english.agreement import article
from fairlab.rewriting.identities import SUBGROUPS, identity_lexicons

LISTED = FOLDER / SUBGROUPS / "references.yaml"
ADJECTIVES, PEOPLE = ("adjectives", "terms"), "people"  # sections of lexicons whose words are rewritten
SEVERAL = re.compile(r"(?:people|children|s)$")  # ending of a neutral form for several persons
PERSONS, PERSON = ("people", "folk", "folks"), ("person",)  # nouns that an adjective for an identity may precede
BLANKS = re.compile(r"[\s-]+")
NO_NOUN = r"(?=\W*$|\s*[.,;:!?]|\s+(?:is|are|was|were|and|or|in|on|at|to|should|must|can|will|who)\b)"
ALONE = re.compile(NO_NOUN)
ADJECTIVE_FORM, PERSON_FORM, PEOPLE_FORM = range(3)  # indices of a group's forms


class References:
    """Rewriter that replaces the identities in a text by the adjective or nouns of a reference group.

    An adjective before a noun for persons is rewritten together with the noun (*deaf women*). A word with another
    common sense is rewritten only next to such a noun, or if no noun follows.

    Args:
        names: Names of lexicons of identities, see :func:`fairlab.rewriting.identities.identity_lexicons`.

    Attributes:
        groups: Adjective, singular noun and plural noun of each reference group.

    Example:
        >>> References().versions("I like deaf women")
        ['I like black people', 'I like Muslims', 'I like gay people', 'I like women']
    """

    def __init__(self, names: Sequence[str] = (SUBGROUPS,)) -> None:
        listed = yaml.safe_load(LISTED.read_text(encoding="utf-8"))
        self.groups: list[tuple[str, str, str]] = [(one[0], one[1], one[2]) for one in listed["references"]]
        known = {kind: {form.casefold() for form in listed[kind]} for kind in ("adjectives", "person", "people")}
        for lexicon in [*identity_lexicons(names), *map(load_lexicon, listed["lexicons"])]:
            for kind, form in _forms(lexicon):
                known[kind].add(form)
        ambiguous = {form.casefold() for form in listed["ambiguous"]}
        adjective, several, person = known["adjectives"], known["people"], known["person"]
        self.also_adjectives = person & adjective
        nouns = rf"(?P<several>{_any_pattern(several | set(PERSONS))})|(?P<single>{_any_pattern(person | set(PERSON))})"
        any_adjective = f"(?:{_any_pattern(adjective)})"
        self.pattern = re.compile(
            rf"(?<!\w)(?P<article>an?\s+)?(?:{any_adjective}(?:[\s,-]+{any_adjective})*[\s-]+(?:{nouns})"
            rf"|(?P<people>{_any_pattern(several - ambiguous)})|(?P<person>{_any_pattern(person - ambiguous)})"
            rf"|{_any_pattern(adjective - ambiguous)}|(?:{_any_pattern(adjective & ambiguous)}){NO_NOUN})(?!\w)",
            re.IGNORECASE,
        )

    @cached_property
    def sha256(self) -> str:
        """Return a hash of the listed words and the reference groups."""
        return hashlib.sha256(repr((self.pattern.pattern, self.groups)).encode()).hexdigest()

    def versions(self, text: str) -> list[str]:
        """Return the text rewritten to each reference group, or only the text itself if it names no listed identity."""
        found = [(match, self._form(match)) for match in self.pattern.finditer(text)]
        if not found:
            return [text]
        return list(dict.fromkeys(_replace_matches(text, found, group) for group in self.groups))

    def _form(self, found: re.Match[str]) -> int:
        """Return the index of the group's form that replaces a match: adjective, person or people."""
        if found["several"] or found["people"]:
            return PEOPLE_FORM
        if found["single"] or (found["person"] and self._is_noun(found)):
            return PERSON_FORM
        return ADJECTIVE_FORM

    def _is_noun(self, found: re.Match[str]) -> bool:
        """Return whether a matched word for a person is used as a noun: *a Mexican*, but not *a Mexican car*."""
        if BLANKS.sub(" ", found["person"].casefold()) not in self.also_adjectives:
            return True
        return bool(found["article"]) and ALONE.match(found.string, found.end()) is not None


def _replace_matches(text: str, found: Sequence[tuple[re.Match[str], int]], group: Sequence[str]) -> str:
    """Replace each match in a text by the corresponding form of a group."""
    pieces, end = [], 0
    for match, form in found:
        pieces += [text[end : match.start()], _fit_form(group[form], match)]
        end = match.end()
    return "".join([*pieces, text[end:]])


def _fit_form(form: str, found: re.Match[str]) -> str:
    """Return a form as the replacement of a match.

    The form gets an article if the match has one, and a capital if the match begins the text with one.
    """
    written = f"{article(form)} {form}" if found["article"] else form
    return written[0].upper() + written[1:] if found.start() == 0 and found[0][0].isupper() else written


def _forms(lexicon: Lexicon) -> Iterator[tuple[str, str]]:
    """Yield the kind and the case-folded text of each form that is rewritten."""
    for entry in lexicon.entries:
        for form in filter(None, entry.forms[1:]):
            if entry.section in ADJECTIVES:
                yield "adjectives", form.casefold()
            elif entry.section == PEOPLE:
                yield ("people" if SEVERAL.search(entry.forms[0]) else "person"), form.casefold()


def _any_pattern(forms: Iterable[str]) -> str:
    """Return a pattern that matches any of the forms, with spaces or hyphens, and prefers the longest."""
    ordered = sorted(forms, key=lambda form: (-len(form), form))
    return "|".join(BLANKS.pattern.join(map(re.escape, BLANKS.split(form))) for form in ordered)
