"""The parts that pages are made of: what is a number, what is escaped, what is drawn where."""

import math
import re

import pytest

from fairlab.reporting.charts import Marks, Panel, drawn, ticks
from fairlab.reporting.page import Change, Heading, PageCell, PageTable, Section, Text, Whisker, is_number, page

EVIL = "</title><script>x</script>"


@pytest.mark.parametrize(
    "text", ["1", "-0.5", "+3 %", "▲ -0.0586", "2.1e-05", "1,440 (15 %)", "0.45*", "—", "", "1 [0, 2]"]
)
def test_numbers(text):
    assert is_number(text)


@pytest.mark.parametrize("text", ["seat", "3 of its documents take no part", "lambda 0.5", "2 pairs were cut"])
def test_words(text):
    assert not is_number(text)


def test_every_block_is_escaped():
    table = PageTable(
        [EVIL, PageCell(EVIL, hover=EVIL)],
        [Heading(EVIL), [PageCell(EVIL, EVIL, EVIL, "better"), PageCell(EVIL, folded=EVIL)]],
        caption=EVIL,
    )
    blocks = [Text(EVIL), table, Change(EVIL, EVIL, [(EVIL, [(EVIL, ""), ("", EVIL), (EVIL, EVIL)])])]
    made = page(EVIL, EVIL, blocks, [Section(EVIL, blocks), None])
    assert "<script>" not in made
    assert made.count("&lt;script&gt;x&lt;/script&gt;") == 4 + 2 * 17
    assert "default-src 'none'" in made  # no script could run


def test_what_changed_is_marked_in_line():
    made = page("t", "t", [Change("line 1", "She saw", [("neutral", [("She", "They"), (" saw", " saw")])])], [])
    assert "<b>neutral</b> <del>She</del><ins>They</ins> saw</p>" in made


def test_numbers_stand_to_the_right_and_a_forest_lies_where_its_numbers_say():
    forest = PageCell("", forest=Whisker(0.1, 0.2, 0.5), tone="better", hover="half")
    made = page("t", "t", [PageTable(["name", "value", PageCell("", forest="scale")], [["a", "1.5", forest]])], [])
    assert '<td>a</td><td class="number">1.5</td>' in made
    assert '<span class="better"><i style="left:10.0%;width:40.0%"></i><b style="left:20.0%"></b>' in made


def test_a_drawing_holds_its_points_at_their_places_and_escapes_its_texts():
    marks = Marks("m", [0.0, 10.0], [0.0, 1.0], "dots", texts=[EVIL, "second"])
    svg = drawn(Panel(EVIL, [marks], EVIL, EVIL, x_held=[0.0], y_held=[0.0]))
    places = [tuple(map(float, found)) for found in re.findall(r'cx="([\d.]+)" cy="([\d.]+)"', svg)]
    (left, bottom), (right, top) = places
    assert bottom == 258  # 0 on the axis: of 300, 42 are below
    assert left < right < 466
    assert 8 < top < bottom
    assert "<script>" not in svg
    assert "<title>second</title>" in svg


def test_a_single_value_has_room_around_it():
    assert "<circle" in drawn(Panel("", [Marks("", [3.0], [0.0], "dots")]))
    assert ticks(-1, 1) == [-1.0, -0.5, 0.0, 0.5, 1.0]


def test_points_without_an_interval_have_none_drawn():
    svg = drawn(Panel("", [Marks("", [1.0, 2.0], [0.0, 1.0], low=[math.nan, 0.5], high=[math.nan, 1.5])]))
    assert svg.count('class="band k0"') == 1
    assert "nan" not in svg


def test_dots_have_their_labels_beside_them():
    svg = drawn(Panel("", [Marks("", [1.0, 2.0], [0.0, 1.0], "dots", labels=["1", "2"])]))
    assert svg.count("<circle") == 2
    assert ">1</text>" in svg
    assert ">2</text>" in svg
