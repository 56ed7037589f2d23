"""Names that a person gives to runs (``name=``), on every page and in every table."""

import json

import pytest

from fairlab.record import Record
from fairlab.reporting.exports.measured_model import MeasuredModel
from fairlab.reporting.many_runs.sweep import write_sweep
from fairlab.reporting.paper_table import paper_table
from fairlab.reporting.report import name_of
from fairlab.reporting.tables.comparing import only_side
from fairlab.reporting.tables.grouping import choices_of, headlines
from fairlab.reporting.tables.method_table import method_table
from fairlab.reporting.tables.runs import read_runs
from fairlab.reporting.view.browsing import browse, view_page
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
    assert list(method_table(records).cells) == list(NAMES)
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
    assert list(method_table(read_runs(folder)).cells) == ["method.beta=0", "method.beta=1"]
