"""Checks of whether a listed word in a parsed text refers to people, and not to a thing, place, work or language."""

from __future__ import annotations

from typing import Any

from fairlab.lexicons.names import Name
from fairlab.rewriting.english.agreement import is_known
from fairlab.rewriting.english.given_names import BEFORE_FIRST_NAMES, PARTICLES, Neighbours, is_first_name
from fairlab.rewriting.english.people import ANIMALS_AND_THINGS, KIN, ONE_OF_MANY, is_person, is_private_person
from fairlab.rewriting.english.syntax import SUBJECTS, Syntax
from fairlab.rewriting.english.things import (
    PARTS,
    after_name,
    is_colour_of_thing,
    is_in_name_of_thing,
    is_in_title,
    is_ruler_of,
    is_told_a_thing,
)
from fairlab.text.words import UNITS_OF_AGE

_NOT_PERSONS = frozenset("GPE LOC FAC ORG EVENT WORK_OF_ART PRODUCT LAW NORP LANGUAGE".split())
# A name after one of these words is a known figure's (*Queen Victoria*, *Pope John*); both words stay unchanged.
ROYAL = frozenset("king queen prince princess pope emperor empress tsar sultan saint st".split())
RULERS = ROYAL - {"saint", "st"} | frozenset(
    "duke duchess archduke archduchess earl count countess elector landgrave margrave marquess baron lord".split()
)
_ARGUMENTS = frozenset((*SUBJECTS, "dobj", "pobj"))
_OPENING, _CLOSING = (' "', " “", " '", " ‘"), ('" ', "” ", "' ", "’ ")
_ENDINGS = ("' ", "’ ")
_NEVER_CAPITALISED = frozenset(("kin", "rank", "school year", "small", "stage"))
_ORDINALS = frozenset("first second third fourth fifth sixth last only next unborn youngest eldest oldest".split())
_BEFORE_AGES = UNITS_OF_AGE | {"how"}
_NUMERALS = frozenset("II III IV V VI VII VIII IX X XI XII XIII XIV XV XVI".split())
_RANKS = frozenset("king kings queen queens prince princes princess princesses lord lords baron barons".split())
_TEAMS = frozenset("kings queens princes dukes barons lords brothers sisters saints".split())
# Actions of people only, which show that a word with another sense is a name.
_HUMAN_VERBS = frozenset(
    """
    said says say saying asked asks told tells thinks think thought knew knows know smiled smiles laughed laughs cried
    cries loves loved likes liked hates hated wants wanted hopes hoped felt feels believes believed walked walks ran
    runs sat sits stood stands went goes came comes looked looks wrote writes read reads replied replies answered
    answers married marries wondered wonders remembered remembers agreed agrees shouted shouts whispered nodded shook
    ate eats drank drinks slept sleeps drove drives bought buys met meets wore wears lied lies kissed kisses hugged
    fixed fixes cooked cooks painted paints played plays sang sings danced dances taught teaches forgot forgets
    lost borrowed lent gave gives visited visits saw sees watched watches heard hears
    """.split()
)
_PERSONS_AFTER = frozenset(
    "told asked met married kissed hugged phoned thanked asks tells meets thanks invited".split()
)
_OLD_BUT_NOT_OF_AGE = KIN - {"child", "children", "kid", "kids"} | frozenset(
    "friend friends hand hands guard flame boy boys pal pals chap mate mates foe foes enemy enemies rival rivals "
    "colleague colleagues master masters fan fans member members".split()
)
_HAVING = frozenset(
    "have has had having expect expects expecting expected raise raised raising raises bear bore".split()
)
_HAVING |= frozenset(
    "adopt adopted adopting father fathered mothered conceive conceived want wants rear reared".split()
)
_FOR_THE_YOUNG = frozenset(
    """
    hospital hospitals book books school schools network clothes club clubs home homes toys literature choir
    menu show shows programme program play game games theatre theater museum ward rights television tv fund day
    movie movies film films story stories pool pools entertainment furniture
    """.split()
)


def name_may_stand(word: str, beside: Neighbours) -> bool:
    """Return whether a word that is listed as a first name may be used as one, judged from its neighbours."""
    if not word[:1].isupper() or beside.precedes_place or beside.follows_thing:
        return False
    if word[-1:].isupper() and not word.isupper():  # IgE
        return False
    if beside.follows_title and not beside.precedes_name:
        return False
    if beside.gap_before in _OPENING and beside.gap_after in _CLOSING and beside.after[:1].isupper():
        return False  # Russell "Rusty" Cartwright
    if "&" in (beside.gap_before.strip(), beside.gap_after.strip()):
        return False  # Adam & Eve, a firm
    return not (beside.gap_after == " " and beside.after in _NUMERALS)  # Richard III


