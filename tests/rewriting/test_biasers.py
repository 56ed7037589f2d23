"""Biasers found and replaced: by lexicon and by named entities, in every form."""

from types import SimpleNamespace

import pytest
from spacy.tokens import Span

from fairlab.lexicons import load_lexicon
from fairlab.rewriting.biasers import BiaserRewriter, _in_name
from fairlab.rewriting.english.mentions import Mention
from fairlab.rewriting.english.syntax import Syntax
from fairlab.rewriting.english.vocabulary import Sense
from fairlab.types import FairlabError
from tests.rewriting.english.trees import token


@pytest.fixture(scope="module")
def rewriter():
    whole = load_lexicon("ethnicity")
    return BiaserRewriter(lexicon=whole.only(["american", "swedish"]), whole=whole)


def turned(rewriter, text, mentions="each"):
    (copies,) = rewriter.copies([text], mentions=mentions)
    return [(copy.replaced, copy.biaser, copy.text) for copy in copies]


@pytest.mark.parametrize(
    ("text", "copy"),
    [
        ("Indians smiled.", "Americans smiled."),
        ("an Indian's plan", "an American's plan"),
        ("A Mexican guide, an Arab guide.", "An American guide, an Arab guide."),
        ("The Japanese are early.", "The Americans are early."),
        ("The Japanese trains are early.", "The American trains are early."),
        ("He is Chinese.", "He is American."),
        ("It was a Chinese person.", "It was an American."),
        ("THE ITALIANS WON.", "THE AMERICANS WON."),
        ("African Americans sang.", "Americans sang."),
        ("African-American singers came.", "American singers came."),
    ],
)
def test_forms(rewriter, text, copy):
    assert turned(rewriter, text, "first")[0][2] == copy


def test_a_biaser_that_is_part_of_another(rewriter):
    text = "African Americans and Americans voted."
    assert turned(rewriter, text) == [
        ("african-american", "american", "Americans and Americans voted."),
        ("african-american", "swedish", "Swedes and Americans voted."),
        ("american", "swedish", "African Americans and Swedes voted."),
    ]


def test_peoples_that_only_entity_recognition_knows(rewriter):
    assert turned(rewriter, "The Soviets left. Soviet tanks stayed.") == [
        ("soviet", "american", "The Americans left. American tanks stayed."),
        ("soviet", "swedish", "The Swedes left. Swedish tanks stayed."),
    ]
    assert turned(rewriter, "The South Ossetians left.")[0] == ("south ossetian", "american", "The Americans left.")


@pytest.mark.parametrize(
    "text",
    [
        "American Airlines flew.",
        "Republicans and Democrats voted.",
        "The Communists marched.",
        "The Marines landed. Southern and Hemispheric trade grew.",
        "Christians and Muslims prayed.",
        "See https://x.org/american for more.",
        "He speaks French and German.",
        "Nobody came.",
        "",
    ],
)
def test_what_is_no_biaser(rewriter, text):
    assert turned(rewriter, text) == []


def test_peoples_are_told_from_parties_creeds_and_listed_groups(rewriter):
    peoples = ["soviet", "soviets", "ossetian", "south ossetians", "kazakhs", "manchus"]
    others = "republicans democrats democrat marxist islamist marines ossetian-born christian german germans".split()
    assert [word for word in (*peoples, *others) if not rewriter._is_other(word)] == peoples[:-1]


@pytest.mark.parametrize(
    ("text", "label", "span", "expected"),
    [
        ("in *German/NNP", "LANGUAGE", (1, 2), True),
        ("in *German/NNP", "NORP", (1, 2), False),
        ("speaks/VBZ/ROOT *German/NNP/dobj/speaks", "", (), True),
        ("speaks/VBZ/ROOT French/NNP/dobj/speaks and *German/NNP/conj/French", "", (), True),
        ("teaches/VBZ/ROOT *Germans/NNPS/dobj/teaches", "", (), False),
        ("meets/VBZ/ROOT *German/NNP/dobj/meets", "", (), False),
        ("speaks/VBZ/ROOT *German/NNP/nsubj/speaks", "", (), False),
        ("the *German/JJ Airlines/NNPS", "ORG", (0, 3), True),
        ("*German/JJ Airlines/NNPS", "ORG", (0, 2), True),
        ("New/NNP *German/NNP", "ORG", (0, 2), True),
        ("the *German/JJ airlines/NNS", "ORG", (0, 3), False),
        ("the *German/JJ Airlines/NNPS", "PERSON", (0, 3), False),
        ("the *German/NNP 's/POS", "ORG", (0, 3), False),
        ("the *German/JJ New Airlines/NNPS", "ORG", (2, 4), False),
    ],
)
def test_a_name_of_something_else_names_no_group(text, label, span, expected):
    word = token(text)
    doc = word.doc
    doc.ents = [Span(doc, *span, label=label)] if label else []
    mention = SimpleNamespace(token=word, start=word.idx, end=word.idx + len(word), found=word.text)
    assert _in_name(mention, doc) is expected


