"""Words that refer to people, in parses that are written by hand."""

import pytest

from fairlab.rewriting.english.coreference import WEIGHTS, Coreference
from fairlab.rewriting.english.referring import (
    Person,
    Reference,
    described_noun,
    find_quoted,
    first_name,
    is_antecedent_of_who,
    is_definite,
    is_in_later_clause,
    name_runs,
    predicate_subject,
    says,
    who_clause,
)
from tests.rewriting.english.trees import token, tree

CLIMB = "she/PRP/nsubj/a a/VB/ROOT b/VB/xcomp/a c/VB/conj/b d/VB/ccomp/c"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("she/PRP/nsubj/is is/VBZ/ROOT a *nurse/NN/attr/is", "she"),
        ("she/PRP/nsubj/is is/VBZ/ROOT a *nurse/NN/dobj/is", None),
        ("she/PRP/nsubj/is is/VBZ/ROOT a cook/NN/attr/is and *nurse/NN/conj/cook", "she"),
        ("she/PRP/nsubjpass/seen seen/VBN/ROOT as/IN/prep/seen a *nurse/NN/pobj/as", "she"),
        ("she/PRP/nsubjpass/seen seen/VBN/ROOT by/IN/prep/seen a *nurse/NN/pobj/by", None),
        ("a man/NN/ROOT who/WP/nsubj/is is/VBZ/relcl/man a *nurse/NN/attr/is", "man"),
        ("who/WP/nsubj/is is/VBZ/ROOT a *nurse/NN/attr/is", "who"),
        (f"{CLIMB} *nurse/NN/attr/d", "she"),
        (f"{CLIMB} e/VB/xcomp/d *nurse/NN/attr/e", None),
        ("she/PRP/nsubj/is is/VBZ/ROOT be/VB/dep/is a *nurse/NN/attr/be", None),
    ],
)
def test_the_subject_of_a_predicate(text, expected):
    subject = predicate_subject(token(text))
    assert (subject.text if subject is not None else None) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a *female/JJ/amod/cook cook/NN/ROOT", "cook"),
        ("old/JJ/amod/cook and *female/JJ/conj/old cook/NN/ROOT", "cook"),
        ("she/PRP/nsubj/is is/VBZ/ROOT *old/JJ/acomp/is", "she"),
        ("she/PRP/nsubj/left *left/VBD/ROOT", "left"),
        ("she/PRP/nsubj/left left/VBD/ROOT and *ran/VBD/conj/left", "ran"),
    ],
)
def test_the_noun_that_an_adjective_describes(text, expected):
    assert described_noun(token(text)).text == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("man/NN/ROOT who/WP/nsubj/sold sold/VBD/relcl/man *his/PRP$/poss/car car/NN/dobj/sold", "sold"),
        ("man/NN/ROOT who/WP/dobj/sold sold/VBD/relcl/man *his/PRP$/poss/car car/NN/dobj/sold", None),
        ("man/NN/ROOT that/WDT/nsubj/sold sold/VBD/relcl/man *his/PRP$/poss/car car/NN/dobj/sold", None),
        ("man/NN/ROOT who/WP/nsubj/was was/VBD/relcl/man *his/PRP$/poss/heir heir/NN/attr/was", None),
        ("man/NN/ROOT who/WP/nsubj/saw saw/VBD/relcl/man *him/PRP/dobj/saw", "saw"),
        ("man/NN/ROOT who/WP/nsubj/sold sold/VBD/conj/man *his/PRP$/poss/car car/NN/dobj/sold", None),
    ],
)
def test_the_clause_that_tells_of_somebody(text, expected):
    pronoun = token(text)
    clause = who_clause(pronoun, pronoun.ancestors)
    assert (clause.text if clause is not None else None) == expected


def test_a_title_is_no_first_name():
    names = ("mary smith", "mr. smith", "uncle tom", "mary")
    assert [first_name(name.split()) for name in names] == ["mary", "", "", ""]


