"""Queries on a spaCy parse: verbs that agree with a subject, modified words, and words for people."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from fairlab.rewriting.english.agreement import PLURAL, SINGULAR, is_third_person, takes_have
from fairlab.rewriting.english.people import ONE_OF_MANY, is_past, is_people, is_person
from fairlab.text.folding import unaccented
from fairlab.text.pipeline import NAMED, parse, parse_parted, sentence_entities
from fairlab.text.view import View

# An adjective between one of these words and a verb means a person: *this German prefers beer*.
ONE = ONE_OF_MANY | {"that", "one", "some", "no"}
_FINITE = ("VBZ", "VBD", "MD", "WP")
SUBJECTS = ("nsubj", "nsubjpass", "expl")
_AUXILIARIES = ("aux", "auxpass")
_COPULAS = frozenset(
    "is are was were be been being am 's ’s 're ’re 'm ’m m s re become becomes became seem seems".split()
)
_COPULAS |= frozenset(
    "seemed look looks looked feel feels felt remain remains remained stay stayed getting got".split()
)
_QUANTITIES = frozenset("both all some many most few several one two three each none half either neither".split())
_SEVERAL = frozenset("all both few many most several some these those".split())
_PERSONAL = frozenset("i you he she we they who someone everyone anyone somebody everybody nobody".split())


def parse_views(views: Iterable[View], entities: bool | Callable[[str], Iterable[int]] = False) -> Iterator[Any]:
    """Parse the texts of views without their accents, which the parser handles poorly, and yield the documents.

    ``entities`` is as in :func:`fairlab.text.pipeline.parse`.
    """
    return parse((_plain(view.text) for view in views), entities=entities)


def _plain(text: str) -> str:
    found = unaccented(text)
    return found if len(found) == len(text) else text


class Syntax:
    """Parsed text that is queried by character offsets.

    ``people`` holds the nouns for people that a lexicon adds to the known nouns.
    """

    def __init__(self, doc: Any, people: frozenset[str] = frozenset()) -> None:
        self.people = people
        self.has_entities = NAMED in doc.user_data
        self._read(doc)

    def _read(self, doc: Any) -> None:
        self.doc = doc
        self.tokens = {token.idx: token for token in doc}

    def part(self, spans: Iterable[tuple[int, int]]) -> None:
        """Parse the text again if the tokenizer did not separate a word from an adjacent sign: *3,She*."""
        offsets = {offset for start, end in spans for offset in self._joints(start, end)}
        if offsets:
            self._read(parse_parted(self.doc, offsets))

    def _joints(self, start: int, end: int) -> Iterator[int]:
        """Yield the boundaries of a word that are within a token, except at a full stop, apostrophe or hyphen."""
        token = self.tokens.get(start)
        if token is None:
            yield start
        elif token.idx + len(token) <= end:
            return
        after = self.doc.text[end : end + 1]
        if after and after not in " .'-" and end not in self.tokens:
            yield end

    def at(self, start: int) -> Any:
        """Return the token that begins at an offset, or None."""
        return self.tokens.get(start)

    def last_token(self, start: int, end: int) -> Any:
        """Return the token at the end of a span, or None if token boundaries do not match the span."""
        token = self.at(start)
        while token is not None and token.idx + len(token) < end:
            token = token.nbor() if token.i + 1 < len(token.doc) else None
        return token

    def precedes_place(self, token: Any) -> bool:
        """Return whether a place name follows a word: *Miss Colombia*."""
        entity = self.entity(token.nbor()) if token.i + 1 < len(token.doc) else None
        return entity is not None and entity.label_ == "GPE"

    def entity(self, token: Any) -> Any:
        """Return the named entity that contains a token, or None. A sentence's entities are computed on first use."""
        self.has_entities = True
        return next((entity for entity in sentence_entities(token) if entity.start <= token.i < entity.end), None)

    def is_place(self, token: Any) -> bool:
        """Return whether a token is in the name of a place or organisation, or False if entities were not computed."""
        entity = self.entity(token) if self.has_entities else None
        return entity is not None and entity.label_ in ("GPE", "LOC", "FAC", "ORG")

    def verbs(self, subject: Any, *, third_person: bool) -> list[Any]:
        """Return the finite verbs of a subject pronoun, with coordinated verbs and verbs of a *who* clause after it.

        The verbs are in the third person singular if ``third_person`` is true, otherwise in the plural.
        """
        fits = _is_singular if third_person else _is_plural
        found: dict[int, Any] = {}
        if _is_joined_by_or(subject):  # he or she is
            subject = subject.head
        elif any(child.dep_ == "conj" for child in subject.children) or subject.dep_ == "conj":
            return []
        if subject.dep_ in SUBJECTS:
            for verb in _coordinated(subject.head):
                finite = _finite(verb, fits)
                if finite is not None:
                    found[finite.i] = finite
                    found |= {misread.i: misread for misread in _misread_after(finite)}
        for child in subject.children:
            if child.dep_ == "relcl" and any(word.lower_ in ("who", "that") for word in child.children):
                finite = _finite(child, fits)
                if finite is not None:
                    found[finite.i] = finite
        if not found:  # the parser missed the subject: use the next word if it is certainly a verb
            following = _after_adverbs(subject)
            if following is not None and (fits(following) or (third_person and _is_misread(following))):
                found[following.i] = following
                found |= {misread.i: misread for misread in _misread_after(following)}
        return [found[index] for index in sorted(found)]

    def is_perfect(self, verb: Any) -> bool:
        """Return whether ``'s`` before a participle means *has* and not *is*."""
        if verb.dep_ == "aux" and verb.head.tag_ == "VBN":
            return True
        if verb.head.tag_ == "VBN" and any(one.dep_ == "dobj" and one.i < verb.i for one in verb.head.children):
            return True  # what he's written
        following = _after_adverbs(verb)
        if following is None:
            return False
        then = following.nbor().lower_ if following.i + 1 < len(self.doc) else ""
        return takes_have(following.lower_, then)

    def is_verb(self, token: Any) -> bool:
        """Return whether the word is tagged as a verb and does not follow a determiner or an adjective."""
        before = token.nbor(-1) if token.i else None
        nominal = before is not None and before.tag_ in ("DT", "PRP$", "POS", "JJ", "CD")
        return token.tag_.startswith("VB") and not nominal

    def modifies(self, token: Any) -> bool:
        """Return whether a word modifies a noun after it."""
        following = token.nbor() if token.i + 1 < len(self.doc) else None
        if following is None or (following.is_punct and following.text not in ("-", ",")):
            return False
        return token.dep_ in ("amod", "compound", "nmod", "det", "nummod", "npadvmod") and token.head.i > token.i

    def modifies_later(self, token: Any) -> bool:
        """Return whether a noun or adjective without an article is parsed as a modifier of a later noun."""
        if token.dep_ == "npadvmod" and any(child.dep_ == "det" for child in token.children):
            return False
        return token.dep_ in ("compound", "nmod", "amod", "npadvmod") and token.head.i > token.i

    def is_misread_verb(self, token: Any) -> bool:
        """Return whether a word tagged as a plural noun is a verb: *my aunt mends clocks*, *a waitress smiles*."""
        if token.tag_ != "NNS":
            return False
        return token.dep_ == "compound" or any(child.lower_ in ("a", "an", "every", "each") for child in token.children)

    def noun_after(self, token: Any) -> str:
        """Return the kind of noun that a word precedes and modifies: ``person`` or ``noun``, or an empty string."""
        if not self.modifies(token):
            return ""
        return "person" if is_person(token.head.lower_, self.people) else "noun"

    def means_people(self, token: Any) -> bool:
        """Return whether an adjective or noun that also has another sense (*black*, *old*) describes people."""
        if token.dep_ in ("amod", "compound", "nmod"):
            head = token.head
            named = head.dep_ == "compound" and head.head.i > head.i and not is_person(head.head.lower_, self.people)
            return (
                head.tag_ in ("NN", "NNS") and is_person(head.lower_, self.people) and not named
            )  # a black messenger bag
        if token.dep_ == "conj":
            return self.means_people(token.head) or (token.head.tag_ in ("NNPS", "NNS") and token.tag_ == "NNS")
        if token.dep_ in ("acomp", "attr", "oprd") and token.tag_ in ("JJ", "NN", "NNP"):
            if token.head.lower_ not in _COPULAS:
                return False
            return any(_is_person(child, self.people) for child in token.head.children if child.dep_ in SUBJECTS)
        if token.tag_ in ("NNS", "NNPS"):
            return token.dep_ in (*SUBJECTS, "pobj", "dobj", "poss")
        return False

    def means_several(self, token: Any) -> bool:
        """Return whether a word that is no plural by its form means several people: *two Inuit*, *the Maori are*."""
        if token.dep_ not in (*SUBJECTS, "pobj", "dobj") or self.modifies(token):  # not *both white and black*
            return False
        if token.tag_ in ("NNS", "NNPS"):
            return True
        before = [child for child in token.children if child.i < token.i]
        if any(child.lower_ in _SEVERAL or child.dep_ == "nummod" for child in before):
            return not any(child.lower_ in ("one", "1") for child in before)
        if token.tag_ == "NN" or not any(child.lower_ == "the" for child in before):  # *does the woman mention it*
            return False
        return token.dep_ in SUBJECTS and _finite(token.head, _is_plural) is not None

    def plural_people_before(self, token: Any) -> bool:
        """Return whether the text before a word names several people, who may be the antecedent of *they*."""
        for other in self.doc[: token.i]:
            if other.tag_ in ("NNS", "NNPS") and is_people(other.lower_):
                return True
            if other.lower_ == "people" and other.tag_.startswith("NN"):
                return True
            if other.dep_ == "conj" and _is_person(other) and _is_person(other.head) and other.head.tag_[:2] == "NN":
                return True
        return False


