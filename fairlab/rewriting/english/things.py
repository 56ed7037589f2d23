"""Recognition of words that belong to the name of a thing, place or work, and not to a person's, in a parsed text."""

from __future__ import annotations

from typing import Any

import numpy as np

from fairlab.lexicons.names import find_name
from fairlab.rewriting.english.given_names import BEFORE_FIRST_NAMES, BEFORE_SURNAMES, DATES, PLACES, Neighbours
from fairlab.rewriting.english.syntax import SUBJECTS, Syntax

_OF_PLACES = ("GPE", "LOC", "FAC")
_LONGER_NAMES = ("ORG", "FAC", "WORK_OF_ART", "PRODUCT", "EVENT", "LAW", "LOC", "GPE")
# After a name and *'s*, one of these words shows that the name belongs to a thing, not to a person.
_CALLED_AFTER = frozenset(
    "law laws disease syndrome theorem principle paradox comet cube constant equation rule test phenomenon".split()
)
# Words that are also surnames, so they do not end a place name: *Robert David Hall*.
_SURNAMES = frozenset("hall hills park lake bridge falls day bay county bill act banks towers".split())
_ADDRESSES = frozenset(
    """
    mother father mom mum dad mommy mummy daddy mama papa grandma grandpa granny granddad gran gramps auntie aunt uncle
    sir madam ma'am lady gentleman ladies gentlemen
    """.split()
)
_COLOURS = frozenset("orange gray grey red blue green yellow pink purple gold silver tan".split())
# Parts of people, and other things whose words may also mean people: *her black head*, *a white band*.
PARTS = frozenset("head heads face faces body bodies band bands".split())
_MATERIALS = frozenset("marble stone silk satin velvet lace linen cotton wool leather muslin".split())
_WORKS_AND_FIRMS = frozenset(
    """
    film movie comedy drama documentary thriller sequel remake song album single book novel play opera musical poem show
    series magazine newspaper chain company firm brand store restaurant bank band group label ship vessel city town
    village river street park museum school
    """.split()
)
_PLACED = frozenset("located situated built dedicated opened in near at on".split())
# Words that, capitalised within a sentence, are part of a title or the name of a group: *School for Girls*.
_PLURALS = frozenset(
    """
    men women boys girls people kids children wives housewives husbands mothers fathers sons daughters sisters brothers
    ladies gentlemen mums moms dads aunts uncles actors actresses brides widows teens teenagers seniors
    """.split()
)


def is_in_name_of_thing(beside: Neighbours, token: Any, syntax: Syntax) -> bool:
    """Return whether a capitalised listed first name is part of the name of a thing, a place or a ruler."""
    return (
        _is_acronym(token)
        or _has_by_name(token)
        or _is_before_first_name(token)
        or _is_one_of_title(token)
        or _has_place_at_end(token)
        or _owns_a_thing(token, syntax)
        or (not beside.precedes_name and (_follows_name_and_of(token) or _is_place(token, syntax)))
    )


def is_in_title(token: Any) -> bool:
    """Return whether a noun is capitalised as part of a title: *The Princess and the Frog*, *Dear White People*."""
    word = token.text
    if not word[:1].isupper() or (word.isupper() and len(word) > 1):
        return False
    if token.is_sent_start:
        return _is_bare_subject(token)
    if token.lower_ in _PLURALS and not _is_headline(token):
        return True
    if token.i and token.nbor(-1).text == "The" and _has_capital_after_and(token):
        return True
    first = token
    while first.i and not first.is_sent_start and (before := first.nbor(-1)).is_alpha and before.text[:1].isupper():
        first = before
        if first.text in ("The", "A", "An"):
            return not first.is_sent_start
    return False


def is_named_with_capital(token: Any) -> bool:
    """Return whether a noun within a sentence is capitalised but no form of address: *the series Monk*, *the Lady*."""
    word = token.text
    if not word[:1].isupper() or word.isupper() or token.is_sent_start or token.lower_ in _ADDRESSES:
        return False
    before = token.nbor(-1)
    is_addressed = before.lower_ == "dear"  # dear Parent
    return before.text[:1].isalpha() and not (is_addressed or before.is_sent_start or _is_headline(token))


def _is_bare_subject(token: Any) -> bool:
    """Return whether a bare singular begins a sentence that defines it: *Girl is written by Pharrell Williams*."""
    after = token.doc[token.i + 1 :]
    if token.tag_ not in ("NN", "NNP") or token.lower_ in _ADDRESSES or len(after) < 2:
        return False
    return after[0].lower_ in ("is", "was") and after[1].tag_ != "VBG"


