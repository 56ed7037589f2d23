"""Queries on parses that are written by hand."""

from types import SimpleNamespace

import pytest

from fairlab.rewriting.english import syntax as module
from fairlab.rewriting.english.syntax import Syntax, means_person, parse_views, precedes_verb
from fairlab.text.pipeline import NAMED
from fairlab.text.view import read_view
from tests.rewriting.english.trees import token, tree

# Queries, parses in which the answer for the word with a star is yes, and parses in which it is no.
TREES = {
    "is_perfect": (
        [
            "he *'s/VBZ/aux/gone gone/VBN/ROOT",
            "what/WP/dobj/written he *'s/VBZ/auxpass/written written/VBN/ROOT",
            "he *'s/VBZ/ROOT lost/JJ her/PRP$",
            "he *'s/VBZ/ROOT just/RB lost/JJ her/PRP$",
        ],
        [
            "he *'s/VBZ/auxpass/given given/VBN/ROOT a/DT/dobj/given",
            "he *'s/VBZ/aux/going going/VBG/ROOT",
            "what/WP/nsubj/written he *'s/VBZ/auxpass/written written/VBN/ROOT",
            "he *'s/VBZ/ROOT lost/JJ",
            "he *'s/VBZ/ROOT",
        ],
    ),
    "is_verb": (
        ["They *man/VBP it", "*man/VB it"],
        ["a/DT *man/VBP", "my/PRP$ *man/VBP", "'s/POS *man/VBP", "old/JJ *man/VBP", "one/CD *man/VBP", "the *man/NN"],
    ),
    "modifies": (
        ["a *black/JJ/amod/man man/NN/ROOT", "a *black/JJ/amod/man , old man/NN/ROOT"],
        [
            "a *black/JJ/amod/man . man/NN/ROOT",
            "a *black/JJ/amod/black man/NN",  # of no other word
            "man/NN/ROOT *black/JJ/amod/man it",
            "man/NN/ROOT *black/JJ/amod/man",
            "*men/NNS/nsubj/sing sing/VBP/ROOT",
        ],
    ),
    "modifies_later": (
        ["a *black/JJ/amod/man man/NN/ROOT", "ten *years/NNS/npadvmod/old old/JJ/ROOT"],
        [
            "a/DT/det/year *year/NN/npadvmod/old old/JJ/ROOT",
            "a *black/JJ/amod/black man/NN",
            "man/NN/ROOT *black/JJ/amod/man it",
            "*men/NNS/nsubj/sing sing/VBP/ROOT",
        ],
    ),
    "is_misread_verb": (
        ["aunt *mends/NNS/compound/clocks clocks/NNS/ROOT", "a/DT/det/smiles waitress *smiles/NNS/ROOT"],
        ["aunt *mend/NN/compound/clocks clocks/NNS/ROOT", "the/DT/det/smiles waitress *smiles/NNS/ROOT"],
    ),
    "means_people": (
        [
            "a *black/JJ/amod/nurse nurse/NN/ROOT",
            "a *black/JJ/amod/student student/NN/compound/nurse nurse/NN/ROOT",
            "bag/NN/ROOT *black/JJ/amod/nurse nurse/NN/compound/bag",
            "black/JJ/amod/nurses and *white/JJ/conj/black nurses/NNS/ROOT",
            "cats/NNS/attr/are and *blacks/NNS/conj/cats are/VBP/ROOT",
            "she/PRP/nsubj/is is/VBZ/ROOT *black/JJ/acomp/is",
            "both/DT/nsubj/are are/VBP/ROOT *black/JJ/acomp/are",
            "some/DT/nsubj/are of/IN/prep/some nurses/NNS/pobj/of are/VBP/ROOT *black/JJ/acomp/are",
            "Ann/NNP/nsubj/is is/VBZ/ROOT *black/JJ/acomp/is",
            "someone/NN/nsubj/is is/VBZ/ROOT *black/JJ/acomp/is",
            "me/PRP/nsubj/is is/VBZ/ROOT *black/JJ/acomp/is",
            "*blacks/NNS/nsubj/left left/VBD/ROOT",
            "they/PRP/nsubj/saw saw/VBD/ROOT *blacks/NNS/dobj/saw",
        ],
        [
            "a *black/JJ/amod/house house/NN/ROOT",
            "a *black/JJ/amod/Nurse Nurse/NNP/ROOT",
            "a *black/JJ/amod/messenger messenger/NN/compound/bag bag/NN/ROOT",
            "cats/NNS/attr/are and *black/NN/conj/cats are/VBP/ROOT",
            "cat/NN/attr/are and *blacks/NNS/conj/cat are/VBP/ROOT",
            "it/PRP/nsubj/is is/VBZ/ROOT *black/JJ/acomp/is",
            "she/PRP/nsubj/wore wore/VBD/ROOT *black/JJ/acomp/wore",
            "she/PRP/dobj/is is/VBZ/ROOT *black/JJ/acomp/is",
            "some/DT/nsubj/are of/IN/prep/some cars/NNS/pobj/of are/VBP/ROOT *black/JJ/acomp/are",
            "they/PRP/nsubj/are are/VBP/ROOT *blacks/NNS/attr/are",
            "*black/NN/nsubj/left left/VBD/ROOT",
        ],
    ),
    "means_several": (
        [
            "*Inuits/NNPS/nsubj/left left/VBD/ROOT",
            "two/CD/nummod/Inuit *Inuit/NN/nsubj/left left/VBD/ROOT",
            "many/JJ/amod/Inuit *Inuit/NN/nsubj/left left/VBD/ROOT",
            "the/DT/det/Maori *Maori/NNP/nsubj/are are/VBP/ROOT",
        ],
        [
            "*Inuits/NNPS/attr/are are/VBP/ROOT",
            "one/CD/nummod/Inuit *Inuit/NN/nsubj/left left/VBD/ROOT",
            "*Inuit/NN/nsubj/left two/CD/nummod/Inuit left/VBD/ROOT",
            "the/DT/det/Maori *Maori/NNP/nsubj/is is/VBZ/ROOT",
            "the/DT/det/Maori *Maori/NN/nsubj/are are/VBP/ROOT",
            "a/DT/det/Maori *Maori/NNP/nsubj/are are/VBP/ROOT",
            "saw/VBP/ROOT the/DT/det/Maori *Maori/NNP/dobj/saw",
        ],
    ),
    "plural_people_before": (
        ["nurses/NNS *they", "people/NN *they", "Ann/NNP/ROOT and Bob/NNP/conj/Ann *they"],
        [
            "houses/NNS *they",
            "people/VBP *they",
            "*they saw nurses/NNS",
            "cat/NN/ROOT and Bob/NNP/conj/cat *they",
            "Ann/NNP/ROOT and cat/NN/conj/Ann *they",
            "Ann/NNP/ROOT saw Bob/NNP/dobj/Ann *they",
            "she/PRP/ROOT and Bob/NNP/conj/she *they",
        ],
    ),
}


