"""Which sense a word has, judged from its neighbours in a parsed sentence."""

from types import SimpleNamespace

import pytest

from fairlab.lexicons.names import find_name
from fairlab.rewriting.english import senses
from fairlab.rewriting.english.given_names import Neighbours
from fairlab.rewriting.english.senses import name_stands, word_stands
from fairlab.rewriting.english.syntax import Syntax
from tests.rewriting.english.trees import token

# Parses in which a function is true of the word with a star, and parses in which it is not.
TREES = [
    (
        senses._acts,
        [
            "*Hope/NNP/nsubj/smiled smiled/VBD/ROOT",
            "They met/VBD/ROOT *Hope/NNP/dobj/met",
            "They told/VBD/ROOT *Hope/NNP/dative/told",
            "A nurse/NN/ROOT *Hope/NNP/appos/nurse",
            "*Hope/NNP/nsubj/grew a nurse/NN/appos/Hope grew/VBD/ROOT",
        ],
        [
            "*Hope/NNP/nsubj/grew grew/VBD/ROOT",
            "They need/VBP/ROOT *Hope/NNP/dobj/need",
            "They met/VBD/ROOT *Hope/NNP/advmod/met",
            "A town/NN/ROOT *Hope/NNP/appos/town",
            "*Hope/NNP/nsubj/grew a town/NN/appos/Hope grew/VBD/ROOT",
            "*Hope/NNP/nsubj/grew a nurse/NN/dep/Hope grew/VBD/ROOT",
        ],
    ),
    (
        senses._names_a_thing,
        [
            "the/DT/det/line *Victoria/NNP/compound/line line/NN/ROOT",
            "the/DT/det/line *Victoria/NNP/nmod/old old/NN/amod/line line/NN/ROOT",
            "*Victoria/NNP/compound/line line/NN/ROOT",
            "the/DT/det/xyzzy *Victoria/NNP/compound/xyzzy xyzzy/NN/ROOT",
            "*Victoria/NNP/compound/xyzzies xyzzies/NNS/ROOT",
            "*Norman/NNP/amod/invaders invaders/NNS/nsubj/came came/VBD/ROOT",
        ],
        [
            "the/DT/det/nurse *Victoria/NNP/compound/nurse nurse/NN/ROOT",
            "*Norman/NNP/amod/invaders invaders/NNS/attr/came came/VBD/ROOT",
            "*Norman/NNP/amod/invader invader/NN/nsubj/came came/VBD/ROOT",
            "*Victoria/NNP/compound/xyzzy xyzzy/NN/ROOT",
            "the/DT/det/Line *Victoria/NNP/compound/Line Line/NNP/ROOT",
            "the/DT/det/line line/NN/ROOT *Victoria/NNP/compound/line",
            "*Victoria/NN/nsubj/left left/VBD/ROOT",
        ],
    ),
    (
        senses._is_joined_to_thing,
        ["*Herb/NNP and spice/NN/conj/Herb left/VBD"],
        [
            "*Herb/NNP and nurse/NN/conj/Herb left/VBD",
            "*Herb/NNP and Spice/NN/conj/Herb left/VBD",
            "*Herb/NNP and spice/NN/dep/Herb left/VBD",
            "*Herb/NNP , and spice/NN/conj/Herb left/VBD",
            "We saw/VBD/ROOT *Herb/NNP/dobj/saw and spice/NN/conj/Herb",
        ],
    ),
    (
        senses._is_ruler,
        ["*Frederick William , Elector of", "*Frederick , King of"],
        ["*Frederick , nurse of", "*Frederick Elector of it", "*Frederick , Elector in", "*Frederick , Elector"],
    ),
    (
        senses._is_owner_of_verb,
        [
            "*Wendy 's/POS sells/VBZ",
            "*Wendy 's/POS sold/VBD",
            "*Wendy 's/POS can/MD",
            "*Wendy 's/VBZ sold/VBD",
            "*Wendy ’s/VBZ sells/VBZ",
        ],
        [
            "*Wendy 's/POS hat/NN",
            "*Wendy 's/VBZ tired/JJ",
            "*Wendy 's/VBZ can/MD",
            "*Wendy has/VBZ sold/VBD",
            "*Wendy 's/POS",
            "*Wendy 's/VBZ",
            "*Wendy",
        ],
    ),
    (
        senses._is_state,
        ["the/DT/det/Koreans *Koreans/NNPS left/VBD"],
        [
            "two/CD/det/Koreans *Koreans/NNPS left/VBD",
            "the/DT/det/Korean *Korean/NN left/VBD",
            "the/DT/det/Koreans old/JJ/amod/Koreans *Koreans/NNPS left/VBD",
        ],
    ),
    (
        senses._is_kin,
        [
            "her/PRP$/poss/child *child/NN left/VBD/ROOT",
            "Ann/NNP/poss/child *child/NN left/VBD/ROOT",
            "a *children/NNS/poss/hospital 's hospital/NN/ROOT",
            "the third/JJ/amod/child *child/NN left/VBD/ROOT",
            "They have/VBP/ROOT a *child/NN/dobj/have",
            "They had/VBP/ROOT a *child/NN/attr/had",
            "one/CD/ROOT of/IN/prep/one ten/CD/nummod/children *children/NNS/pobj/of",
            "a *child/NN of/IN/prep/child Ann/NNP/pobj/of left/VBD/ROOT",
            "a sister/NN/ROOT and *child/NN/conj/sister",
        ],
        [
            "a *child/NN left/VBD/ROOT",
            "her/JJ/poss/child *child/NN left/VBD/ROOT",
            "her/PRP$/dep/child *child/NN left/VBD/ROOT",
            "a *children/NNS/poss/house 's house/NN/ROOT",
            "They see/VBP/ROOT a *child/NN/dobj/see",
            "They have/VBP/ROOT a *child/NN/nsubj/have",
            "crowd/NN/ROOT of/IN/prep/crowd ten/CD/nummod/children *children/NNS/pobj/of",
            "one/CD/ROOT with/IN/prep/one ten/CD/nummod/children *children/NNS/pobj/with",
            "a *child/NN of/IN/prep/child wood/NN/pobj/of left/VBD/ROOT",
            "a *child/NN to/IN/prep/child Ann/NNP/pobj/to left/VBD/ROOT",
            "a kid/NN/ROOT and *child/NN/conj/kid",
            "a nurse/NN/ROOT and *child/NN/conj/nurse",
        ],
    ),
    (
        lambda word: senses._is_exclamation(word.text, word),
        ["and *boy/UH was/VBD/ROOT"],
        ["*boy/UH was/VBD/ROOT it", "and *girl/UH was/VBD/ROOT", "and the/DT/det/boy *boy/NN was/VBD/ROOT"],
    ),
    (
        senses._is_joined_to_participle,
        ["*Black - owned"],
        ["*Black - cat", "*Black owned shop", "*Black -", "*Black , owned"],
    ),
    (senses._has_article, ["the/DT/det/men *men/NNS"], ["two/CD/det/men *men/NNS"]),
]


