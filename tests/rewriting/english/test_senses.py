"""Which sense a word has, judged from its neighbours in a parsed sentence."""

from types import SimpleNamespace

import pytest

from fairlab.lexicons.names import find_name
from fairlab.rewriting.english import senses
from fairlab.rewriting.english.given_names import Neighbours, neighbours
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
            "*Victoria/NNP/compound/Victoria line/NN",
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
        [
            "*Frederick William",
            "*Frederick , nurse of",
            "*Frederick Elector of it",
            "*Frederick , Elector in",
            "*Frederick , Elector",
        ],
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
            "one/CD/ROOT of/IN/prep/one the/DT/det/children *children/NNS/pobj/of",
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


# Part of speech and other sense of a word, parses in which it means people, and parses in which it does not.
WORDS = [
    (
        *("noun", None),
        [
            "We saw the *king/NN and I",
            "saw *king/NN George/NNP",
            "a *GIRL/NN/compound/house house/NN/ROOT",
            "a *girl/NN/compound/doctor doctor/NN/ROOT",
            "a *male/NN/compound/house house/NN/ROOT",
            "my *aunt/NN/compound/Mary Mary/NNP/ROOT",
            "my *Aunt/NNP/compound/Mary Mary/NNP/ROOT",
            "the *waiter/NN/compound/John John/NNP/ROOT",
            "my *aunt/NN/compound/sits sits/NNS/compound/by by/NN/ROOT",
            "a Drug/NNP/compound/lord *lord/NN left/VBD/ROOT",
        ],
        [
            "We saw The *King/NNP and I",
            "saw *King/NNP George/NNP",
            "saw *Duke/NNP of Brunswick",
            "saw Mr *King/NNP",
            "saw *King/NNP Street",
            "he *mothers/VBG it",
            "the Spice *Girl/NN left",
            "my *Aunt/NNP/compound/Mary old/JJ Mary/NNP/ROOT",
            "a *girl/NN/compound/dog dog/NN/ROOT",
            "a *girl/NN/compound/house house/NN/ROOT",
            "a drug/NN/compound/lord *lord/NN left/VBD/ROOT",
        ],
    ),
    ("noun", "surname", ["saw ann *king/NN"], ["saw Ann *King/NNP"]),
    ("noun", "verb", ["a/DT *man/VBP it", "saw *miss/NN Lee"], ["They *man/VBP it", "we *miss/NN it"]),
    ("noun", "deity", ["the *lord/NN left", "saw *Lord/NNP Lee"], ["the *Lord/NNP left"]),
    (
        *("noun", "language"),
        ["a *German/JJ/amod/left left/NN", "a *German/JJ/amod/beers beers/NNS", "the *German/NN who/WP"],
        ["a *German/JJ/amod/beer beer/NN", "speak/VBP in/IN *German/NN/pobj/in"],
    ),
    ("noun", "rank", [], ["a *private/NN/compound/doctor doctor/NN/ROOT"]),
    (
        *("noun", "kin"),
        ["a *child/NN/nsubj/left left/VBD/ROOT"],
        ["her/PRP$/poss/child *child/NN/nsubj/left left/VBD/ROOT", "for the *Child/NN left"],
    ),
    (
        *("noun", "colour"),
        ["spoke/VBD/ROOT to/IN/prep *blacks/NNS/pobj/to"],
        ["dressed/VBN/ROOT in/IN/prep *blacks/NNS/pobj/in"],
    ),
    (
        *("noun", "nation"),
        [
            "two/CD/nummod/Koreans *Koreans/NNPS left/VBD/ROOT",
            "met/VBD/ROOT two/CD/nummod/Koreans *Koreans/NNPS",
            "a/DT/det/Korean *Korean/NN left/VBD/ROOT",
        ],
        [
            "the/DT/det/Koreans *Koreans/NNPS left/VBD/ROOT",
            "in *Korean/NN left/VBD/ROOT",
            "a/DT/det/Korean *Korean/NN car/NN/ROOT",
        ],
    ),
    (
        *("noun", "small"),
        ["a/DT/det/junior *junior/NN left/VBD/ROOT"],
        ["my/PRP$/poss/junior *junior/NN left/VBD/ROOT", "the/DT/det/juniors *juniors/NNS left/VBD/ROOT"],
    ),
    (
        *("adjective", None),
        [
            "a year . *Old/JJ boys",
            "the *Black/JJ/amod/People People/NNP/ROOT",
            "the *BLACK/JJ/amod/Sea Sea/NNP/ROOT",
            "a *black/JJ/amod/house house/NN/ROOT",
            "saw Ann *Black/JJ",
            "the *Black/JJ/amod/Doctor Doctor/NNP/ROOT",
        ],
        [
            "a year *old/JJ boy",
            "a year - *old/JJ boy",
            "so how *old/JJ is he",
            "the *Black/JJ/amod/Sea Sea/NNP/ROOT",
            "a *black/JJ/amod/dog dog/NN/ROOT",
            "old/JJ/amod/dogs and *black/JJ/conj/old dogs/NNS/ROOT",
        ],
    ),
    (
        *("adjective", "nation"),
        [
            "a *Korean/JJ/amod/doctor doctor/NN/ROOT",
            "some/DT/det/people *Korean/JJ/amod/people people/NNS/ROOT",
            "she/PRP/nsubj/is is/VBZ/ROOT *Korean/JJ/acomp/is",
        ],
        [
            "a pro *Korean/JJ/amod/doctor doctor/NN/ROOT",
            "a *Korean/JJ/amod/doctor born doctor/NN/ROOT",
            "a South *Korean/JJ/amod/doctor doctor/NN/ROOT",
            "a *Korean/JJ/amod/minister minister/NN/ROOT",
            "the/DT/det/people *Korean/JJ/amod/people people/NNS/ROOT",
            "it/PRP/nsubj/is is/VBZ/ROOT *Korean/JJ/acomp/is",
        ],
    ),
    ("adjective", "surname", ["the *Young/JJ left"], ["saw Ann *Young/JJ"]),
    ("adjective", "rank", [], ["a *black/JJ/amod/nurse nurse/NN/ROOT"]),
    (
        *("adjective", "thing"),
        ["an *old/JJ/amod/nurse nurse/NN/ROOT"],
        ["an *old/JJ/amod/friend friend/NN/ROOT", "an *old/JJ/amod/house house/NN/ROOT"],
    ),
    (
        *("adjective", "colour"),
        ["a *black/JJ/amod/shop - owned shop/NN/ROOT"],
        ["a *black/JJ/amod/nurse marble/NN nurse/NN/ROOT"],
    ),
]


def means_people(text, pos, other):
    word = token(text)
    beside = neighbours(word.doc.text, word.idx, word.idx + len(word))
    return word_stands(word.text, pos, other, beside, word, Syntax(word.doc))


@pytest.mark.parametrize(("pos", "other", "true", "false"), WORDS)
def test_words_stand_for_people(pos, other, true, false):
    assert [text for text in (*true, *false) if means_people(text, pos, other)] == true


def near(before="", after="", gap_before=" ", gap_after=" "):
    return Neighbours(before, gap_before, after, gap_after)


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