@pytest.mark.parametrize("query", TREES)
def test_queries(query):
    true, false = TREES[query]
    words = {text: token(text) for text in (*true, *false)}
    assert [text for text, word in words.items() if getattr(Syntax(word.doc), query)(word)] == true


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a *black/JJ/amod/nurse nurse/NN/ROOT", "person"),
        ("a *black/JJ/amod/zorb zorb/NN/ROOT", "person"),
        ("a *black/JJ/amod/house house/NN/ROOT", "noun"),
        ("*black/JJ/acomp house/NN/ROOT", ""),
    ],
)
def test_the_noun_after_a_word(text, expected):
    word = token(text)
    assert Syntax(word.doc, frozenset({"zorb"})).noun_after(word) == expected


@pytest.mark.parametrize(
    ("text", "third_person", "expected"),
    [
        ("*he/PRP/nsubj/walks walks/VBZ/ROOT", True, "walks"),
        ("*he/PRP/nsubj/walked walked/VBD/ROOT", True, ""),
        ("*he/PRP/nsubj/x x/VBZ/ROOT", True, ""),
        ("*he/PRP/nsubj/says says/VBZ/ROOT it/PRP walks/VBZ/ccomp/says", True, "says"),
        ("*he/PRP/nsubj/gone has/VBZ/aux/gone gone/VBN/ROOT", True, "has"),
        ("*he/PRP/nsubj/gone has/VBZ/aux/gone gone/VBN/ROOT", False, ""),
        ("*he/PRP/nsubj/'s 's/POS/ROOT", True, ""),
        ("*he/PRP/nsubj/'s 's/VBZ/ROOT", True, "'s"),
        ("*he/PRP/nsubj/doctor is/VBZ/cop/doctor doctor/NN/ROOT", True, "is"),
        ("*he/PRP/nsubj/cook ,/, has/VBZ/aux/cook been/VBN/cop/cook cook/NN/ROOT", True, "has"),
        ("*he/PRP/nsubj/sings sings/VBZ/ROOT and dances/VBZ/conj/sings", True, "sings dances"),
        ("*he/PRP/nsubj/sings sings/VBZ/ROOT and she/PRP/nsubj/dances dances/VBZ/conj/sings", True, "sings"),
        ("*he/PRP/nsubj/cooks cooks/VBZ/ROOT and/CC cleans/NNS/dobj/cooks", True, "cooks cleans"),
        (
            "*he/PRP/nsubj/cooks cooks/VBZ/ROOT ,/, cleans/NNS/dobj/cooks ,/, and/CC irons/NNS",
            True,
            "cooks cleans irons",
        ),
        ("*he/PRP/nsubj/cooks cooks/VBZ/ROOT cleans/NNS/dobj/cooks", True, "cooks"),
        ("*he/PRP/nsubj/cooks cooks/VBZ/ROOT and/CC cats/NNS/nsubj/cooks", True, "cooks"),
        ("*he/PRP/nsubj/cooks cooks/VBZ/ROOT and/CC", True, "cooks"),
        ("he/PRP/nsubj/is or/CC/cc/he *she/PRP/conj/he is/VBZ/ROOT", True, "is"),
        ("he/PRP/nsubj/is and/CC/cc/he *she/PRP/conj/he is/VBZ/ROOT", True, ""),
        ("*he/PRP/nsubj/is and/CC/cc/he she/PRP/conj/he is/VBZ/ROOT", True, ""),
        ("cats/NNS/nsubj/is or/CC/cc/cats *she/PRP/conj/cats is/VBZ/ROOT", True, ""),
        ("*he/PRP/nsubj/sings who/WP/nsubj/is is/VBZ/relcl/he sings/VBZ/ROOT", True, "is sings"),
        ("*he/PRP/nsubj/sings it/PRP/nsubj/is is/VBZ/relcl/he sings/VBZ/ROOT", True, "sings"),
        # the parser has missed the subject
        ("*he/PRP/dobj/saw walks/NNS saw/VBD/ROOT", True, "walks"),
        ("*they/PRP/dobj/saw walks/NNS saw/VBD/ROOT", False, ""),
        ("*he/PRP/dobj/saw x/RB y/RB walks/VBZ saw/VBD/ROOT", True, "walks"),
        ("*he/PRP/dobj/saw x/RB y/RB z/RB walks/VBZ saw/VBD/ROOT", True, ""),
        # the plural
        ("*they/PRP/nsubj/walk walk/VBP/ROOT", False, "walk"),
        ("*they/PRP/nsubj/walk walk/VB/ROOT", False, "walk"),
        ("*they/PRP/nsubj/walk can/MD/aux/walk walk/VB/ROOT", False, ""),
        ("*they/PRP/nsubj/walked walked/VBD/ROOT", False, ""),
        ("*they/PRP/nsubj/be be/VB/ROOT", False, ""),
        ("*they/PRP/nsubj/are are/VB/ROOT", False, "are"),
        ("*they/PRP/nsubj/do do/VB/ROOT", False, ""),
        ("*they/PRP/nsubj/’re ’re/VBP/ROOT", False, "’re"),
    ],
)
def test_verbs_of_a_pronoun(text, third_person, expected):
    word = token(text)
    assert [verb.text for verb in Syntax(word.doc).verbs(word, third_person=third_person)] == expected.split()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a *German left", True),
        ("a *German left hand/NN", False),
        ("a *German left hands/NNS", False),
        ("a *German left -", False),
        ("a *German left it/PRP", True),
        ("a *German says/VBZ", True),
        ("a *German beer/NN", False),
        ("a *German", False),
    ],
)
def test_a_verb_follows(text, expected):
    assert precedes_verb(token(text)) is expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("*Germans/NNS/nsubj/left left/VBD/ROOT", True),
        ("*Germans/NNS/compound/cars cars/NNS/ROOT", False),
        ("speak *German/NN/dobj/speak", False),
        ("*Swiss/NN/nsubj/left left/VBD/ROOT", False),
        ("the *German/NN/nsubj/came came/JJ/ROOT", True),
        ("the *German/JJ/nsubj/came came/VBD/ROOT", False),
        ("a *German/JJ/nsubj/came came/VBD/ROOT", True),
        ("a *Muslim/JJ/amod/wept wept/NN/ROOT", True),
        ("a *Muslim/JJ/amod/wept wept/NN/ROOT ./.", True),
        ("a *Muslim/JJ/amod/wept wept/NN/dep/it it/PRP/ROOT", False),
        ("a *Muslim/JJ/amod/house house/NN/ROOT", False),
        ("from the *German/NN/pobj/from", False),
        ("of the *German/NN/pobj/of", True),
        ("the *German/NN/compound/car car/NN/ROOT", False),
    ],
)
def test_a_word_for_a_people_may_mean_a_person(text, expected):
    word = token(text)
    assert bool(means_person(word, Syntax(word.doc))) is expected