def _is_person(token: Any, people: frozenset[str] = frozenset()) -> bool:
    if token.lower_ in _PERSONAL or token.tag_ == "PRP":
        return token.lower_ != "it"
    if token.lower_ in _QUANTITIES:
        of = next((child for child in token.children if child.lower_ == "of"), None)
        return of is None or any(_is_person(child, people) for child in of.children if child.dep_ == "pobj")
    return token.tag_.startswith("NN") and (token.tag_ == "NNP" or is_person(token.lower_, people))


def _is_singular(token: Any) -> bool:
    folded = token.lower_.replace("’", "'")
    if folded in PLURAL or folded == "'s":
        return token.tag_ != "POS"
    return token.tag_ == "VBZ" and is_third_person(folded)


def _is_plural(token: Any) -> bool:
    folded = token.lower_.replace("’", "'")
    if folded in ("be", "been", "being"):
        return False
    if folded in SINGULAR or folded in ("'re", "'ve"):
        return token.tag_ not in ("VB",) or folded in ("are", "were")
    return token.tag_ == "VBP" or (token.tag_ == "VB" and not any(c.dep_ in _AUXILIARIES for c in token.children))


def _finite(verb: Any, fits: Any) -> Any:
    """Return the finite verb of a clause, which is the first auxiliary or else the verb itself, if it fits."""
    auxiliaries = [child for child in verb.children if child.dep_ in _AUXILIARIES]
    if not auxiliaries and verb.tag_.startswith("NN"):  # a copula may depend on its noun
        auxiliaries = [child for child in verb.children if child.dep_ == "cop"]
    first = auxiliaries[0] if auxiliaries else verb
    return first if fits(first) else None