@pytest.mark.parametrize(("function", "true", "false"), TREES, ids=[function.__name__ for function, *_ in TREES])
def test_rules_by_hand(function, true, false):
    assert [text for text in (*true, *false) if function(token(text))] == true


def near(before="", after="", gap_before=" ", gap_after=" "):
    return Neighbours(before, gap_before, after, gap_after)


@pytest.mark.parametrize(
    ("text", "pos", "other", "beside", "expected"),
    [
        # titles, ages, rulers and names
        ("We saw The *King/NNP and I", "noun", None, near(), False),
        ("We saw the *king/NN and I", "noun", None, near(), True),
        ("a year *old/JJ boy", "adjective", None, near("year"), False),
        ("a year - *old/JJ boy", "adjective", None, near("year", gap_before="-"), False),
        ("a year . *Old/JJ boys", "adjective", None, near("year", gap_before=". "), True),
        ("so how *old/JJ is he", "adjective", None, near("x"), False),
        ("how *old/JJ is he", "adjective", None, near(", ", gap_before=", "), True),
        ("saw *King/NNP George/NNP", "noun", None, near("saw", "George"), False),
        ("saw *king/NN George/NNP", "noun", None, near("saw", "George"), True),
        ("saw *Duke/NNP of Brunswick", "noun", None, near("saw", "of"), False),
        ("saw Mr *King/NNP", "noun", None, near("Mr"), False),
        ("saw *King/NNP Street", "noun", None, near("saw", "Street"), False),
        ("saw Ann *King/NNP", "noun", "surname", near("Ann"), False),
        ("saw ann *king/NN", "noun", "surname", near("ann"), True),
        # verbs and gods
        ("They *man/VBP it", "noun", "verb", near("They", "it"), False),
        ("a/DT *man/VBP it", "noun", "verb", near("a", "it"), True),
        ("we *miss/NN it", "noun", "verb", near("we", "it"), False),
        ("saw *miss/NN Lee", "noun", "verb", near("saw", "Lee"), True),
        ("the *Lord/NNP left", "noun", "deity", near("the", "left"), False),
        ("the *lord/NN left", "noun", "deity", near("the", "left"), True),
        ("saw *Lord/NNP Lee", "noun", "deity", near("saw", "Lee"), True),
        # languages
        ("a *German/JJ/amod/left left/NN", "noun", "language", near("a", "left"), True),
        ("a *German/JJ/amod/beers beers/NNS", "noun", "language", near("a", "beers"), True),
        ("a *German/JJ/amod/beer beer/NN", "noun", "language", near("a", "beer"), False),
        ("the *German/NN who/WP", "noun", "language", near("the", "who"), True),
        ("speak/VBP in/IN *German/NN/pobj/in", "noun", "language", near("in"), False),
        # nouns that are tagged as verbs, capitalised, or before another noun
        ("he *mothers/VBG it", "noun", None, near("he", "it"), False),
        ("the Spice *Girl/NN left", "noun", None, near("Spice", "left"), False),
        ("for the *Child/NN left", "noun", "kin", near("the", "left"), False),
        ("a *girl/NN/compound/dog dog/NN/ROOT", "noun", None, near("a", "dog"), False),
        ("a *girl/NN/compound/house house/NN/ROOT", "noun", None, near("a", "house"), False),
        ("a *GIRL/NN/compound/house house/NN/ROOT", "noun", None, near("a", "house"), True),
        ("a *girl/NN/compound/doctor doctor/NN/ROOT", "noun", None, near("a", "doctor"), True),
        ("a *male/NN/compound/house house/NN/ROOT", "noun", None, near("a", "house"), True),
        ("my *aunt/NN/compound/Mary Mary/NNP/ROOT", "noun", None, near("my", "Mary"), True),
        ("my *aunt/NN/compound/sits sits/NNS/compound/by by/NN/ROOT", "noun", None, near("my", "sits"), True),
        ("a *private/NN/compound/doctor doctor/NN/ROOT", "noun", "rank", near("a", "doctor"), False),
        # kin, colours, ranks, nations
        ("her/PRP$/poss/child *child/NN/nsubj/left left/VBD/ROOT", "noun", "kin", near("her", "left"), False),
        ("a *child/NN/nsubj/left left/VBD/ROOT", "noun", "kin", near("a", "left"), True),
        ("dressed/VBN/ROOT in/IN/prep *blacks/NNS/pobj/in", "noun", "colour", near("in"), False),
        ("spoke/VBD/ROOT to/IN/prep *blacks/NNS/pobj/to", "noun", "colour", near("to"), True),
        ("a drug/NN/compound/lord *lord/NN left/VBD/ROOT", "noun", None, near("drug", "left"), False),
        ("a Drug/NNP/compound/lord *lord/NN left/VBD/ROOT", "noun", None, near("drug", "left"), True),
        ("the/DT/det/Koreans *Koreans/NNPS left/VBD/ROOT", "noun", "nation", near("the", "left"), False),
        ("two/CD/nummod/Koreans *Koreans/NNPS left/VBD/ROOT", "noun", "nation", near("two", "left"), True),
        ("a/DT/det/Korean *Korean/NN left/VBD/ROOT", "noun", "nation", near("a", "left"), True),
        ("in *Korean/NN left/VBD/ROOT", "noun", "nation", near("in", "left"), False),
        ("a/DT/det/Korean *Korean/NN car/NN/ROOT", "noun", "nation", near("a", "car"), False),
        ("a/DT/det/junior *junior/NN left/VBD/ROOT", "noun", "small", near("a", "left"), True),
        ("my/PRP$/poss/junior *junior/NN left/VBD/ROOT", "noun", "small", near("my", "left"), False),
        ("the/DT/det/juniors *juniors/NNS left/VBD/ROOT", "noun", "small", near("the", "left"), False),
        # adjectives
        ("the *Black/JJ/amod/Sea Sea/NNP/ROOT", "adjective", None, near("the", "Sea"), False),
        ("the *Black/JJ/amod/People People/NNP/ROOT", "adjective", None, near("the", "People"), True),
        ("the *BLACK/JJ/amod/Sea Sea/NNP/ROOT", "adjective", None, near("the", "Sea"), True),
        ("a pro *Korean/JJ/amod/doctor doctor/NN/ROOT", "adjective", "nation", near("pro", "doctor"), False),
        ("a *Korean/JJ/amod/doctor born doctor/NN/ROOT", "adjective", "nation", near("a", "born"), False),
        ("a *Korean/JJ/amod/doctor doctor/NN/ROOT", "adjective", "nation", near("a", "doctor"), True),
        ("a *Korean/JJ/amod/minister minister/NN/ROOT", "adjective", "nation", near("a", "minister"), False),
        ("a *Korean/JJ/amod/doctor doctor/NN/ROOT", "adjective", "nation", near("South", "doctor"), False),
        ("the/DT/det/people *Thai/JJ/amod/people people/NNS/ROOT", "adjective", "nation", near("the", "people"), False),
        ("some/DT/det/people *Korean/JJ/amod/people people/NNS/ROOT", "adjective", "nation", near("x", "people"), True),
        ("she/PRP/nsubj/is is/VBZ/ROOT *Korean/JJ/acomp/is", "adjective", "nation", near("is"), True),
        ("it/PRP/nsubj/is is/VBZ/ROOT *Korean/JJ/acomp/is", "adjective", "nation", near("is"), False),
        ("a *black/JJ/amod/dog dog/NN/ROOT", "adjective", None, near("a", "dog"), False),
        ("a *black/JJ/amod/house house/NN/ROOT", "adjective", "verb", near("a", "house"), True),
        ("a *black/JJ/amod/nurse nurse/NN/ROOT", "adjective", "rank", near("a", "nurse"), False),
        ("an *old/JJ/amod/friend friend/NN/ROOT", "adjective", "thing", near("an", "friend"), False),
        ("an *old/JJ/amod/nurse nurse/NN/ROOT", "adjective", "thing", near("an", "nurse"), True),
        ("an *old/JJ/amod/house house/NN/ROOT", "adjective", "thing", near("an", "house"), False),
        ("a *black/JJ/amod/nurse nurse/NN/ROOT", "adjective", "colour", near("a", "marble"), False),
        ("a *black/JJ/amod/shop - owned shop/NN/ROOT", "adjective", "colour", near("a", "owned"), True),
        (
            "old/JJ/amod/dogs and *black/JJ/conj/old dogs/NNS/ROOT",
            *("adjective", None, near("and", "dogs"), False),
        ),
    ],
)
def test_words_stand_for_people(text, pos, other, beside, expected):
    word = token(text)
    assert bool(word_stands(word.text.split("-")[-1], pos, other, beside, word, Syntax(word.doc))) is expected


