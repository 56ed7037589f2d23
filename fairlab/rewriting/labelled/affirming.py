"""Removal of negations: *did not book* becomes *refrained from booking*, *had no lift* becomes *lacked any lift*.

The rules use spaCy's tags. Results are often weaker or stronger than the original (*hardly*, *far from*) and sometimes
clumsy. They keep the polarity of a sentence, not its exact sense.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from lemminflect import getInflection, getLemma

from fairlab.rewriting.english.edits import apply_edits
from fairlab.text.pipeline import parse
from fairlab.text.view import Edit

DO = {"do": "VBP", "does": "VBZ", "did": "VBD"}
DOES = {tag: word for word, tag in DO.items()}
BE = frozenset("is are was were am be been being 's 're 'm ’s ’re ’m".split())
HAVE = frozenset("has have had 've ’ve".split())
SHORTENED = {"ca": "can", "wo": "will", "sha": "shall"}
SINGLE = {
    "nobody": ("hardly anyone",),
    "nothing": ("precious little", "hardly anything"),
    "none": ("hardly any",),
    "nowhere": ("hardly anywhere",),
}
FINITE = frozenset({"VBD", "VBZ", "VBP"})
LEFT = frozenset("only just to because".split())  # *not only*, *not to mention*: these do not negate the sentence
PARTICLES = frozenset({"up", "out", "off", "in", "down", "over", "away", "back"})


class Affirming:
    """Rewriter that removes the negations of a sentence, or adds a negation to a sentence without one.

    Args:
        complements: For each verb in base form, a single verb that expresses its negation.
        negations: For each verb, another verb whose negation has the same meaning.
        opposites: Opposite of each word or phrase that may follow a form of *be*.
    """

    def __init__(
        self, complements: Mapping[str, str], negations: Mapping[str, str], opposites: Mapping[str, str]
    ) -> None:
        self.complements, self.negations = complements, negations
        self.opposites = dict(opposites) | {new: old for old, new in opposites.items()}

    def __call__(self, texts: Sequence[str], variants: int) -> list[list[str]]:
        """Return at most ``variants`` rewrites of every text, without the negations that the rules cover.

        A text to which no rule applies has no rewrites.
        """
        return [
            list(dict.fromkeys(self._apply_variants(text, list(self._sites(doc)), variants)))
            for text, doc in zip(texts, parse(texts), strict=True)
        ]

    def negating(self, texts: Sequence[str]) -> list[list[str]]:
        """Return the variants of every text in which one verb or predicate is replaced by the negation of its opposite.

        *She forgot it* becomes *she did not remember it*, and *it was closed* becomes *it was not open*.
        """
        found = []
        for text, doc in zip(texts, parse(texts), strict=True):
            edits = [edit for token in doc if (edit := self._negate(doc, token)) is not None]
            found.append([apply_edits(text, [edit]) for edit in edits])
        return found

    def _negate(self, doc: Any, token: Any) -> Edit | None:
        after = doc[token.i + 1].lower_ if token.i + 1 < len(doc) else ""
        if token.lower_ in BE:
            last, opposite = self._opposite(doc, token.i + 1)
            return None if last is None else Edit(token.idx, last.idx + len(last), f"{token.text} not {opposite}")
        if token.tag_ in FINITE and not _has_helper(doc, token) and after not in PARTICLES:
            verb = self.negations.get(_lemma(token))
            if verb is not None:
                return _edit(token, token, f"{DOES[token.tag_]} not {verb}")
        return None

    def _opposite(self, doc: Any, start: int) -> tuple[Any, str]:
        """Return the last token of the phrase that begins at ``start``, and its opposite.

        The token is None if the phrase is not listed.
        """
        for words in (2, 1):
            said = [token.lower_ for token in doc[start : start + words]]
            if len(said) == words and (opposite := self.opposites.get(" ".join(said))):
                return doc[start + words - 1], opposite
        return None, ""

    def _apply_variants(self, text: str, sites: Sequence[list[Edit]], variants: int) -> Iterator[str]:
        for k in range(variants if sites else 0):
            yield apply_edits(text, [site[k % len(site)] for site in sites])

    def _sites(self, doc: Any) -> Iterator[list[Edit]]:
        """Yield, for each negation, the alternative edits that remove it."""
        for token in doc:
            word = token.lower_.replace("’", "'")
            if word in ("not", "n't"):
                found = self._not(doc, token)
            elif word == "never":
                found = self._never(doc, token)
            elif word == "no":
                found = self._no(doc, token)
            elif token.lower_ in SINGLE:
                found = [_edit(token, token, new) for new in SINGLE[token.lower_]]
            elif token.lemma_ == "fail" or token.lower_ in ("fail", "fails", "failed", "failing"):
                found = self._fail(doc, token)
            else:
                continue
            if found:
                yield found

    def _not(self, doc: Any, token: Any) -> list[Edit]:
        if token.i == 0 or token.i + 1 == len(doc) or doc[token.i + 1].lower_ in LEFT:
            return []
        before, after = doc[token.i - 1], doc[token.i + 1]
        helper = before.lower_.replace("’", "'")
        if helper in DO:
            return self._do(doc, before, token)
        if helper in BE:
            last, opposite = self._opposite(doc, token.i + 1)
            if last is not None:
                return [_edit(token, last, f" {opposite}", glued=True)]
            being = "far from" if after.tag_ in ("JJ", "VBG") else "far from being"
            return [_edit(token, token, f" {new}", glued=True) for new in ("anything but", being, "hardly")]
        if helper in HAVE and (verb := _verb(doc, token.i + 1, ("VBN", "VBD"))) is not None:
            yet = _edit(token, verb, f" yet to {_lemma(verb)}", glued=True)
            return [yet, _edit(token, token, " hardly", glued=True)]
        if before.tag_ == "MD" and (verb := _verb(doc, token.i + 1, ("VB",))) is not None:
            modal = SHORTENED.get(helper, before.text)
            found = [_edit(before, token, f"{modal} hardly")]
            if modal.casefold() not in ("can", "could"):  # "can stop short of" would imply the ability to do it
                stop = f"{modal} stop short of {_inflect(_lemma(verb), 'VBG')}"
                found.append(_edit(before, verb, stop))
            return found
        return []

    def _do(self, doc: Any, helper: Any, token: Any) -> list[Edit]:
        """Return the edits that change *did not book* to a finite verb in the helper's tense."""
        verb = _verb(doc, token.i + 1, ("VB", "VBP"))
        if verb is None:
            return []
        base, tag = _lemma(verb), DO[helper.lower_]
        following = doc[verb.i + 1].lower_ if verb.i + 1 < len(doc) else ""
        gerund = _inflect(base, "VBG")
        if helper.i == 0 or doc[helper.i - 1].text in ".!?;:":  # an imperative
            return [_edit(helper, verb, new) for new in (f"avoid {gerund}", f"refrain from {gerund}")]
        hardly = f"hardly {_inflect(base, tag)}"
        if base == "have" and following == "to":
            return [_edit(helper, verb, hardly)]
        new = [f"{_inflect('refrain', tag)} from {gerund}", f"{_inflect('stop', tag)} short of {gerund}", hardly]
        with_particle = f"{base} {following}"
        if with_particle in self.complements:
            return [_edit(helper, doc[verb.i + 1], _inflect_phrase(self.complements[with_particle], tag))]
        if (one := self.complements.get(base) or self.negations.get(base)) and following not in PARTICLES:
            new = [_inflect_phrase(one, tag)]
        return [_edit(helper, verb, one) for one in new]

    def _never(self, doc: Any, token: Any) -> list[Edit]:
        ever = _edit(token, token, "hardly ever")
        before = doc[token.i - 1].lower_ if token.i else ""
        if before in HAVE and (verb := _verb(doc, token.i + 1, ("VBN", "VBD"))) is not None:
            return [_edit(token, verb, f"yet to {_lemma(verb)}"), ever]
        verb = _verb(doc, token.i + 1, tuple(FINITE))
        if verb is None or before in BE:
            return [ever]
        gerund, tag = _inflect(_lemma(verb), "VBG"), verb.tag_
        ways = [f"always {_inflect('refrain', tag)} from {gerund}"]
        ways += [f"always {_inflect('stop', tag)} short of {gerund}"]
        return [*(_edit(token, verb, way) for way in ways), ever]

    def _no(self, doc: Any, token: Any) -> list[Edit]:
        after = doc[token.i + 1] if token.i + 1 < len(doc) else None
        if after is None or after.is_punct or after.lower_ in ("doubt", "matter", "less"):
            return []
        if after.lower_ == "one":
            return [_edit(token, after, "hardly anyone")]
        if after.lower_ in ("longer", "more"):
            return [_edit(token, after, "hardly still")] if after.lower_ == "longer" else []
        before = doc[token.i - 1] if token.i else None
        if before is not None and before.lower_ == "with":
            return [_edit(before, token, "without any")]
        if before is not None and before.lower_ in ("has", "have", "had") and before.tag_ in FINITE:
            return [_edit(before, token, f"{_inflect('lack', before.tag_)} any"), _edit(token, token, "hardly any")]
        return [_edit(token, token, "hardly any")]

    def _fail(self, doc: Any, token: Any) -> list[Edit]:
        """Return the edits that replace *fail* and the infinitive after it.

        *failed to catch* becomes *missed*, and *failed to open* becomes *stopped short of opening*.
        """
        if token.i + 2 >= len(doc) or doc[token.i + 1].lower_ != "to" or doc[token.i + 2].tag_ != "VB":
            return []
        verb = doc[token.i + 2]
        base = _lemma(verb)
        tag = {"fails": "VBZ", "failed": "VBD", "failing": "VBG"}.get(token.lower_, "VB")
        if base in self.complements:
            return [_edit(token, verb, _inflect_phrase(self.complements[base], tag))]
        gerund = _inflect(base, "VBG")
        ways = [f"{_inflect('stop', tag)} short of {gerund}", f"{_inflect('refrain', tag)} from {gerund}"]
        return [_edit(token, verb, way) for way in ways]


