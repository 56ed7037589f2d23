"""Who is whom, in parses that are written by hand."""

from types import SimpleNamespace

import pytest

from fairlab.rewriting.english.coreference import Coreference, _is_uncounted
from fairlab.rewriting.english.referring import Person
from tests.rewriting.english.trees import token, tree

MAN = frozenset("He he him himself his Bob Lee man father".split())
WOMAN = frozenset("She she her herself Ann Mary Sinead mother aunt".split())


def read(doc, neutral=(), **marks):
    """Return the people of a parse in which some words mark an attribute."""
    known = dict.fromkeys(MAN, "man") | dict.fromkeys(WOMAN, "woman") | dict.fromkeys(neutral, "neutral") | marks
    return Coreference(doc, [(one.idx, one.idx + len(one), known[one.text]) for one in doc if one.text in known])


def together(text, neutral=(), **marks):
    """Return the other words that refer to the person of the word with a star."""
    word = token(text)
    reader = read(word.doc, neutral, **marks)
    person = reader.person_at[word.i]
    return [one.text for one in word.doc if one.i != word.i and reader.person_at.get(one.i) is person]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        # nobody is their own object, but anybody may be what a reflexive or an object of another verb means
        ("she/PRP/nsubj/saw saw/VBD/ROOT *her/PRP/dobj/saw", []),
        ("Ann/NNP/compound/Lu Lu/NNP/nsubj/saw saw/VBD/ROOT *her/PRP/dobj/saw", []),
        ("she/PRP/nsubj/saw saw/VBD/ROOT *herself/PRP/dobj/saw", ["she"]),
        ("she/PRP/nsubj/looked looked/VBD/ROOT at/IN/prep/looked *her/PRP/pobj/at", []),
        ("she/PRP/nsubj/saw saw/VBD/ROOT it/PRP hit/VBD/ccomp/saw *her/PRP/dobj/hit", ["she"]),
        ("she/PRP/nsubj/did did/VBD/ROOT *her/PRP/dobj/did best/JJS", ["she"]),
        ("she/PRP/nsubj/saw saw/VBD/ROOT *her/PRP$/poss/dog dog/NN/dobj/saw", ["she"]),
        ("saw/VBD/ROOT she/PRP/nsubj/saw *her/PRP$/poss/dog dog/NN/dobj/saw", ["she"]),
        # nor their own aunt
        ("she/PRP/nsubj/is is/VBZ/ROOT *her/PRP$/poss/aunt aunt/NN/attr/is", []),
        ("aunt/NN/nsubj/met met/VBD/ROOT *her/PRP$/poss/dog dog/NN/dobj/met", ["aunt"]),
        # who speaks is not in the quotation
        ('" Ann/NNP/dep/said " said/VBD/ROOT *she/PRP/nsubj/said', []),
        ('" Ann/NNP/dep/left " left/VBD/ROOT *she/PRP/nsubj/left', ["Ann"]),
        ('" Ann/NNP/dep/said and *she/PRP/nsubj/said " said/VBD/ROOT', ["Ann"]),
        # a name after the pronoun
        ("when *he/PRP/nsubj/ate ate/VBD/advcl/left Bob/NNP/nsubj/left left/VBD/ROOT", ["Bob"]),
        ("when *he/PRP/nsubj/ate ate/VBD/advcl/left bob/NN/nsubj/left left/VBD/ROOT", []),
        ("*he/PRP/nsubj/said said/VBD/ROOT that Bob/NNP/nsubj/left left/VBD/ccomp/said", []),
        ("*his/PRP$/poss/dog dog/NN/nsubj/bit bit/VBD/ROOT Bob/NNP/dobj/bit", ["Bob"]),
        ("*his/PRP$/poss/dog dog/NN/nsubj/bit bit/VBD/ROOT Ann/NNP/dobj/bit", []),
        ("*his/PRP$/poss/dog dog/NN/nsubj/sat sat/VBD/ROOT and Bob/NNP/nsubj/left left/VBD/conj/sat", []),
        ('*his/PRP$/poss/dog dog/NN/nsubj/sat sat/VBD/ROOT " Bob/NNP/dep/sat "', []),
        ('" *his/PRP$/poss/dog dog/NN/nsubj/sat sat/VBD/ROOT Bob/NNP/dep/sat "', ["Bob"]),
        ("*his/PRP$/poss/Bob Bob/NNP/nsubj/left left/VBD/ROOT", []),
        # apposition, predicates and names at birth
        ("his/PRP$/poss/nurse nurse/NN/nsubj/left , *Mary/NNP/appos/nurse left/VBD/ROOT", ["nurse"]),
        ("a nurse/NN/compound/Mary *Mary/NNP/nsubj/left left/VBD/ROOT", ["nurse"]),
        ("Lee/NNP , born/VBN *Bob/NNP Okafor/NNP", ["Lee", "Okafor"]),
        ("Lee/NNP left born/VBN *Bob/NNP Okafor/NNP", ["Okafor"]),
        ("he/PRP/nsubj/is is/VBZ/ROOT a *father/NN/attr/is", ["he"]),
        ("he/PRP/nsubj/is is/VBZ/ROOT a *mother/NN/attr/is", []),
        ("a *father/NN/attr/is is/VBZ/ROOT he/PRP/nsubj/is", ["he"]),
        ("a *mother/NN/attr/is is/VBZ/ROOT he/PRP/nsubj/is", []),
        ("a *father/NN/attr/is is/VBZ/ROOT it/PRP/nsubj/is", []),
        # names that share a word, and nouns
        ("*Ann/NNP Okafor/NNP met Okafor/NNP", ["Okafor", "Okafor"]),
        ("*Okafor/NNP met Ann/NNP Okafor/NNP", ["Ann", "Okafor"]),
        ("*Ann/NNP Okafor/NNP met Mary/NNP Okafor/NNP", ["Okafor"]),
        ("*Lee/NNP met Lee/NNP", ["Lee"]),
        ("the/DT/det/man *man/NN/nsubj/saw saw/VBD/ROOT the/DT/det/man man/NN/dobj/saw", ["man"]),
    ],
)
def test_who_is_whom(text, expected):
    assert together(text) == expected