def name_stands(word: str, known: Name | None, beside: Neighbours, token: Any, syntax: Syntax, first: bool) -> bool:
    """Return whether a possible first name is used as the first name of a person.

    Args:
        word: Word as written in the text.
        known: Entry in the list of first names, or None for a name that only the lexicon lists.
        beside: Neighbours of the word.
        token: Token of the word.
        syntax: Parsed text.
        first: Whether the preceding word is also listed as a first name, or is used before first names.
    """
    if beside.before.casefold() in ROYAL and beside.before[:1].isupper():
        return False
    if not is_first_name(beside, other_sense=False, before_is_first=first):
        return False
    sense = known.other_sense if known else ""
    if sense and not (token.tag_ == "NNP" and _shows_person(sense, beside, token)):
        return False
    if names_no_person(beside, token, syntax):
        return False
    if not (sense or beside.precedes_name or beside.follows_name):
        return True
    entity = syntax.entity(token)  # last, because it is the most expensive check
    label = entity.label_ if entity is not None else ""
    if label in _NOT_PERSONS and (sense or len(entity) > 1) and not (label == "ORG" and beside.after in PARTICLES):
        return False
    return not sense or label == "PERSON" or beside.follows_first_name


def names_no_person(beside: Neighbours, token: Any, syntax: Syntax) -> bool:
    """Return whether a capitalised word is part of the name of a thing, a place, a shop or a ruler."""
    if (
        _is_joined_to_thing(token)
        or is_told_a_thing(token)
        or _is_ruler(token)
        or _names_a_thing(token)
        or _is_owner_of_verb(token)
    ):
        return True
    return is_in_name_of_thing(beside, token, syntax)


def _shows_person(sense: str, beside: Neighbours, token: Any) -> bool:
    """Return whether the context shows that a word that also has another sense is used as a first name."""
    if beside.precedes_name or beside.follows_first_name:
        return True
    if sense in ("rarely", "surname"):  # on its own, it is a surname: *Nelson, 27, was tried*
        return False
    return _acts(token) or (sense == "word" and not token.is_sent_start)


def _acts(token: Any) -> bool:
    """Return whether a word is the subject or object of a verb that applies to people only."""
    head = token.head
    if token.dep_ in SUBJECTS and head.lower_ in _HUMAN_VERBS:
        return True
    if token.dep_ in ("dobj", "dative") and head.lower_ in _PERSONS_AFTER:
        return True
    if token.dep_ == "appos" and is_person(head.lower_):
        return True
    return any(child.dep_ == "appos" and is_person(child.lower_) for child in token.children)


def _names_a_thing(token: Any) -> bool:
    """Return whether a name modifies the common noun of the thing that it names: *the Victoria line*."""
    head = token
    while head.dep_ in ("compound", "nmod", "amod") and head.head.i > head.i:
        head = head.head
    if head is token or head.tag_ not in ("NN", "NNS"):
        return False
    bare = not any(child.dep_ in ("det", "poss", "amod") for child in head.children)
    if bare and head.tag_ == "NN" and not is_known(head.lower_):  # a foreign word tagged as a noun
        return False
    followers = head.tag_ == "NNS" and head.dep_ in _ARGUMENTS  # *Norman invaders*
    return followers or not is_person(head.lower_)


def _is_joined_to_thing(token: Any) -> bool:
    """Return whether *and* joins a bare word to a common noun that is not a person: *Herb and spice groups*."""
    return token.is_sent_start and any(
        child.i == token.i + 2 and child.dep_ == "conj" and child.text.islower() and not is_person(child.lower_)
        for child in token.children
    )


def _is_ruler(token: Any) -> bool:
    """Return whether a ruler's title follows a name: *Frederick William, Elector of Brandenburg*."""
    after = after_name(token)
    return len(after) == 3 and after[0].text == "," and after[1].lower_ in RULERS and after[2].lower_ == "of"


def _is_owner_of_verb(token: Any) -> bool:
    """Return whether a verb follows a name with *'s*, which is then a shop: *Wendy's sells burgers*."""
    after = token.doc[token.i + 1 : token.i + 3]
    if len(after) < 2:
        return False
    if after[0].tag_ == "POS":
        return after[1].tag_ in ("VBZ", "VBD", "MD")
    return after[0].lower_ in ("'s", "’s") and after[1].tag_ in ("VBZ", "VBD")