def _has_helper(doc: Any, verb: Any) -> bool:
    """Return whether one of the three words before a verb is an auxiliary, a negation or *to*."""
    before = {token.lower_ for token in doc[max(0, verb.i - 3) : verb.i]}
    return bool(before & (BE | HAVE | DO.keys() | {"not", "n't", "never", "to"}))


def _verb(doc: Any, start: int, tags: Sequence[str]) -> Any:
    """Return the first verb at or after ``start``, skipping adverbs, or None if another word comes first."""
    for token in doc[start : start + 3]:
        if token.tag_ in tags and token.is_alpha:
            return token
        if token.tag_ != "RB":
            return None
    return None


def _edit(first: Any, last: Any, new: str, *, glued: bool = False) -> Edit:
    """Return an edit that replaces the tokens from ``first`` to ``last``.

    With ``glued``, the space at the start of ``new`` is kept if none precedes the first token, as before *n't*.
    """
    blank = glued and not first.nbor(-1).whitespace_
    return Edit(first.idx, last.idx + len(last.text), new if blank else new.lstrip())


def _lemma(verb: Any) -> str:
    lemmas = getLemma(verb.lower_, upos="VERB")
    return str(lemmas[0]) if lemmas else verb.lower_


def _inflect_phrase(phrase: str, tag: str) -> str:
    """Inflect the verb at the beginning of a verb phrase."""
    head, _, rest = phrase.partition(" ")
    return f"{_inflect(head, tag)} {rest}".rstrip()


def _inflect(base: str, tag: str) -> str:
    if base == "be" and tag in ("VBZ", "VBP", "VBD"):
        return {"VBZ": "is", "VBP": "are", "VBD": "was"}[tag]
    if tag in ("VB", "VBP"):
        return base
    forms = getInflection(base, tag=tag)
    return str(forms[0]) if forms else base
