import ast
import unicodedata
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import fairlab
from fairlab.checks.escapes import csv_cell, csv_text, print_escaped, printable


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


def test_nothing_but_this_module_prints():
    """Labels and texts of any file can be in what is printed, so that one function writes all of it."""
    package = Path(fairlab.__file__).parent
    found = [
        f"{file.relative_to(package)}:{node.lineno}"
        for file in package.rglob("*.py")
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call)
        and getattr(node.func, "attr", getattr(node.func, "id", "")) in ("print", "write")  # writing all out takes long
        and ast.unparse(node.func) in ("print", "sys.stdout.write", "sys.stderr.write")
    ]
    assert [place.partition(":")[0] for place in found] == ["checks/escapes.py"], found


def test_control_characters_are_written_out(capsys):
    print_escaped("a\x1b[2Jb\nc", "\x9b1m", error=True)
    print_escaped(5)
    assert capsys.readouterr() == ("5\n", "a\\x1b[2Jb\nc\n\\x9b1m\n")
