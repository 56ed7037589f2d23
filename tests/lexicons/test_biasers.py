"""Sets of biasers as lexicons."""

import pytest

from fairlab.lexicons import load_lexicon
from fairlab.types import FairlabError


def write(tmp_path, text):
    path = tmp_path / "set.yaml"
    path.write_text(text, encoding="utf-8")
    return str(path)


def test_the_built_in_ethnicities_are_twenty_with_three_forms_each():
    lexicon = load_lexicon("ethnicity")
    assert len(lexicon.attributes) == 20
    assert {"american", "swedish", "indian", "nigerian", "african-american"} <= set(lexicon.attributes)
    assert [entry.forms[0] for entry in lexicon.entries] == ["", "person", "people"]
    assert lexicon.counterparts("swedish", "chinese") == {
        "swedish": "Chinese",
        "swede": "Chinese person",
        "swedes": "Chinese people",
    }


def test_forms_are_given_or_made(tmp_path):
    lexicon = load_lexicon(write(tmp_path, "axis: origin\nbiasers: [Iraqi, Swiss, [Danish, Dane, Danes]]\n"))
    assert lexicon.axis == "origin"
    assert lexicon.attributes == ("iraqi", "swiss", "danish")
    assert [entry.forms[1:] for entry in lexicon.entries] == [
        ("Iraqi", "Swiss", "Danish"),
        ("Iraqi", "Swiss person", "Dane"),
        ("Iraqis", "Swiss people", "Danes"),
    ]


def test_sexuality_is_orientation():
    assert load_lexicon("sexuality") == load_lexicon("orientation")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("axis: x\nbiasers: []\n", "is not a set of biasers; it needs the keys axis and biasers"),
        ("biasers: [Danish]\n", "is not a set of biasers"),
        ("axis: x\nbiasers: [[Danish, Dane]]\n", "is neither an adjective nor a list of adjective, person, people"),
        ("axis: x\nbiasers: [1]\n", "the biaser 1 is neither"),
        ("axis: x\nbiasers: [Danish, danish]\n", "lists the biaser 'danish' twice"),
        ("axis: x\nbiasers: [[A, B, C], [D, B, E]]\n", "contradicts itself: 'B' marks both a and d"),
    ],
)
def test_unsound_sets(tmp_path, text, message):
    with pytest.raises(FairlabError, match=message):
        load_lexicon(write(tmp_path, text))