def word_stands(word: str, pos: str, other: str | None, beside: Neighbours, token: Any, syntax: Syntax) -> bool:
    """Return whether a noun or adjective is used for people.

    ``other`` is the other sense in the lexicon, or None.
    """
    capitalised = word[:1].isupper() and word[1:].islower()
    if pos == "noun" and (is_in_title(token) or is_told_a_thing(token)):
        return False
    joined = beside.gap_before.strip(" -") == ""  # not "all day. Man ..."
    if joined and beside.before.casefold() in _BEFORE_AGES:
        return False  # an age, not an adjective
    if capitalised and word.casefold() in ROYAL and beside.precedes_name:
        return False
    if capitalised and word.casefold() in RULERS and is_ruler_of(token):
        return False
    if capitalised and (beside.follows_title or beside.precedes_place or (other == "surname" and beside.follows_name)):
        return False
    if other == "verb" and (syntax.is_verb(token) or (word.casefold() == "miss" and not beside.precedes_name)):
        return False
    if other == "deity":
        return not capitalised or beside.precedes_name
    if pos == "noun":
        return _noun_stands(word, other, beside, token, syntax)
    return _adjective_stands(word, other, beside, token, syntax)


def _noun_stands(word: str, other: str | None, beside: Neighbours, token: Any, syntax: Syntax) -> bool:
    one = beside.before.casefold() in ONE_OF_MANY
    if other == "language" and (one or beside.after == "who"):  # a German, this German, the German who
        misread = token.head.lower_ == "left" or (one and token.head.tag_ == "NNS")  # this German prefers
        return misread or not syntax.modifies_later(token)
    if token.tag_ in ("VBD", "VBG") or (word[:1].isupper() and _is_proper(word, beside, token.is_sent_start)):
        return False
    if word[:1].isupper() and not word.isupper() and not token.is_sent_start and other in _NEVER_CAPITALISED:
        return False  # the School for Girls
    # Tags and dependencies are unreliable in upper-case text.
    if syntax.modifies_later(token) and not word.isupper():
        head = token.head
        if head.lower_ in ANIMALS_AND_THINGS:
            return False
        titled = beside.precedes_name and word.casefold().split()[-1] in BEFORE_FIRST_NAMES
        sex = word.casefold() in ("male", "female")
        named = head.tag_ in ("NNP", "NNPS") and (titled or word[:1].islower())  # Aunt Mary, the waiter John
        verb = syntax.is_misread_verb(head)
        if not sex and not named and not verb and head.tag_.startswith("NN") and not is_person(head.lower_):
            return False
        if other in ("rank", "thing", "kin", "colour", "nation", "region"):
            return False
    if other == "kin":
        return not (_is_kin(token) or _is_exclamation(word, token) or syntax.is_verb(token))
    if other in ("colour", "of India or Native American", "plant or speaker", "of any island", "language"):
        worn = token.dep_ == "pobj" and token.head.lower_ == "in"
        return not worn and syntax.means_people(token)
    if word.casefold() in _RANKS and any(child.dep_ == "compound" and child.text.islower() for child in token.children):
        return False  # a drug lord, a beauty queen
    if other == "nation" and _is_state(token):
        return False
    if other in ("nation", "region"):
        following = token.nbor() if token.i + 1 < len(token.doc) else None
        if following is not None and following.tag_.startswith("NN"):
            return False
        return token.tag_ in ("NNS", "NNPS") or any(child.tag_ in ("DT", "PRP$", "CD") for child in token.children)
    if other in ("small", "baseball", "school year"):
        return token.tag_ == "NN" and any(child.lower_ in ("a", "the") for child in token.children)
    return True


def _adjective_stands(word: str, other: str | None, beside: Neighbours, token: Any, syntax: Syntax) -> bool:
    if word[:1].isupper() and beside.precedes_name and not (word.isupper() or is_person(beside.after.casefold())):
        return False
    if other in ("nation", "region") and (
        beside.before.casefold() in ("pro", "anti") or beside.after.casefold() == "born"
    ):
        return False
    shared = token
    while shared.dep_ == "conj" and shared.head.tag_ in ("JJ", "NN", "NNP"):  # Italian and Chinese buyers
        shared = shared.head
    head = shared.head if shared.dep_ in ("amod", "compound", "nmod") else None
    if head is not None and head.lower_ in ANIMALS_AND_THINGS:
        return False
    if other in (None, "surname", "verb"):
        return True
    if other == "rank":
        return False
    if _is_joined_to_participle(token):
        return True
    if other == "thing" and head is not None and head.lower_ in _OLD_BUT_NOT_OF_AGE:
        return False
    if other == "colour" and is_colour_of_thing(token, head, beside.after.casefold()):
        return False
    if other == "nation" and beside.before.casefold() in ("north", "south"):
        return False
    if other == "nation":
        if head is None:
            return shared.dep_ in ("acomp", "attr") and syntax.means_people(shared)
        if not is_private_person(head.lower_) or (head.lower_ == "people" and _has_article(head)):
            return False
    return syntax.means_people(token)