def test_a_name_of_another_attribute_is_another_person():
    doc = tree("Lee/NNP met Lee/NNP")
    reader = Coreference(doc, [(0, 3, "man"), (8, 11, "woman")])
    assert reader.person_at[0] is not reader.person_at[2]
    reader = Coreference(doc, [(0, 3, "man"), (8, 11, "neutral")])
    assert reader.person_at[0] is reader.person_at[2]


def test_who_has_an_attribute_keeps_it():
    reader = read(tree("Ann/NNP Okafor/NNP met Okafor/NNP"))
    assert [person.attribute for person in reader.people] == ["woman"]
    text = "a person/NN/nsubj/said said/VBD/ROOT that *he/PRP/nsubj/left left/VBD/ccomp/said"
    assert together(text, neutral=["person"]) == ["person"]


def test_a_possessive_means_the_subject_of_its_clause_if_nobody_else_stands_out():
    end = "left/VBD/advcl/sold Sam/NNP/nsubj/sold sold/VBD/ROOT *his/PRP$/poss/car car/NN/dobj/sold"
    # Sam is a subject, 2, of the clause, 1.2; Bob a subject, 2, and a man, 1
    assert together(f"when Bob/NNP/nsubj/left {end}") == ["Sam"]
    # *he* is named again, 0.1, by a pronoun, 0.2
    assert together(f"when Bob/NNP/dep/left he/PRP/nsubj/left {end}") == ["Bob", "he"]


def test_a_clause_with_who_outweighs_all_but_the_most_salient_person():
    end = "met/VBD/ROOT a person/NN/dobj/met who/WP/nsubj/saw saw/VBD/relcl/person *him/PRP/iobj/saw"
    # the person has 6 - 3 for a noun, he has 2 and 1 and 0.2 as a subject, a man and a pronoun
    assert together(f"he/PRP/dep/met {end}") == ["person"]
    assert together(f"he/PRP/nsubj/met {end}") == ["he"]


@pytest.mark.parametrize(("between", "expected"), [(59, ["Ann"]), (60, [])])
def test_sixty_mentions_are_searched(between, expected):
    assert together("Ann/NNP met " + "he/PRP " * between + "*her/PRP$") == expected


@pytest.mark.parametrize(
    ("person", "attribute", "expected"),
    [
        (Person("man"), "man", True),
        (Person(), "man", True),
        (Person("woman"), "man", False),
        (Person("man"), "neutral", False),
        (Person("man"), "", False),
        (Person(), "neutral", True),
        (Person(), "", True),
        (Person(tags={"NNS"}), "man", False),
        (Person(tags={"NNPS"}), "man", False),
        (Person(tags={"NNPS"}, first_name="betty"), "man", True),
        (Person(tags={"NNS"}, first_name="betty"), "man", False),
    ],
)
def test_a_pronoun_fits_a_person(person, attribute, expected):
    assert Coreference._fits(None, person, attribute) is expected


@pytest.mark.parametrize(
    ("one", "other", "merged"),
    [("man", "", "man"), ("", "man", "man"), ("man", "man", "man"), ("", "", ""), ("man", "woman", None)],
)
def test_people_are_merged_unless_their_attributes_differ(one, other, merged):
    person, whom = Person(one, tokens=[SimpleNamespace(i=3)]), Person(other)
    reader = SimpleNamespace(person_at={3: person})
    Coreference._merge(reader, person, whom)
    assert reader.person_at[3] is (whom if merged is not None else person)
    assert whom.attribute == (other if merged is None else merged)
    for nobody in (None, person):
        Coreference._merge(reader, person, nobody)
    assert len(person.tokens) == 1


def test_names_without_counts():
    words = ("Sinead", "Mary", "Xyz", "Pastor", "Lady")
    assert [_is_uncounted(token(f"*{word}/NNP")) for word in words] == [True, False, False, False, False]
