"""Rewriting of a text from one subgroup to another with word lists and grammatical agreement.

Source: Sturman et al. 2024, "Debiasing Text Safety Classifiers through a Fairness-Aware Ensemble", appendix A.2.2.
The paper uses a language model for this step; this module uses lists.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from fairlab.lexicons import Lexicon
from fairlab.rewriting.english.lexical_agreement import agree
from fairlab.rewriting.english.pieces import piece
from fairlab.rewriting.english.pronouns import AMBIGUOUS, NOT_POSSESSED, OBJECT, POSSESSIVE, case_by_neighbours
from fairlab.text.view import Edit, read_view
from fairlab.text.words import Span, TermFinder, match_case, word_pieces
from fairlab.types import FairlabError

NO_WORD = "without a listed word"
NO_COUNTERPART = "a word has no counterpart"
NAMED_ALREADY = "the other subgroup is already named"
# Sections whose words may occur next to those of another subgroup: "he met her", "her husband".
BESIDE = frozenset(("pronouns", "kinship", "titles"))
PRONOUNS = "pronouns"
ROWS = ("subject", POSSESSIVE, OBJECT, "independent", "reflexive")  # order of the rows in the section
SUBJECTS = frozenset(("he", "she"))
NOT_NOUNS = frozenset("black white latino jewish straight gay transgender male female indigenous biracial".split())
GROUPS = frozenset(("of", "against", "for"))  # "members of a black": the placeholder of a template, not a person


@dataclass(frozen=True)
class Turned:
    """Result of rewriting a text.

    Attributes:
        text: Text about the other subgroup; empty if rewriting failed.
        reason: Reason for failure; empty if there is a text.
    """

    text: str
    reason: str = ""


class SubgroupSwap:
    """Rewriter that replaces every listed word of a text's subgroup by its counterpart in another subgroup.

    ``his`` and ``her`` are disambiguated by the words after them, and verbs agree with *they*. An adjective that is
    used alone for one person gets a noun (*a Muslim*, *a Jewish person*). Every word must change, so a text is not
    rewritten if one of its words has no counterpart or if it already names the other subgroup (*gay or straight*).

    Args:
        lexicon: Words of the subgroups of a category; an empty form is a missing counterpart. The rows at the start of
            a section ``pronouns`` are the grammatical cases: subject, possessive, object, independent, reflexive.
    """

    def __init__(self, lexicon: Lexicon) -> None:
        self.attributes = lexicon.attributes
        self.marks = {term: attribute for attribute in self.attributes for term in lexicon.terms(attribute)}
        self.finder = TermFinder(self.marks)
        self.sections: dict[str, str] = {}
        self.forms: dict[tuple[str, str], dict[str, str]] = {}
        for entry in lexicon.entries:
            cells = dict(zip(self.attributes, entry.forms[1:], strict=True))
            for source, form in cells.items():
                self.sections.setdefault(form.casefold(), entry.section)
                for target, other in cells.items():
                    self.forms.setdefault((source, target), {}).setdefault(form.casefold(), other)
        self.pronouns = [entry.forms[1:] for entry in lexicon.entries if entry.section == PRONOUNS]

    def turned(self, text: str, source: str, target: str) -> Turned:
        """Return the text with all words of ``source`` rewritten to ``target``, or the reason for failure.

        Raises:
            FairlabError: The category has no such subgroup.
        """
        for subgroup in (source, target):
            if subgroup not in self.attributes:
                raise FairlabError(f"there is no subgroup '{subgroup}'; there are {', '.join(self.attributes)}")
        view = read_view(text)
        text = view.text
        spans = list(self.finder.find_read(text))
        own = [span for span in spans if self.marks[span.term] == source]
        if not own:
            return Turned("", NO_WORD)
        if any(self.marks[span.term] == target and self.sections[span.term] not in BESIDE for span in spans):
            return Turned("", NAMED_ALREADY)
        pieces = re.split(r"(\W+)", text)  # words at even indices, separators at odd indices
        ends = [sum(map(len, pieces[: place + 1])) for place in range(len(pieces))]
        places = [next(place for place in range(0, len(pieces), 2) if ends[place] > span.start) for span in own]
        forms = [self._form(pieces, place, span, source, target) for place, span in zip(places, own, strict=True)]
        if not all(forms):
            return Turned("", NO_COUNTERPART)
        for place, span, form in zip(places, own, forms, strict=True):
            last = place + 2 * len(word_pieces(span.term)) - 2
            pieces[place : last + 1] = [match_case(text[span.start : span.end], form), *[""] * (last - place)]
        for place, span in zip(places, own, strict=True):
            if span.term in SUBJECTS and pieces[place].casefold() == "they":
                agree(pieces, place, third_person=True)
        starts = [end - len(piece) for end, piece in zip(ends, re.split(r"(\W+)", text), strict=True)]
        edits = [Edit(*one) for one in zip(starts, ends, pieces, strict=True) if text[one[0] : one[1]] != one[2]]
        return Turned(view.write(edits))

    def _form(self, pieces: list[str], place: int, span: Span, source: str, target: str) -> str:
        """Return the counterpart of the word at an index, or an empty string if it has no counterpart."""
        after = place + 2 * len(word_pieces(span.term))
        gap, following = piece(pieces, after - 1), piece(pieces, after).casefold()
        if span.term in AMBIGUOUS and self.sections[span.term] == PRONOUNS:
            case = case_by_neighbours(span.term, gap, following, piece(pieces, after + 2).casefold())
            return self.pronouns[ROWS.index(case)][self.attributes.index(target)]
        form = self.forms[source, target].get(span.term, "")
        determined = piece(pieces, place - 2).casefold() in ("a", "an") and piece(pieces, place - 1).isspace()
        in_group = piece(pieces, place - 4).casefold() in GROUPS
        alone = following in NOT_POSSESSED or (not gap.isspace() and gap[:1] not in ("-", "'", "’", "/"))
        return f"{form} person" if determined and not in_group and alone and form.casefold() in NOT_NOUNS else form