def _has_capital_after_and(token: Any) -> bool:
    """Return whether *and* joins the word to a capitalised one: *The King and I*."""
    after = token.doc[token.i + 1 :]
    return (
        len(after) > 1
        and after[0].text == "and"
        and after[2 if after[1].text == "the" and len(after) > 2 else 1].text[:1].isupper()
    )


def _is_headline(token: Any) -> bool:
    """Return whether all longer words in the context are capitalised, so that capitals are not informative."""
    words = [one for one in token.sent if one.is_alpha and len(one) > 3]
    return len(words) > 2 and all(one.text[:1].isupper() for one in words)


def _is_acronym(token: Any) -> bool:
    """Return whether a single short word is in capitals: *the MAC serves students*."""
    return bool(
        token.is_upper
        and 2 < len(token) < 5
        and not any(one.is_upper for one in _adjacent_words(token) if len(one) > 1)
        and not (len(token) == 4 and _is_only_name(token.text))
    )


def _is_only_name(word: str) -> bool:
    """Return whether a word is a frequent first name without another common sense."""
    known = find_name(word)
    return known is not None and known.is_counted and not known.other_sense


def _adjacent_words(token: Any) -> list[Any]:
    places = (token.i - 1, token.i + 1)
    return [token.doc[place] for place in places if 0 <= place < len(token.doc) and token.doc[place].is_alpha]


def _has_by_name(token: Any) -> bool:
    """Return whether *the* and a capitalised word follow a name, as in *Catherine the Great*."""
    after = token.doc[token.i + 1 : token.i + 3]
    return len(after) == 2 and after[0].text == "the" and after[1].text[:1].isupper()


def _is_one_of_title(token: Any) -> bool:
    """Return whether *and the* and a capitalised word follow, as in titles: *Harry Potter and the Deathly Hallows*."""
    after = after_name(token)
    return len(after) == 3 and after[0].lower_ in ("and", "&") and after[1].lower_ == "the" and after[2].is_title


def after_name(token: Any) -> Any:
    """Return the three words after a token and the capitalised words that follow it."""
    place = token.i + 1
    while place < len(token.doc) and token.doc[place].text[:1].isupper():
        place += 1
    return token.doc[place : place + 3]


def has_article(token: Any) -> bool:
    """Return whether a proper noun has an article and is not a title: *the Bunte*, but not *the Queen*."""
    is_titled = token.lower_ in BEFORE_FIRST_NAMES | BEFORE_SURNAMES
    return token.tag_ in ("NNP", "NNPS") and not is_titled and any(one.dep_ == "det" for one in token.children)


def is_date(token: Any) -> bool:
    """Return whether a word is a month or a day. *April* and *June* count, although they may be people."""
    return token.lower_ in DATES


def is_told_a_thing(token: Any) -> bool:
    """Return whether the text calls the named subject a work, a firm or a place: *Fred Meyer is a chain of stores*."""
    head = token
    while head.dep_ in ("compound", "nmod") and head.head.i > head.i:
        head = head.head
    if head.dep_ not in SUBJECTS or head.head.lower_ not in ("is", "was", "are", "were", "'s"):
        return False
    return any(child.dep_ == "attr" and child.lower_ in _WORKS_AND_FIRMS for child in head.head.children)


def _is_before_first_name(token: Any) -> bool:
    """Return whether a surname precedes a first name, as in a list of books: *Patrick, Pierre;*."""
    after = token.doc[token.i + 1 : token.i + 4]
    return len(after) == 3 and after[0].text == "," and after[1].tag_ == "NNP" and after[2].text == ";"


def is_ruler_of(token: Any) -> bool:
    """Return whether a capitalised title has a capitalised domain: *Duke of Brunswick*, *King of Swing*."""
    after = token.doc[token.i + 1 :]
    if not token.text[:1].isupper() or len(after) < 2 or after[0].text != "of":
        return False
    return after[2 if after[1].lower_ == "the" and len(after) > 2 else 1].text[:1].isupper()


def _has_place_at_end(token: Any) -> bool:
    """Return whether the next capitalised words end with a word for a place: *John F. Kennedy Memorial Library*."""
    run = []
    for other in token.doc[token.i + 1 : token.i + 7]:
        if not (other.text[:1].isupper() or other.text in (".", "&")):
            break
        run.append(other)
    if any(other.lower_ in PLACES - _SURNAMES for other in run[1:]):
        return True
    if not run or run[-1].lower_ not in _SURNAMES:
        return False
    after = token.doc[run[-1].i + 1 : run[-1].i + 3]
    return len(after) == 2 and after[0].lower_ in ("is", "was", "lies") and after[1].lower_ in _PLACED


