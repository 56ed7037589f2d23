"""Errors that were found when rewrites of natural texts were read, each with the right result."""

import pytest

pytest.importorskip("spacy")
from fairlab.lexicons import load_lexicon
from fairlab.rewriting.english.rules import RuleRewriter
from fairlab.rewriting.perturbable_words import PerturbableWords


@pytest.mark.parametrize(
    ("axis", "target", "text", "wanted"),
    [
        ("race", "asian", "He wore a white silk muffler and black whiskers.", None),
        ("race", "asian", "A curly black head leaned out of the window.", None),
        ("race", "asian", "His face was as black as a tinker's.", None),
        ("race", "asian", "A black man wore a white band.", "An Asian man wore a white band."),
        ("race", "asian", "The allergy is mediated by IgE and by mast cells.", None),
        ("age", "senior", "Some children aged 5-12 sang.", "Some seniors aged 5-12 sang."),
        ("age", "senior", "The girl, aged 12, sang.", "The old woman, aged 65, sang."),
        ("age", "senior", "She is one of 10 children.", None),
        ("age", "senior", "One of the children sang.", "One of the seniors sang."),
        ("gender", "woman", "He is the best man for a wedding.", "She is the best man for a wedding."),
        ("religion", "jewish", "A Muslim wept.", "A Jew wept."),
        ("religion", "jewish", "Christian Neefe met a Christian.", "Christian Neefe met a Jew."),
        ("disability", "deaf", "Economic paralysis grips many countries.", None),
        ("disability", "deaf", "The judges are blind to her faults.", None),
        ("disability", "deaf", "The blind man sang.", "The deaf man sang."),
        ("nationality", "swedish", "Some African Americans met two Germans.", "Some African Americans met two Swedes."),
    ],
)
def test_things_idioms_and_parts_of_people_are_left(axis, target, text, wanted):
    assert RuleRewriter(load_lexicon(axis))(text, target) == (wanted or text)


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("The priest of the Methodist village sang.", []),
        ("He was a Buddhist priest for ten years.", ["Buddhist"]),
        ("My Christian neighbour sang all day.", ["Christian"]),
        ("A Christian neighbour and her friend walk to the old church.", []),
        ("Two Christians met three Muslims.", ["Christians", "Muslims"]),
        ("The church was built by a Christian architect. It is old.", []),
    ],
)
def test_a_word_is_drawn_only_if_its_person_keeps_no_other_sign_of_a_faith(text, wanted):
    (found,) = PerturbableWords([load_lexicon("religion")]).selections([text])
    assert sorted({one.word for one in found}) == wanted


@pytest.mark.parametrize(
    ("axis", "target", "text", "wanted"),
    [
        ("race", "white", "Two Inuit left.", "Two whites left."),
        ("race", "white", "An Inuit left.", "A white person left."),
        ("race", "white", "The Maori are proud.", "The whites are proud."),
        ("race", "neutral", "Both Cherokee agreed.", "Both people agreed."),
        ("nationality", "danish", "She met two Chinese.", "She met two Danes."),
        ("nationality", "danish", "Two Chinese soldiers left.", "Two Danish soldiers left."),
        ("nationality", "danish", "The Swiss are rich.", "The Danes are rich."),
        ("race", "black", "Some Asian student sang.", "Some Black student sang."),
        ("race", "black", "The white coach is all white.", "The Black coach is all Black."),
        (
            "gender",
            "man",
            "Nowhere in the will does the old woman mention the lighthouse, which she had won at cards in 1962.",
            "Nowhere in the will does the old man mention the lighthouse, which he had won at cards in 1962.",
        ),
    ],
)
def test_several_people_named_by_a_word_without_a_plural(axis, target, text, wanted):
    assert RuleRewriter(load_lexicon(axis))(text, target) == wanted
