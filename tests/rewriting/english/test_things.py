"""Names of places and colours of things among words for people, in parsed sentences."""

from types import SimpleNamespace

import pytest
from spacy.tokens import Span

from fairlab.rewriting.english import things
from fairlab.rewriting.english.given_names import Neighbours
from tests.rewriting.english.trees import token

# Parses in which a function is true of the word with a star, and parses in which it is not.
TREES = [
    (
        things.is_in_title,
        [
            "We saw School for *Girls",
            "We saw The *King and I",
            "saw/VBD/ROOT The *King and the Frog",
            "We saw The Brave *King",
            "We saw A *Lady",
            "We saw The *Lady",
            "We saw The *K",
            "The *King and I",
            "*Girl/NN is/VBZ/ROOT written/VBN",
            "*Girl/NNP was/VBD/ROOT written/VBN",
        ],
        [
            "we saw the *king",
            "We saw The *KING",
            "The *King left",
            "We saw Brave *King",
            "We saw The 2 *Kings",
            "Local *Girls Meet Famous Boys",
            "*Girl/NN is/VBZ/ROOT singing/VBG",
            "*Girls/NNS is/VBZ/ROOT written/VBN",
            "*Girl/NN has/VBZ/ROOT written/VBN",
            "*Mother/NN is/VBZ/ROOT written/VBN",
            "*Girl/NN is/VBZ/ROOT",
        ],
    ),
    (
        things.is_named_with_capital,
        ["the series *Monk left", "in the *Monk left"],
        [
            "*Monk left",
            "in the *monk left",
            "in the *MONK left",
            "in the *Mother left",
            "the dear *Parent left",
            "in the , *Monk left",
            "The *Monk left",
            "Local Series *Monk Found Today",
        ],
    ),
    (
        things._has_capital_after_and,
        ["*King and I", "*King and I left", "*King and the Frog"],
        ["*King and i", "*King and the frog", "*King or I", "*King and", "*King and the"],
    ),
    (
        things._is_headline,
        ["*Local Girl Meets", "*Local Girl Meets the Hero"],
        ["*Local Girl meets Hero", "*Local Girl", "*Local Girl Met Her 2 2"],
    ),
    (
        things._is_acronym,
        ["the *MAC left", "I *MAC left", "the *HOPE left", "the *ABCD left"],
        [
            "the *Mac left",
            "the *MA left",
            "the *MARY left",
            "the *ABCDE left",
            "the *MAC IBM left",
            "the IBM *MAC left",
            "IBM *MAC left",
        ],
    ),
    (
        things._has_by_name,
        ["*Catherine the Great", "*Catherine the Great ruled"],
        ["*Catherine the great", "*Catherine of Great", "*Catherine the"],
    ),
    (
        things._is_one_of_title,
        ["*Harry Potter and the Deathly", "*Harry and the Deathly Hallows", "*Harry & The Deathly"],
        [
            "*Harry or the Deathly",
            "*Harry and a Deathly",
            "*Harry Potter",
            "*Harry and the deathly",
            "*Harry and the",
            "*Harry left and the",
        ],
    ),
    (
        things.has_article,
        ["the/DT/det/Bunte *Bunte/NNP", "the/DT/det/Jets *Jets/NNPS"],
        ["the/DT/det/bunte *bunte/NN", "the/DT/det/Queen *Queen/NNP", "dear/JJ/amod/Bunte *Bunte/NNP"],
    ),
    (things.is_date, ["*April left"], ["*Mary left"]),
    (
        things.is_told_a_thing,
        [
            "*Fred/NNP/compound/Meyer Meyer/NNP/nsubj/is is/VBZ/ROOT a chain/NN/attr/is",
            "*Fred/NNP/nmod/Meyer Meyer/NNP/nsubj/'s 's/VBZ/ROOT a chain/NN/attr/'s",
        ],
        [
            "*Fred/NNP/compound/Meyer Meyer/NNP/nsubj/is is/VBZ/ROOT a nurse/NN/attr/is",
            "*Fred/NNP/nsubj/has has/VBZ/ROOT a chain/NN/attr/has",
            "*Fred/NNP/compound/Fred is/VBZ a chain/NN/attr/is",
            "*Fred/NNP/nsubj/is is/VBZ/ROOT a chain/NN/dobj/is",
            "*Fred/NNP/advmod/is is/VBZ/ROOT a chain/NN/attr/is",
            "Meyer/NNP/nsubj/is *Fred/NNP/compound/Meyer is/VBZ/ROOT a chain/NN/attr/is",
        ],
    ),
    (
        things._is_before_first_name,
        ["*Patrick , Pierre/NNP ;", "*Patrick , Pierre/NNP ; it"],
        ["*Patrick , Pierre/NNP .", "*Patrick , pierre/NN ;", "*Patrick and Pierre/NNP ;", "*Patrick , Pierre/NNP"],
    ),
    (
        things.is_ruler_of,
        ["*Duke of Brunswick", "*Duke of Brunswick left", "*King of the Hill"],
        ["*duke of Brunswick", "*Duke of brunswick", "*Duke in Brunswick", "*Duke of", "*King of the"],
    ),
    (
        things._has_place_at_end,
        [
            "*John F . Kennedy Memorial Library opened",
            "*John & Ann Library opened",
            "*John A A A A A Library",
            "*John Hall is in Oxford",
            "*John F Hall is in Oxford",
            "*John Hall lies near it",
        ],
        [
            "*John Library opened",
            "*John A A A A A A Library",
            "*John went to Central Library",
            "*John Hall is tired",
            "*John Hall has in",
            "*John Hall is",
            "*John Kennedy is in Oxford",
        ],
    ),
    (
        things.owns_capitalised,
        ["*Mr . Holland/NNP 's Opus", "*Mr . Holland/NNP 's Opus won", "*Mr Holland/NNP ’s Opus"],
        [
            "*Mr . Holland/NNP 's opus",
            "*Mr Holland/NNP is Opus",
            "*Mr Holland/NNP",
            "*Mr Holland/NNP 's",
            "*Mr holland/NN 's Opus",
        ],
    ),
    (
        things._follows_name_and_of,
        ["We saw Robin of *Sherwood", "saw Robin of *Sherwood", "We saw Robin Of *Sherwood"],
        [
            "Robin of *Sherwood",
            "We saw robin of *Sherwood",
            "We saw King of *Swing",
            "We saw Robin in *Sherwood",
            "of *Sherwood",
        ],
    ),
    (
        things._is_of_players,
        ["the *team/NN", "the yellow/JJ/amod/players and black *players"],
        ["the *players/NNS", "a yellow/JJ/amod/car car/NN and *players"],
    ),
]