def owns_capitalised(title: Any) -> bool:
    """Return whether a titled person owns something capitalised, as in the name of a work: *Mr. Holland's Opus*."""
    place = title.i + 1
    while place < len(title.doc) and (title.doc[place].text == "." or title.doc[place].tag_.startswith("NNP")):
        place += 1
    after = title.doc[place : place + 2]
    return len(after) == 2 and after[0].lower_ in ("'s", "’s") and after[1].text[:1].isupper()


def _owns_a_thing(token: Any, syntax: Syntax) -> bool:
    """Return whether the name with *'s* is part of a thing's name: *Levi's Stadium*, *Murphy's law*."""
    after = token.doc[token.i + 1 :]
    if len(after) < 2 or after[0].lower_ not in ("'s", "’s"):
        return False
    if after[1].lower_ in _CALLED_AFTER or (after[1].text[:1].isupper() and after[1].lower_ in PLACES):
        return True
    if not after[1].text[:1].isupper():
        return False
    entity = syntax.entity(token)
    return entity is not None and entity.end > after[1].i


def _follows_name_and_of(token: Any) -> bool:
    """Return whether *of* joins the word to a capitalised one: *Robin of Sherwood*, *One Touch of Venus*."""
    if token.i < 2 or token.nbor(-1).lower_ != "of":
        return False
    before = token.nbor(-2)
    return bool(before.text[:1].isupper() and not before.is_sent_start and before.lower_ not in BEFORE_FIRST_NAMES)


def _is_place(token: Any, syntax: Syntax) -> bool:
    """Return whether a single name is tagged as a place, after *in* or before the place that contains it."""
    if token.i and token.nbor(-1).lower_ in ("in", "near", "across", "outside", "throughout"):
        entity = syntax.entity(token)
        return entity is not None and entity.label_ in _OF_PLACES
    after = token.doc[token.i + 1 : token.i + 3]
    if len(after) == 2 and after[0].text == "," and after[1].text[:1].isupper():
        entities = [syntax.entity(token), syntax.entity(after[1])]
        return all(entity is not None and entity.label_ == "GPE" for entity in entities)
    return False


def is_in_longer_name(word: str, token: Any, syntax: Syntax) -> bool:
    """Return whether a capitalised word is part of the name of an institution, a work or a place.

    Without its capital, a word may be a different one: *china*.
    """
    if not word[:1].isupper():
        return any(one.text[:1].isupper() for one in token.doc[1:])
    before = token.doc[max(0, token.i - 2) : token.i]
    if len(before) == 2 and before[1].text == "of" and before[0].lower_ in PLACES and before[0].text[:1].isupper():
        return True  # Bank of Italy
    entity = syntax.entity(token)
    if entity is None or entity.label_ not in _LONGER_NAMES:
        return False
    words = [one for one in entity if one.lower_ != "the" and one.tag_ != "POS"]
    nouns = [one for one in words if one.tag_.startswith("NN")]
    return len(words) > len(word.split()) and all(one.text[:1].isupper() for one in nouns)


def is_colour_of_thing(token: Any, head: Any, after: str) -> bool:
    """Return whether *black* or *white* is a colour, even if it precedes a word that may mean people.

    Args:
        token: Token of the colour.
        head: Token of the noun that it modifies, or None.
        after: Word after the colour, case-folded.
    """
    if any(one.lower_ in _COLOURS for one in (token.head, *token.children) if "conj" in (one.dep_, token.dep_)):
        return True
    if after in _MATERIALS or (token.i and token.nbor(-1).lower_ == after == "as"):  # as white as snow
        return True
    return head is not None and (head.lower_ in PARTS or _is_of_players(head))


def _is_of_players(head: Any) -> bool:
    """Return whether a colour is that of a side in a game: *the yellow and the black players*."""
    if head.lower_ in ("team", "teams", "side", "squad"):
        return True
    # Ids of words are compared first, because a look at every token of a long text takes a tenth of the time of a draw.
    colours = np.isin(head.doc.to_array("LOWER"), [head.vocab.strings[colour] for colour in _COLOURS])
    return any(head.doc[int(place)].head.lower_ == head.lower_ for place in np.flatnonzero(colours))
