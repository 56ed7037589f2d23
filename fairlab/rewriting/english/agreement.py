"""Grammatical agreement: verbs with singular or plural subjects, *a* or *an*, possessive endings."""

from __future__ import annotations

from functools import cache

from fairlab.text.words import cached_for_recent_words, match_case

# Irregular forms; "'s" is missing because only the context shows whether it is "is" or "has".
PLURAL = {"is": "are", "was": "were", "has": "have", "does": "do", "isn": "aren", "wasn": "weren", "hasn": "haven"}
PLURAL |= {"doesn": "don"}
SINGULAR = {plural: singular for singular, plural in PLURAL.items()}


@cached_for_recent_words
def _lemma(verb: str) -> str | None:
    """Return the base form of a verb in the third person singular, or None if ``verb`` is not such a form."""
    from lemminflect import getLemma

    for lemma in getLemma(verb, upos="VERB", lemmatize_oov=False):
        if _third_person(lemma) == verb:
            return lemma
    return None


@cached_for_recent_words
def _third_person(lemma: str) -> str:
    from lemminflect import getInflection

    forms = getInflection(lemma, tag="VBZ")
    return forms[0] if forms else lemma


def is_third_person(word: str) -> bool:
    """Return whether ``word`` can be a verb in the third person singular of the present (or *was*)."""
    folded = word.casefold()
    return folded in PLURAL or (folded.endswith("s") and _lemma(folded) is not None)


# Participles after which "'s" is always *has*, and those that keep an object in the passive (*she's given a chance*).
_ACTIVE = frozenset("been had got become gone come".split())
_WITH_OBJECT_IN_PASSIVE = frozenset(
    "given offered awarded paid told asked taught sent shown granted handed called named elected denied".split()
)
_BEFORE_OBJECTS = frozenset(
    "a an the this that these those my your his her its our their him them me us it some many several".split()
)


def takes_have(participle: str, following: str) -> bool:
    """Return whether ``'s`` before a participle means *has*, as in *she's lost her keys* but not in *she's lost*.

    Args:
        participle: Word after ``'s`` and any adverbs, case-folded.
        following: Word after the participle, case-folded; empty at the end of the text.
    """
    if participle in _ACTIVE:
        return True
    return following in _BEFORE_OBJECTS and participle not in _WITH_OBJECT_IN_PASSIVE and _is_participle(participle)


@cached_for_recent_words
def _is_participle(word: str) -> bool:
    from lemminflect import getInflection, getLemma

    return any(word in getInflection(lemma, tag="VBN") for lemma in getLemma(word, upos="VERB", lemmatize_oov=False))


def plural_verb(verb: str, *, perfect: bool = False) -> str:
    """Return the form of a verb for a plural subject: ``is`` -> ``are``, ``walks`` -> ``walk``.

    Other forms stay unchanged. If ``perfect`` is true, ``'s`` means *has*.
    """
    folded = verb.casefold().replace("’", "'")
    if folded == "'s":
        return match_case(verb, verb[0] + ("ve" if perfect else "re"))
    return match_case(verb, PLURAL.get(folded) or _lemma(folded) or verb)


def singular_verb(verb: str) -> str:
    """Return the form of a verb for *he* or *she*: ``are`` -> ``is``, ``walk`` -> ``walks``."""
    folded = verb.casefold().replace("’", "'")
    if folded in ("'re", "'ve"):
        return match_case(verb, verb[0] + "s")
    return match_case(verb, SINGULAR.get(folded) or _third_person(folded))


@cache
def _engine() -> object:
    """Load the inflect library's engine for English plurals and articles.

    During import, inflect lets typeguard rewrite its classes, which takes seconds and is not needed here.
    """
    import typeguard

    check, typeguard.typechecked = typeguard.typechecked, lambda checked: checked  # type: ignore[assignment]
    try:
        import inflect
    finally:
        typeguard.typechecked = check
    return inflect.engine()


@cached_for_recent_words
def article(word: str) -> str:
    """Return ``a`` or ``an``, depending on the sound of the following word."""
    if word[:1] == "8" or word in ("11", "18"):  # an 80-year-old
        return "an"
    return _engine().a(word).split(" ", 1)[0] if word.strip() else "a"  # type: ignore[attr-defined]


@cached_for_recent_words
def is_plural_noun(word: str) -> bool:
    """Return whether a word can be the plural of a noun."""
    return word.isascii() and word.isalpha() and bool(_engine().singular_noun(word))  # type: ignore[attr-defined]


def possessive(noun: str, ending: str) -> str:
    """Return the possessive ending of ``noun``, given the ending (``'s`` or ``'``) of the noun it replaces.

    ``actresses'`` -> ``actors'``; ``men's`` -> ``ladies'``; ``James'`` -> ``Jane's``.
    """
    mark = ending[0]
    if noun.endswith("s"):
        return mark if is_plural_noun(noun.split()[-1].lower()) and noun[:1].islower() else ending
    return mark + "s" if len(ending) == 1 else ending


@cached_for_recent_words
def is_known(word: str) -> bool:
    """Return whether an English dictionary contains a word or a form of it.

    The dictionary has no names and no very short words.
    """
    from lemminflect import getAllLemmas

    return bool(getAllLemmas(word))


@cached_for_recent_words
def may_be_noun(word: str) -> bool:
    """Return whether a word may be a noun: an English dictionary lists it as one, or does not list it at all."""
    from lemminflect import getAllLemmas

    lemmas = getAllLemmas(word)
    return not lemmas or "NOUN" in lemmas


# Verbs whose past form is the same.
_UNCHANGED_VERBS = frozenset("bet burst cast cost cut hit hurt let put quit read rid set shed shut spread".split())


@cached_for_recent_words
def is_bare_noun(word: str) -> bool:
    """Return whether a word is a singular noun, and neither an adverb nor the past form of a verb."""
    from lemminflect import getAllLemmas

    lemmas = getAllLemmas(word)
    verbs = lemmas.get("VERB", ())
    if "ADV" in lemmas or word in _UNCHANGED_VERBS:
        return False
    return word in lemmas.get("NOUN", ()) and all(verb == word for verb in verbs)
