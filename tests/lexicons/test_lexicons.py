import pytest

from fairlab.lexicons import Lexicon, load_lexicon
from fairlab.types import NEUTRAL, FairlabError


def test_every_row_has_a_neutral_form_and_one_per_attribute():
    lexicon = load_lexicon("gender")
    assert lexicon.attributes == ("man", "woman")
    assert all(len(row) == 3 and all(cell.strip() for cell in row) for row in lexicon.rows)


def test_no_form_marks_both_attributes_or_is_neutral():
    lexicon = load_lexicon("gender")
    man, woman = lexicon.terms("man"), lexicon.terms("woman")
    neutral = {row[0].casefold() for row in lexicon.rows}
    assert not man & woman
    assert not (man | woman) & neutral


def test_first_row_decides_the_counterpart():
    lexicon = Lexicon("gender", ("man", "woman"), (("their", "his", "her"), ("them", "him", "her")))
    assert lexicon.counterparts("woman", "man") == {"her": "his"}
    assert lexicon.counterparts("man", "woman") == {"his": "her", "him": "her"}
    assert lexicon.counterparts("man", NEUTRAL) == {"his": "their", "him": "them"}


def test_a_form_equal_to_the_neutral_one_marks_nothing():
    lexicon = Lexicon("gender", ("man", "woman"), (("actor", "actor", "actress"),))
    assert lexicon.terms("man") == set()
    assert lexicon.counterparts("woman", "man") == {"actress": "actor"}


def test_an_unknown_axis_names_those_there_are():
    with pytest.raises(FairlabError, match="no lexicon for the axis 'shoe size'; there are lexicons for: gender"):
        load_lexicon("shoe size")