def labelled(label, length=2):
    """A parse in which every word is in an entity of some words."""

    class Entity(SimpleNamespace):
        def __len__(self):
            return length

    return SimpleNamespace(entity=lambda _: Entity(label_=label, end=0) if label else None)


@pytest.mark.parametrize(
    ("text", "beside", "label", "first", "expected"),
    [
        ("saw *Mary/NNP", near("saw"), "", False, True),
        ("Saint *Mary/NNP", near("Saint"), "PERSON", False, False),
        ("saint *Mary/NNP", near("saint", gap_before=", "), "PERSON", False, True),
        ("Mr *Mary/NNP", near("Mr"), "PERSON", False, False),
        ("*Mary/NNP the Great", near(after="the"), "", False, False),
        ("saw *Mary/NNP Lee/NNP", near("saw", "Lee"), "PERSON", False, True),
        ("saw *Mary/NNP Lee/NNP", near("saw", "Lee"), "ORG", False, False),
        ("saw *Mary/NNP de/NNP", near("saw", "de"), "ORG", False, True),
        ("saw *Mary/NNP de/NNP", near("saw", "de"), "GPE", False, False),
        ("Ann *Mary/NNP Lee/NNP", near("Ann", "Lee"), "PERSON", True, True),
        ("Ann *Mary/NNP Lee/NNP", near("Ann", "Lee"), "PERSON", False, False),
        # a word with another sense
        ("saw *Hope/NNP Lee/NNP", near("saw", "Lee"), "PERSON", False, True),
        ("saw *Hope/NNP Lee/NNP", near("saw", "Lee"), "", False, False),
        ("saw *Hope/NN Lee/NNP", near("saw", "Lee"), "PERSON", False, False),
        ("saw Aunt *Hope/NNP", near("Aunt"), "", True, True),
        ("saw/VBD/ROOT *Hope/NNP/dobj/saw", near("saw"), "PERSON", False, True),
    ],
)
def test_names_stand_for_persons(text, beside, label, first, expected):
    word = token(text)
    assert name_stands(word.text, find_name(word.text), beside, word, labelled(label), first) is expected


def test_a_name_of_one_word_may_be_tagged_as_a_place():
    word, beside = token("saw *Mary/NNP Lee/NNP"), near("saw", "Lee")
    assert name_stands("Mary", find_name("Mary"), beside, word, labelled("GPE", 1), False)
    assert not name_stands("Hope", find_name("Hope"), beside, word, labelled("GPE", 1), False)
