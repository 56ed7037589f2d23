"""Forest plot of a single model: places worked out by hand."""

import pytest

from fairlab.record import Comparison, Reading, Record
from fairlab.reporting.ideal_forest import from_the_ideal
from fairlab.reporting.page import Heading, Whisker

SCORE, LIKE = ("crows_pairs", "all", "metric_score"), ("stsb", "dev", "spearman")


def record_of(folder, *readings, comparisons=()):
    return Record(folder, {}, "", status="finished", readings=list(readings), comparisons=list(comparisons))


def reading(place, value, low, high, ideal, n=100_000, **more):
    return Reading(*place, value, "%", ideal, n, low, high, headline=True, **more)


def rows(section):
    return [row for row in section.blocks[0].rows if not isinstance(row, Heading)]


def test_the_ideal_is_the_centre_and_the_data_are_the_width(tmp_path):
    """Both rows have the unit %: the plot ends 1.1 times 30 from the ideal, at the farther end of the farthest row."""
    far, near = (
        reading(SCORE, 75.0, 70.0, 80.0, 50.0),
        reading(("winobias", "all", "preferred"), 52.0, 51.0, 53.0, 50.0),
    )
    (row, second) = rows(from_the_ideal(record_of(tmp_path, far, near)))
    found = row[2].forest
    assert isinstance(found, Whisker)
    expected = [0.5 + away / 66 for away in (20, 25, 30)]
    assert (found.low, found.centre, found.high) == pytest.approx(expected, abs=1e-3)
    assert second[2].forest.centre == pytest.approx(0.5 + 2 / 66, abs=1e-3)
    assert row[3] == "off beyond chance"


def test_utility_lies_below_its_ideal_and_few_items_have_no_line(tmp_path):
    two = record_of(tmp_path, reading(LIKE, 80.0, 79.0, 81.0, 100.0), reading(SCORE, 75.0, 60.0, 90.0, 50.0, n=8))
    few, useful = rows(from_the_ideal(two))
    assert few[1].small == "too few items"
    assert few[2] == ""
    assert few[3] == "too few items"
    assert useful[2].forest.high < 0.5


def test_compared_models_have_the_plot_of_changes(tmp_path):
    change = Comparison(*SCORE, 1.0, "%", 0.5, 1.5, 0.01, 90, headline=True, phase="change")
    assert from_the_ideal(record_of(tmp_path, reading(SCORE, 75.0, 70.0, 80.0, 50.0), comparisons=[change])) is None
    assert from_the_ideal(record_of(tmp_path)) is None