def _is_state(noun: Any) -> bool:
    """Return whether a plural with an article and without a modifier means a state or a whole people: *the Koreans*."""
    if noun.tag_ not in ("NNS", "NNPS") or not _has_article(noun):
        return False
    return not any(child.dep_ in ("amod", "nummod", "relcl", "acl", "prep") for child in noun.children)


def _has_article(noun: Any) -> bool:
    """Return whether the article *the* belongs to a noun, as in *the Cuban people*, which means a nation."""
    return any(child.lower_ == "the" for child in noun.children)


def _is_proper(word: str, beside: Neighbours, starts: bool) -> bool:
    """Return whether a capitalised noun is part of a name: *the Spice Girls*, *Boy Scouts*, but not *Uncle George*."""
    if word.isupper() and len(word) > 1:
        return False
    if (word.casefold() in _TEAMS and not starts) or (beside.gap_after in _ENDINGS and beside.after[:1].isupper()):
        return True  # in Queens, Girls' Generation
    return beside.follows_name or (beside.precedes_name and word.casefold().split()[-1] not in BEFORE_FIRST_NAMES)


def _is_kin(token: Any) -> bool:
    """Return whether a word refers to somebody's child of any age: *her children*, *they have three kids*."""
    if any(child.dep_ == "poss" and child.tag_ in ("PRP$", "WP$", "NNP", "NN", "NNS") for child in token.children):
        return True
    if token.dep_ == "poss" and token.head.lower_ in _FOR_THE_YOUNG:
        return True
    if any(child.lower_ in _ORDINALS for child in token.children):
        return True
    head = token.head
    if token.dep_ in ("dobj", "attr") and head.lower_ in _HAVING:
        return True
    if token.dep_ == "pobj" and any(child.dep_ == "nummod" for child in token.children):  # one of ten children
        return head.lower_ == "of" and head.head.lower_ in ("one", "eldest", "oldest", "youngest")
    if any(
        child.lower_ == "of" and any(one.tag_ in ("NNP", "PRP") for one in child.children) for child in token.children
    ):
        return True
    return token.dep_ == "conj" and head.lower_ in KIN and head.lower_ not in ("child", "children", "kid", "kids")


def _is_exclamation(word: str, token: Any) -> bool:
    """Return whether *boy* is an exclamation that refers to no one: *and boy, was it cold*."""
    if word.casefold() != "boy" or token.is_sent_start:
        return False
    return not any(child.dep_ in ("det", "amod", "poss", "nummod", "compound") for child in token.children)


def _is_joined_to_participle(token: Any) -> bool:
    """Return whether a hyphen joins a word to a participle that applies to people: *Black-owned*."""
    place = token.i + 2
    return (
        place < len(token.doc) and token.nbor().text == "-" and token.nbor(2).lower_ in ("owned", "led", "run", "born")
    )


def word_stands_beside(
    word: str, pos: str, other: str, beside: Neighbours, people: frozenset[str] = frozenset()
) -> bool:
    """Return whether a word that also has another sense refers to people, judged only from its neighbours."""
    following = beside.after.casefold()
    before_person = beside.gap_after == " " and is_person(following, people)
    if other == "rank":
        return pos == "noun" and not before_person
    if other == "kin":
        kin = beside.before.casefold() in _POSSESSIVES or beside.before.casefold() in _HAVING
        return not kin and not (beside.gap_after == " " and following in _COMPOUNDS)
    if other == "nation" and pos == "noun":
        return word.endswith("s") and not before_person
    if (other == "thing" and following in _OLD_BUT_NOT_OF_AGE) or (other == "colour" and following in PARTS):
        return False
    return before_person and (other != "nation" or is_private_person(following))


_POSSESSIVES = frozenset("my your his her its our their s".split())
# Words before which a word for a child has another meaning: *child support*, *boy band*.
_COMPOUNDS = frozenset(
    """
    support labour labor care abuse abduction poverty mortality benefit welfare psychology star actor prodigy soldier
    band bands scout scouts guide guides club clubs wing gloves stuff power school schools friendly proof play bride
    """.split()
)
