"""Names that a person gives to runs (``name=``), on every page and in every table."""

import json
from dataclasses import replace

import pytest

from fairlab.api.several import Runs
from fairlab.record import Record
from fairlab.reporting.citing import bibtex, methods_paragraph
from fairlab.reporting.exports.measured_model import MeasuredModel
from fairlab.reporting.many_runs.reproduction import TableRow
from fairlab.reporting.many_runs.study import _row_name
from fairlab.reporting.many_runs.sweep import write_sweep
from fairlab.reporting.paper_table import paper_table
from fairlab.reporting.report import name_of
from fairlab.reporting.tables.comparing import compare_sides, names_of, only_side
from fairlab.reporting.tables.grouping import choices_of, headlines
from fairlab.reporting.tables.runs import read_runs
from fairlab.reporting.view.browsing import browse, view_page
from fairlab.types import FairlabError
from tests.reporting.many_runs.test_sweep import GAP, run

NAMES = ("Ours, small", "Ours, large")


@pytest.fixture
def folder(tmp_path):
    for number, (name, beta) in enumerate(zip(NAMES, (0, 1), strict=True)):
        run(tmp_path / "runs", number, f"method.beta={beta}", 1.0 + number, 80)
        _named(tmp_path / "runs" / str(number), name)
    return tmp_path / "runs"


def _named(folder, name):
    record = Record.load(folder)
    record.config["name"] = name
    record.save()


def test_pages_and_tables_show_the_names_of_runs(folder):
    records = read_runs(folder)
    assert [record.name for record in records] == list(NAMES)
    assert [name_of(record) for record in records] == list(NAMES)
    assert [only_side(record).name for record in records] == [f"{name} (after)" for name in NAMES]
    assert [row.name for row in paper_table(records, baseline=False).rows] == list(NAMES)
    page = write_sweep(folder, records, headlines(records)).read_text(encoding="utf-8")
    assert "method.beta=" not in page
    assert all(page.count(name) > 2 for name in NAMES)
    browser = browse([folder])
    assert browser.names == list(NAMES)
    assert all(name in view_page(browser, served=False) for name in NAMES)
    assert MeasuredModel(records[0], "after", ()).name == NAMES[0]


def test_a_name_is_no_setting(folder):
    """Seeds of one method may have names of their own: they stay one choice, which goes by its settings."""
    run(folder, 2, "method.beta=1", 2.5, 80, seed=2)
    _named(folder / "2", "Ours, second seed")
    found = choices_of(read_runs(folder), [GAP])
    assert [(choice.name, choice.seeds) for choice in found] == [("Ours, small", [1]), ("method.beta=1", [1, 2])]
    _named(folder / "2", NAMES[1])
    assert [choice.name for choice in choices_of(read_runs(folder), [GAP])] == list(NAMES)
    assert browse([folder]).names == [NAMES[0], f"{NAMES[1]} (1)", f"{NAMES[1]} (2)"]


def test_runs_without_a_name_go_by_their_settings(folder):
    for number in (0, 1):
        content = json.loads((folder / str(number) / "record.json").read_text())
        assert content["config"].pop("name")
        (folder / str(number) / "record.json").write_text(json.dumps(content))
    assert [choice.name for choice in choices_of(read_runs(folder), [GAP])] == ["method.beta=0", "method.beta=1"]


def test_two_settings_of_one_name_are_told_apart(folder, tmp_path):
    """A name that two settings have keeps standing, with their settings or the folders of their runs next to it."""
    _named(folder / "1", NAMES[0])
    records = read_runs(folder)
    distinct = [f"{NAMES[0]} (method.beta={beta})" for beta in (0, 1)]
    assert [choice.name for choice in choices_of(records, [GAP])] == distinct
    assert [row.name for row in paper_table(records, baseline=False).rows] == [f"{NAMES[0]} (beta {k})" for k in (0, 1)]
    sides = [only_side(record) for record in records]
    assert names_of(sides) == [f"{NAMES[0]} (after) ({record.folder})" for record in records]
    with pytest.raises(FairlabError, match=rf"\({folder}/0\) and .* \({folder}/1\) cannot be compared"):
        compare_sides(*sides)
    assert str(Runs(records)).splitlines()[1] == f"1  {NAMES[0]} ({folder}/1)  finished"


def test_a_run_of_several_models_names_each(folder):
    record = Record.load(folder / "0")
    for reading in list(record.readings):
        record.readings.append(replace(reading, phase="mended"))
    record.readings = [replace(one, phase="plain") if one.phase == "after" else one for one in record.readings]
    expected = [f"{NAMES[0]} ({label})" for label in ("plain", "mended")]
    assert [row.name for row in paper_table([record], baseline=False).rows] == expected


def test_citations_name_the_runs(folder):
    _named(folder / "0", "Ours_1 @article{x, 50%")
    records = read_runs(folder)
    assert bibtex(records).startswith("% Of: Ours_1 at article{x, 50%, Ours, large\n")
    assert methods_paragraph(records).startswith(r"\textbf{Ours\_1 @article\{x, 50\%}: ")


def test_a_reproduction_shows_the_names_of_its_runs(folder):
    records = read_runs(folder)
    row = TableRow("CCD", run="ccd")
    assert _row_name(row, GAP, {"ccd": {1: records[0]}}).small == NAMES[0]
    assert _row_name(row, GAP, {}).small == ""


def test_small_values_keep_three_digits(folder):
    """Counterfactual variances of 0.0004 are no column of 0.000."""
    records = read_runs(folder)
    for record, value in zip(records, (0.00041, 0.00123), strict=True):
        record.readings = [replace(one, value=value, low=0.0003, high=0.002) for one in record.readings]
    table = paper_table(records, baseline=False, spread="none").to_markdown()
    assert "0.00041 |" in table
    assert "0.00123 |" in table
