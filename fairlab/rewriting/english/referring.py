"""Words that refer to people in a parsed text, and the grammar around them."""

from __future__ import annotations

from collections.abc import Container, Iterable
from dataclasses import dataclass, field
from typing import Any

from fairlab.rewriting.english.given_names import BEFORE_FIRST_NAMES, BEFORE_SURNAMES
from fairlab.rewriting.english.syntax import SUBJECTS
from fairlab.rewriting.english.things import is_date

PRONOUNS = frozenset("he him his himself she her hers herself they them their theirs themself themselves".split())
_CLIMB = ("xcomp", "pcomp", "prep", "advcl", "acl", "ccomp", "conj", "acomp")
_SAYING = frozenset("said says say added adds told tells asked asks replied wrote writes noted explained".split())
_QUOTATION_MARKS = frozenset(('"', "``", "''", "“", "”"))
_PLACING = frozenset("in at from to of for near on".split())


@dataclass
class Person:
    """Person mentioned in a text: their attribute, their tokens in text order, and the first word of a full name.

    The attribute is doubtful if it is only shown by a first name without counts of its bearers.
    """

    attribute: str = ""
    is_doubtful: bool = False
    tokens: list[Any] = field(default_factory=list)
    tags: set[str] = field(default_factory=set)
    first_name: str = ""

    def take(self, other: Person) -> None:
        """Add the tokens of another person, who is the same."""
        self.tokens += other.tokens
        self.tags |= other.tags


class Reference:
    """Word in a text that refers to a person, with its grammatical role, which each later pronoun asks for."""

    __slots__ = ("head", "is_noun", "is_placed", "is_possessor", "is_pronoun", "is_subject", "person", "place", "token")

    def __init__(self, token: Any, person: Person) -> None:
        self.token, self.person, self.place, head = token, person, token.i, token.head
        self.head, role = head.i, token.dep_
        self.is_pronoun = token.lower_ in PRONOUNS
        self.is_subject = role in SUBJECTS
        self.is_possessor = role == "poss"
        self.is_noun = token.tag_ in ("NN", "NNS")
        self.is_placed = role == "pobj" and head.lower_ in _PLACING


def described_noun(token: Any) -> Any:
    """Return the noun that an adjective describes: the *subordinate* of *female subordinate*."""
    token = first_conjunct(token)
    if token.dep_ in ("amod", "compound", "nmod"):
        return token.head
    return predicate_subject(token) or token


def first_conjunct(token: Any) -> Any:
    """Return the first word in a coordination with *and*: *both American and Mexican*, *a stage and film actress*."""
    while token.dep_ == "conj" and token.head.tag_ in ("JJ", "NN", "NNP", "NNPS"):
        token = token.head
    return token


def predicate_subject(token: Any) -> Any:
    """Return the subject of a predicate noun or adjective (*she is a mother*, *promoted as a woman*), or None."""
    token = first_conjunct(token)
    if token.dep_ in ("attr", "acomp", "oprd"):
        verb = token.head
    elif token.dep_ == "pobj" and token.head.lower_ == "as":
        verb = token.head.head
    else:
        return None
    for _ in range(4):
        subject = next((child for child in verb.children if child.dep_ in SUBJECTS), None)
        if subject is not None:
            return verb.head if subject.lower_ == "who" and verb.dep_ == "relcl" else subject
        if verb.dep_ not in _CLIMB:
            return None
        verb = verb.head
    return None


def who_clause(pronoun: Any, ancestors: Iterable[Any]) -> Any:
    """Return the verb of the *who* clause that a pronoun is in, as in *a man who sold his house*, or None."""
    clause = next((one for one in ancestors if one.dep_ == "relcl"), None)
    if clause is None or (pronoun.dep_ == "poss" and pronoun.head.dep_ == "attr"):
        return None
    return clause if any(child.lower_ == "who" and child.dep_ in SUBJECTS for child in clause.children) else None


def is_antecedent_of_who(one: Reference, clause: Any) -> bool:
    """Return whether a *who* clause modifies a word that refers to a person."""
    return bool(clause.head == one.token) and not (one.is_placed and one.token.tag_ == "NNP")


def first_name(words: list[str]) -> str:
    """Return the first word of a name with several words, or an empty string if that is a title."""
    return words[0] if len(words) > 1 and words[0].strip(".") not in BEFORE_SURNAMES | BEFORE_FIRST_NAMES else ""


def is_definite(token: Any) -> bool:
    """Return whether a noun can refer to a known person: *the man*, and nouns of address (*yes, sir*)."""
    determiners = [child.lower_ for child in token.children if child.tag_ in ("DT", "PRP$", "POS", "CD")]
    return not determiners or any(word in ("the", "this", "that") for word in determiners)


def name_runs(tokens: Iterable[Any], adjectives: Container[int], marked: Container[int]) -> list[list[Any]]:
    """Return the uninterrupted runs of proper nouns. They include titles but not dates."""
    runs: list[list[Any]] = []
    for token in (one for one in tokens if one.tag_ in ("NNP", "NNPS") and one.idx not in adjectives):
        if runs and runs[-1][-1].i == token.i - 1:
            runs[-1].append(token)
        else:
            runs.append([token])
    return [run for run in runs if len(run) > 1 or run[0].idx in marked or not is_date(run[0])]


def find_quoted(words: Iterable[str]) -> list[bool]:
    """Return, for every token, whether it is inside a quotation."""
    found, inside = [], False
    for word in words:
        if word in _QUOTATION_MARKS:
            inside = word in ("``", "“") or (word == '"' and not inside)
        found.append(inside)
    return found


def says(pronoun: Any) -> bool:
    """Return whether a pronoun is the subject of a verb of saying."""
    return pronoun.dep_ in SUBJECTS and pronoun.head.lower_ in _SAYING


def is_in_later_clause(name: Any, pronoun: Any) -> bool:
    """Return whether a name is the subject of a later clause, joined with *and* or *but* to the pronoun's clause."""
    verb = name.head
    return bool(name.dep_ in SUBJECTS and verb.dep_ == "conj" and verb.head.is_ancestor(pronoun))