def _coordinated(head: Any) -> Iterator[Any]:
    """Yield a verb and the verbs coordinated with it that share its subject."""
    queue = [head]
    while queue:
        verb = queue.pop()
        yield verb
        for child in verb.children:
            if child.dep_ != "conj" or not child.tag_.startswith(("VB", "MD")):
                continue
            if not any(grandchild.dep_ in (*SUBJECTS, "csubj") for grandchild in child.children):
                queue.append(child)


def _misread_after(verb: Any) -> Iterator[Any]:
    """Yield the verbs in *-s* that are coordinated with a verb, even if tagged as plural nouns: *cooks and cleans*."""
    place = verb.i + 1
    while verb.tag_ in ("VBZ", "NNS"):
        first = place
        while place < len(verb.doc) and verb.doc[place].tag_ in (",", "CC"):
            place += 1
        token = verb.doc[place] if first < place < len(verb.doc) else None
        if token is None or token.dep_ in SUBJECTS or not (_is_misread(token) or _is_singular(token)):
            return
        yield token
        place += 1


def _is_misread(token: Any) -> bool:
    """Return whether a word tagged as a plural noun can be a verb in *-s*."""
    return token.tag_ == "NNS" and is_third_person(token.lower_)


def _is_joined_by_or(token: Any) -> bool:
    """Return whether a pronoun is the second of two pronouns joined by *or*."""
    if token.dep_ != "conj" or token.lower_ not in _PERSONAL or token.head.lower_ not in _PERSONAL:
        return False
    return any(child.lower_ == "or" for child in token.head.children)


def _after_adverbs(token: Any) -> Any:
    """Return the next word that is not an adverb or a negation, or None."""
    for index in range(token.i + 1, min(token.i + 4, len(token.doc))):
        following = token.doc[index]
        if not following.tag_.startswith("RB"):
            return following
    return None


def precedes_verb(token: Any) -> bool:
    """Return whether a finite verb follows a word.

    *left* counts as a verb if no noun follows it, because the parser often tags it as an adjective.
    """
    after, then = (token.doc[token.i + step : token.i + step + 1] for step in (1, 2))
    if len(after) and after[0].lower_ == "left":
        return not len(then) or (then[0].tag_[:2] not in ("NN", "JJ", "VB") and then[0].text != "-")
    return len(after) == 1 and after[0].tag_ in _FINITE


def _is_before_misread_past(token: Any) -> bool:
    """Return whether a verb in the past, parsed as the noun of the sentence, follows a word: *A Muslim wept*."""
    after = token.doc[token.i + 1 : token.i + 2]
    return len(after) == 1 and after[0].dep_ == "ROOT" and is_past(after[0].lower_)


def means_person(token: Any, syntax: Syntax) -> bool:
    """Return whether a word for a people or a religion means one person or more: *a Christian*, *the German's car*.

    In the singular without a determiner, and in *from the German*, it may be a language.
    """
    if token.tag_ in ("NNS", "NNPS") and token.lower_.endswith("s"):
        return not syntax.modifies(token)
    before = token.doc[token.i - 1].lower_ if token.i else ""
    if before not in ONE and before != "the":
        return False
    if before in ONE and (precedes_verb(token) or _is_before_misread_past(token)):
        return True
    from_language = token.dep_ == "pobj" and token.head.lower_ in ("from", "into", "in")
    return token.tag_.startswith("NN") and not syntax.modifies(token) and not from_language