def test_words_are_found_by_their_offsets():
    syntax = Syntax(tree("Ann - Marie left"))
    assert [syntax.last_token(*span) for span in ((0, 3), (0, 11), (1, 3), (0, 99))] == [
        *(syntax.doc[0], syntax.doc[2], None, None)
    ]


@pytest.mark.parametrize(
    ("text", "span", "joints"),
    [("She left", (0, 3), []), ("She,left", (0, 3), [3]), ("She.left", (0, 3), []), ("3,She left", (2, 5), [2])],
)
def test_words_that_a_sign_joins_are_parted(text, span, joints):
    assert list(Syntax(tree(text))._joints(*span)) == joints


def test_a_word_may_be_within_or_before_a_place(monkeypatch):
    entities = [SimpleNamespace(start=1, end=3, label_="GPE"), SimpleNamespace(start=4, end=5, label_="PERSON")]
    monkeypatch.setattr(module, "sentence_entities", lambda token: entities)
    doc = tree("Miss New York met Ann")
    syntax = Syntax(doc)
    assert not any(map(syntax.is_place, doc))  # entities were not computed
    assert [syntax.precedes_place(word) for word in doc] == [True, True, False, False, False]
    assert [syntax.is_place(word) for word in doc] == [False, True, True, False, False]


def test_texts_are_parsed_without_their_accents_if_that_keeps_offsets():
    texts = ["José left.", "Gauß left."]  # ß would become two letters
    docs = list(parse_views(map(read_view, texts)))
    assert [doc.text for doc in docs] == ["Jose left.", "Gauß left."]
    assert not any(NAMED in doc.user_data for doc in docs)