@pytest.mark.parametrize(
    ("function", "true", "false"),
    [
        (
            is_definite,
            [
                "*man/NN left/VBD/ROOT",
                "the/DT/det/man *man/NN",
                "old/JJ/amod/man *man/NN",
                "my/PRP$/x/man this/DT/x/man *man/NN",
            ],
            ["a/DT/det/man *man/NN", "two/CD/nummod/men *men/NNS", "my/PRP$/poss/man *man/NN"],
        ),
        (
            says,
            ["*she/PRP/nsubj/said said/VBD/ROOT"],
            ["said/VBD/ROOT *her/PRP/dobj/said", "*she/PRP/nsubj/left left/VBD/ROOT"],
        ),
        (
            lambda name: is_in_later_clause(name, name.doc[0]),
            ["she/PRP/nsubj/sang sang/VBD/ROOT *Ann/NNP/nsubj/left left/VBD/conj/sang"],
            [
                "she/PRP/nsubj/sang sang/VBD/ROOT *Ann/NNP/dobj/left left/VBD/conj/sang",
                "she/PRP/nsubj/sang sang/VBD/ROOT *Ann/NNP/nsubj/left left/VBD/ccomp/sang",
                "she/PRP/nsubj/sang sang/VBD/ROOT it/PRP/dobj/sang *Ann/NNP/nsubj/left left/VBD/conj/it",
            ],
        ),
    ],
)
def test_rules_by_hand(function, true, false):
    assert [text for text in (*true, *false) if function(token(text))] == true


def test_names_are_runs_of_proper_nouns_without_dates():
    doc = tree(
        "Mary/NNP Smith/NNP met/VBD June/NNP and/CC Ann/NNP on/IN June/NNP 3/CD Swedes/NNPS or/CC Al/NNP B/NNP C/NNP"
    )
    june, ann = doc[3].idx, doc[5].idx
    runs = [[[one.text for one in run] for run in name_runs(doc, *sets)] for sets in (((), ()), ((ann,), (june,)))]
    last = [["Swedes"], ["Al", "B", "C"]]
    assert runs == [[["Mary", "Smith"], ["Ann"], *last], [["Mary", "Smith"], ["June"], *last]]
    assert len(name_runs(tree("June/NNP Smith/NNP"), (), ())) == 1


def test_what_is_quoted():
    marks = """ " a " b `` c '' d “ e ” f """.split()
    assert "".join("x" if one else "." for one in find_quoted(marks)) == "xx..xx..xx.."


def test_the_salience_of_a_person():
    doc = tree(
        "the/DT/det/Jet Jet/NNP/nsubj/saw saw/VBD/ROOT her/PRP$/poss/dog dog/NN/dobj/saw in/IN/prep/saw "
        "Rome/NNP/pobj/in she/PRP/nsubj/left left/VBD/conj/saw"
    )
    reader = Coreference.__new__(Coreference)
    reader.weights, reader.sentence = WEIGHTS, [1, 1, 1, 1, 1, 1, 1, 2, 2]

    def score(place, attribute, mentions=1, steps=0, **person):
        someone = Person(attribute, tokens=[doc[place]] * mentions, **person)
        return pytest.approx(reader._score(doc[7], Reference(doc[place], someone), steps))

    assert score(1, "") == -3 + 2 - 3  # another sentence, a subject, a name with an article
    assert score(1, "woman") == -3 + 2 + 1  # a known gender
    assert score(1, "woman", is_doubtful=True) == -3 + 2
    assert score(3, "woman", mentions=3, steps=4) == -3 + 0.2 - 0.2 + 2 * 0.1 + 1 - 4 * 0.05  # a possessive pronoun
    assert score(3, "woman", mentions=9) == -3 + 0.2 - 0.2 + 3 * 0.1 + 1
    assert score(4, "") == -3 - 3  # a common noun
    assert score(6, "") == -3 - 1  # a name after *in*
    assert score(6, "woman") == -3 + 1


@pytest.mark.parametrize(
    ("text", "clause", "expected"),
    [
        ("met/VBD/ROOT a *man/NN/dobj/met who sold/VBD/relcl/man", "sold", True),
        ("met/VBD/ROOT a *man/NN/dobj/met in Rome/NNP who sold/VBD/relcl/Rome", "sold", False),
        ("met/VBD/ROOT in/IN/prep/met *Rome/NNP/pobj/in who sold/VBD/relcl/Rome", "sold", False),
        ("met/VBD/ROOT in/IN/prep/met a *man/NN/pobj/in who sold/VBD/relcl/man", "sold", True),
        ("met/VBD/ROOT by/IN/prep/met *Rome/NNP/pobj/by who sold/VBD/relcl/Rome", "sold", True),
        ("met/VBD/ROOT *Rome/NNP/dobj/met who sold/VBD/relcl/Rome", "sold", True),
    ],
)
def test_a_place_is_not_who_a_clause_tells_of(text, clause, expected):
    word = token(text)
    verb = next(one for one in word.doc if one.text == clause)
    assert is_antecedent_of_who(Reference(word, Person()), verb) is expected
