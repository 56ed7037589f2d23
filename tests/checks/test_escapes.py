import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairlab.checks.escapes import csv_cell, csv_text, printable


@given(st.text() | st.text(alphabet="'=+-@ \t\r\na1"))
def test_a_cell_reads_back_and_is_no_formula(text):
    assert csv_text(csv_cell(text)) == text
    first = unicodedata.normalize("NFKC", csv_cell(text).lstrip(" ")[:1])
    assert first[:1] not in ("=", "+", "-", "@", "\t", "\r", "\n") or not first


@pytest.mark.parametrize(
    "text", ["=cmd|'/c calc'!A1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1", " =1", "\uff1d1+1", "\uff0b1", "\uff20x"]
)
def test_formulas_get_a_quote(text):
    assert csv_cell(text) == f"'{text}"


@given(st.text())
def test_no_control_character_is_printed(text):
    shown = printable(text)
    assert not [sign for sign in shown if unicodedata.category(sign) in ("Cc", "Cs") and sign not in "\n\t"]
    assert printable(shown) == shown
    shown.encode("utf-8")


@pytest.mark.parametrize(
    "text", ["\x1b]52;c;Y3VybA==\x07", "\x9b2J", "\x1b[2J", "a\rb", "\u202eevil", "\x7f", "\u2028"]
)
def test_what_a_terminal_would_act_on_is_written_out(text):
    assert "\\" in printable(text)


@pytest.mark.parametrize("text", ["plain", "über", "日本語", "👩‍🦰", "a\nb\tc"])
def test_other_texts_stay(text):
    assert printable(text) == text
