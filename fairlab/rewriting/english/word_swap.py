"""Word-list swapping, the rewriter of counterfactual data augmentation (CDA)."""

from __future__ import annotations

from fairlab.lexicons import Lexicon
from fairlab.rewriting.english.edits import BETWEEN_ALTERNATIVES
from fairlab.rewriting.english.protected import protected_addresses
from fairlab.text.view import Edit, read_view
from fairlab.text.words import TermFinder, is_part_of_age, match_case
from fairlab.types import NEUTRAL, FairlabError


class WordSwap:
    """Rewriter that replaces every listed word of an axis by its counterpart for a target, or by its neutral form.

    It uses word lists without syntax: ``her`` always becomes ``his``, and verbs keep their form (``they is``). This is
    the behaviour of CDA with word lists, and the baseline for other rewriters. Addresses, handles, code and markup stay
    unchanged.

    Source: Zhao et al. 2018, "Gender Bias in Coreference Resolution", section 3.3 (without entity anonymisation).
    """

    def __init__(self, lexicon: Lexicon) -> None:
        self.attributes = lexicon.attributes
        targets = (NEUTRAL, *lexicon.attributes)
        self.counterparts = {
            (source, target): lexicon.counterparts(source, target)
            for source in lexicon.attributes
            for target in targets
            if source != target
        }
        self.marks = {term: attribute for attribute in lexicon.attributes for term in lexicon.terms(attribute)}
        self.finder = TermFinder(self.marks)

    def __call__(self, text: str, target: str) -> str:
        """Return ``text`` with all marked words rewritten to ``target`` (an attribute or ``neutral``), keeping case."""
        return self.turned(text, dict.fromkeys(self.attributes, target))

    def swap(self, text: str) -> str:
        """Return ``text`` with the two attributes of the axis swapped.

        Raises:
            FairlabError: The axis does not have exactly two attributes.
        """
        if len(self.attributes) != 2:
            raise FairlabError(
                f"the axis has {len(self.attributes)} attributes ({', '.join(self.attributes)}), but only two can be "
                "exchanged; make groups instead"
            )
        return self.turned(text, dict(zip(self.attributes, self.attributes[::-1], strict=True)))

    def turned(self, text: str, targets: dict[str, str]) -> str:
        """Return ``text`` with the words of every attribute in ``targets`` rewritten to that attribute's target."""
        view = read_view(text)
        edits: list[Edit] = []
        before = ""
        protected = protected_addresses(view.text)
        for span in self.finder.find_read(view.text):
            if any(start <= span.start < end for start, end in protected):
                continue
            if is_part_of_age(span.term.partition(" ")[0], view.text[max(0, span.start - 8) : span.start]):
                continue
            source = self.marks[span.term]
            target = targets.get(source, source)
            found = view.text[span.start : span.end]
            new = found if source == target else match_case(found, self.counterparts[source, target][span.term])
            last = edits[-1] if edits else None
            between = view.text[last.end : span.start].lower() if last else ""
            both = len({*targets.values()}) == 1 and last is not None and before != source
            same = bool(BETWEEN_ALTERNATIVES.fullmatch(between)) and last and last.new.lower() == new.lower()
            if last and both and (same or between in ("/", "'s/", "'/")):
                kept = last.new if before == target else new  # if both forms fit, keep the original one
                edits[-1] = Edit(last.start, span.end, match_case(last.new, kept))
            else:
                edits.append(Edit(span.start, span.end, new))
            before = source
        return view.write(edit for edit in edits if edit.new != view.text[edit.start : edit.end])

    def marked(self, text: str) -> bool:
        """Return whether the text contains a word of the axis."""
        return next(self.finder.find(text), None) is not None