@pytest.mark.parametrize(("function", "true", "false"), TREES, ids=[function.__name__ for function, *_ in TREES])
def test_rules_by_hand(function, true, false):
    assert [text for text in (*true, *false) if function(token(text))] == true


def entity(*, end=0, label=""):
    """A parse in which every word is in an entity."""
    return SimpleNamespace(entity=lambda _: SimpleNamespace(end=end, label_=label))


@pytest.mark.parametrize(
    ("text", "end", "expected"),
    [
        ("*Murphy 's law", 0, True),
        ("*Levi ’s Stadium", 0, True),
        ("*Levi 's stadium", 9, False),
        ("*Levi is law", 9, False),
        ("*Levi 's", 9, False),
        ("*Levi 's Opus", 3, True),
        ("*Levi 's Opus", 2, False),
    ],
)
def test_a_name_may_own_a_thing(text, end, expected):
    assert things._owns_a_thing(token(text), entity(end=end)) is expected


@pytest.mark.parametrize(
    ("text", "label", "expected"),
    [
        ("in *Florence", "GPE", True),
        ("in *Florence", "PERSON", False),
        ("saw *Florence", "GPE", False),
        ("*Florence , Italy", "GPE", True),
        ("*Florence , Italy .", "GPE", True),
        ("*Florence , Italy", "FAC", False),
        ("*Florence , italy", "GPE", False),
        ("*Florence ; Italy", "GPE", False),
        ("*Florence ,", "GPE", False),
    ],
)
def test_a_single_name_may_be_a_place(text, label, expected):
    assert things._is_place(token(text), entity(label=label)) is expected
    without = SimpleNamespace(entity=lambda _: None)
    assert not things._is_place(token(text), without)
    assert not things._owns_a_thing(token("*Levi 's Opus"), without)


@pytest.mark.parametrize(
    ("text", "precedes_name", "expected"),
    [("in *Florence", False, True), ("in *Florence", True, False), ("*Catherine the Great", True, True)],
)
def test_a_place_has_no_surname(text, precedes_name, expected):
    beside = Neighbours("", "", "Lee" if precedes_name else "", " ")
    assert things.is_in_name_of_thing(beside, token(text), entity(label="GPE")) is expected


@pytest.mark.parametrize(
    ("text", "label", "start", "expected"),
    [
        ("we saw *china in Rome", "", 0, True),
        ("We saw *china in rome", "", 0, False),
        ("in Bank/NNP of *Italy/NNP", "", 0, True),
        ("Bank/NNP of *Italy/NNP", "", 0, True),
        ("in bank/NN of *Italy/NNP", "", 0, False),
        ("in Bank/NNP at *Italy/NNP", "", 0, False),
        ("the/DT *Italian/JJ Club/NNP", "ORG", 1, True),
        ("the/DT *Italian/JJ Club/NNP", "PERSON", 1, False),
        ("the/DT *Italian/JJ club/NN", "ORG", 1, False),
        ("the/DT *Italians/NNPS 's/POS", "ORG", 0, False),
    ],
)
def test_a_word_may_be_part_of_a_longer_name(text, label, start, expected):
    word = token(text)
    span = Span(word.doc, start, len(word.doc), label=label) if label else None
    syntax = SimpleNamespace(entity=lambda _: span)
    assert things.is_in_longer_name(word.text, word, syntax) is expected


@pytest.mark.parametrize(
    ("text", "head", "after", "expected"),
    [
        ("as *white as snow", None, "as", True),
        ("is *white as snow", None, "as", False),
        ("a *white marble hall", None, "marble", True),
        ("it is *white .", None, ".", False),
        ("*black/JJ/amod/cars and red/JJ/conj/black cars/NNS/ROOT", None, "and", True),
        ("red/JJ/amod/cars and *black/JJ/conj/red cars/NNS/ROOT", None, "cars", True),
        ("*black/JJ/amod/cars and red/JJ/amod/black cars/NNS/ROOT", None, "and", False),
        ("her *black head", "head", "head", True),
        ("her *black team", "team", "team", True),
        ("her *black nurse", "nurse", "nurse", False),
    ],
)
def test_a_colour_may_be_that_of_a_thing(text, head, after, expected):
    colour = token(text)
    noun = next((one for one in colour.doc if one.text == head), None)
    assert bool(things.is_colour_of_thing(colour, noun, after)) is expected