def test_gender_turns_one_side_and_its_pronouns():
    rewriter = BiaserRewriter(lexicon=load_lexicon("gender"))
    (copies,) = rewriter.copies(["The man lost his keys and the woman found hers."], mentions="first")
    assert [copy.text for copy in copies] == ["The woman lost her keys and the woman found hers."]
    assert not rewriter.entities


@pytest.mark.parametrize("axis", ["ethnicity", "gender", "religion", "age", "sexuality", "nationality"])
def test_every_built_in_set_expands(axis):
    lexicon = load_lexicon(axis)
    rewriter = BiaserRewriter(lexicon=lexicon)
    nouns = [entry for entry in lexicon.entries if entry.pos == "noun" and all(entry.forms[1:])]
    entry = next((entry for entry in nouns if entry.forms[0] in ("people", "believers")), nouns[0])
    text = f"We met {entry.forms[1]} there."
    (copies,) = rewriter.copies([text], mentions="first")
    assert [copy.biaser for copy in copies] == list(lexicon.attributes[1:])
    assert all(entry.forms[k + 2].lower() in copy.text.lower() for k, copy in enumerate(copies))


def test_held_are_the_words_of_the_axis(rewriter):
    text = "Two Swedes, one person, a Chinese person."
    assert [text[start:end] for start, end in rewriter.held(text)] == ["Swedes", "Chinese person"]


def test_a_bad_setting():
    with pytest.raises(FairlabError, match=r"rewriter\.names must be swap or keep, not drop"):
        BiaserRewriter(lexicon=load_lexicon("gender"), names="drop")


def test_a_person_is_turned_in_all_places():
    ethnicity = BiaserRewriter(lexicon=load_lexicon("ethnicity"))
    text = "The man is a German. It is the German who wrote the note, and this German prefers beer."
    copies = {copy.biaser: copy.text for copy in ethnicity.copies([text], mentions="first")[0]}
    assert all("German" not in copy for copy in copies.values())
    assert copies["swedish"] == text.replace("German", "Swede")
    assert copies["chinese"] == text.replace("German", "Chinese person")


@pytest.mark.parametrize(
    ("text", "pos", "people", "expected"),
    [
        ("a *German/JJ says/VBZ", "adjective", ("person", "people"), "person"),
        ("a *German/JJ says/VBZ", "adjective", ("people",), ""),
        ("a *German/JJ says/VBZ", "noun", ("person", "people"), ""),
        ("a *German/JJ beer/NN", "adjective", ("person", "people"), ""),
        ("the/DT *Chinese/JJ/nsubj/left left/VBD/ROOT", "adjective", ("person", "people"), "people"),
        ("the/DT *Chinese/JJ/nsubj/left left/VBD/ROOT", "adjective", ("person",), ""),
        ("the/DT *Chinese/JJ/nsubj/left left/VBD/ROOT", "noun", ("person", "people"), ""),
        ("the/DT *Chinese/JJ/amod/men men/NNS/nsubj/left left/VBD/ROOT", "adjective", ("person", "people"), ""),
        ("old/DT *Chinese/JJ/nsubj/left left/VBD/ROOT", "adjective", ("person", "people"), ""),
        ("*Chinese/JJ/nsubj/left left/VBD/ROOT", "adjective", ("person", "people"), ""),
    ],
)
def test_an_adjective_for_people_is_replaced_by_a_noun(text, pos, people, expected):
    word = token(text)
    mention = Mention(0, 1, word.text, Sense("x", SimpleNamespace(pos=pos)), word, False)
    made = BiaserRewriter._as_noun(SimpleNamespace(people={name: name for name in people}), mention, Syntax(word.doc))
    assert (made.sense.entry if made is not mention else "") == expected


@pytest.mark.parametrize(
    ("text", "label", "listed", "expected"),
    [
        ("the/DT *Soviets/NNPS left/VBD", "NORP", (), [("Soviets", "soviet", "people")]),
        ("a *Soviet/NNP left/VBD", "NORP", (), [("Soviet", "soviet", "person")]),
        ("a *Swiss/NNP left/VBD", "NORP", (), [("Swiss", "swiss", "person")]),
        ("old *Soviet/JJ tanks/NNS", "NORP", (), [("Soviet", "soviet", "")]),
        ("old *Soviet/NN/compound/tanks tanks/NNS/ROOT", "NORP", (), [("Soviet", "soviet", "")]),
        ("a *Soviet/NNP left/VBD", "GPE", (), []),
        ("a *soviet/NNP left/VBD", "NORP", (), []),
        ("a *Soviet/NNP left/VBD", "NORP", (2, 8), []),
    ],
)
def test_an_unlisted_people_has_the_form_of_its_word(rewriter, text, label, listed, expected):
    word = token(text)
    doc = word.doc
    doc.ents = [Span(doc, 0 if doc[0].text == "the" else word.i, word.i + 1, label=label)]
    taken = [SimpleNamespace(start=listed[0], end=listed[1])] if listed else []
    found = list(rewriter._find_unlisted(doc.text, Syntax(doc), taken))
    assert [(doc.text[start:end], name, entry) for start, end, name, entry in found] == [
        (written, name, rewriter.standing[form]) for written, name, form in expected
    ]
