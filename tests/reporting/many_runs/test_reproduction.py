"""Published tables beside measured ones: verdicts by hand, nothing averaged over what is missing."""

import dataclasses
from pathlib import Path

import pytest
import yaml

from fairlab.record import Comparison, NotRun, Reading, Record
from fairlab.reporting.many_runs import reproduction
from fairlab.reporting.many_runs.reproduction import (
    Matrix,
    TableRow,
    cells,
    footnotes,
    read_matrix,
    read_table,
    shown_cell,
    table_lines,
)
from fairlab.reproduce import finished_records
from fairlab.types import FairlabError

COLUMN = "seat/6/effect_size"
PRINTED = {
    "title": "debiasing",
    "where": "table 2",
    "setting": "BERT",
    "columns": [COLUMN, "wnli/dev/accuracy"],
    "rows": {"base": [0.37, 56.3], "CCD": [0.16, 50.7], "CCD-GPT": [0.35, 56.3]},
    "recomputed": {"CCD": {COLUMN: 0.2}},
}
ROWS = {"base": {"run": "ccd", "phase": "before"}, "CCD": "ccd", "CCD-GPT": {"reason": "the data is not public"}}


def table(**of):
    return read_table("2", {"rows": ROWS} | of, PRINTED, {"effect_size": 0.05})


def matrix(scale="paper", seeds=(1, 2)):
    return Matrix("ccd", scale, list(seeds), {"ccd": []}, {}, {})


def record(tmp_path, before, after, p=0.01, half=0.1):
    def reading(phase, value):
        low, high = value - half, value + half
        return Reading("seat", "6", "effect_size", value, "effect size", 0.0, 40, low, high, phase=phase, version=2)

    change = Comparison("seat", "6", "effect_size", after - before, "", -1, 1, p, 40, phase="change")
    not_run = [NotRun("wnli", "dev", "no such file", "after")]
    readings = [reading("before", before), reading("after", after)]
    return Record(tmp_path, {}, "", readings=readings, comparisons=[change], not_run=not_run)


@pytest.mark.parametrize(
    ("values", "verdict"),
    [((0.37, 0.41), "match"), ((0.44, 0.50), "within noise"), ((0.60, 0.62), "differs"), ((0.33, 0.31), "match")],
)
def test_verdicts_at_the_published_scale(tmp_path, values, verdict):
    records = {"ccd": {seed: record(tmp_path, value, 0.2) for seed, value in zip((1, 2), values, strict=True)}}
    cell = cells(table(), matrix(), records)[0][0]
    assert cell.verdict == verdict
    assert cell.value == pytest.approx(sum(values) / 2)
    assert (cell.low, cell.high) == (pytest.approx(min(values) - 0.1), pytest.approx(max(values) + 0.1))


def test_a_recomputed_number_is_the_one_compared(tmp_path):
    records = {"ccd": {seed: record(tmp_path, 0.4, 0.21, half=0.02) for seed in (1, 2)}}
    cell = cells(table(), matrix(), records)[1][0]
    assert (cell.published, cell.recomputed, cell.verdict) == (0.16, 0.2, "match")
    assert shown_cell(cell) == "0.21 [0.19, 0.23]*; printed 0.16, recomputed 0.2: match"  # two seeds of one computation


def test_numbers_of_another_scale_are_shown_but_not_compared(tmp_path):
    records = {"ccd": {seed: record(tmp_path, 0.37, 0.2) for seed in (1, 2)}}
    cell = cells(table(), matrix("quickstart", seeds=(1,)), records)[0][0]
    assert cell.verdict == "another scale"
    assert cell.deviation is None
    assert shown_cell(cell) == "0.37 [0.27, 0.47]; printed 0.37"


def test_the_standard_deviation_is_over_seeds(tmp_path):
    records = {"ccd": {seed: record(tmp_path, value, 0.2) for seed, value in ((1, 0.3), (2, 0.4), (3, 0.8))}}
    cell = cells(table(), matrix(seeds=(1, 2, 3)), records)[0][0]
    assert cell.value == pytest.approx(0.5)
    assert cell.deviation == pytest.approx(((0.2**2 + 0.1**2 + 0.3**2) / 2) ** 0.5)
    assert shown_cell(cell) == "0.5 ± 0.26 [0.2, 0.9]; printed 0.37: within noise"


def test_a_missing_seed_leaves_the_cell_without_a_value(tmp_path):
    rows = cells(table(), matrix(), {"ccd": {1: record(tmp_path, 0.37, 0.2)}})
    assert (rows[0][0].verdict, rows[0][0].value, rows[0][0].reason) == ("not run", None, "seed 2 of ccd")


def test_what_was_not_measured_says_why(tmp_path):
    records = {"ccd": {seed: record(tmp_path, 0.37, 0.2) for seed in (1, 2)}}
    rows = cells(table(), matrix(), records)
    assert rows[1][1].reason == "no such file"
    assert (rows[2][0].verdict, rows[2][0].reason) == ("not reproducible", "the data is not public")
    assert footnotes(table(), rows) == [
        "base: not run: no such file",
        "CCD: not run: no such file",
        "CCD-GPT: not reproducible: the data is not public",
    ]


def test_a_measure_that_only_one_phase_has_says_so(tmp_path):
    records = {"ccd": {seed: record(tmp_path, 0.37, 0.2) for seed in (1, 2)}}
    kept = f"{COLUMN.rpartition('/')[0]}/distance_kept"
    rows = cells(table(columns=[kept]), matrix(), records)
    assert rows[0][0].reason.startswith(f"{kept.rpartition('/')[0]} has no distance_kept before training")


def test_a_quantity_that_compares_runs_says_so_while_one_is_missing(tmp_path):
    records = {"ccd": {seed: record(tmp_path, 0.37, 0.2) for seed in (1, 2)}}
    (cell, *_), *_ = cells(table(columns={COLUMN: "seat/6/normalised"}), matrix(), records)
    assert cell.reason.startswith("seat/6 has no normalised")
    assert cell.reason.endswith("comparing models or runs needs all of them")


def test_a_row_of_a_model_that_was_measured_alone_has_no_phase(tmp_path):
    alone = Reading("seat", "6", "effect_size", 0.3, "effect size", 0.0, 10, 0.2, 0.4, version=2)
    records = {"ccd": {seed: Record(tmp_path, {}, "", readings=[alone]) for seed in (1, 2)}}
    (row,) = cells(dataclasses.replace(table(), rows=[TableRow("base", "ccd", phase="")]), matrix(), records)
    assert row[0].value == pytest.approx(0.3)


@pytest.mark.parametrize(("p_values", "moved"), [((0.01, 0.04), True), ((0.01, 0.06), False)])
def test_a_change_is_marked_only_where_every_seed_moved(tmp_path, p_values, moved):
    records = {"ccd": {seed: record(tmp_path, 0.4, 0.2, p=p) for seed, p in zip((1, 2), p_values, strict=True)}}
    rows = cells(table(), matrix(), records)
    assert rows[1][0].moved == moved
    assert not rows[0][0].moved


def test_columns_can_be_translated(tmp_path):
    translated = table(columns={"wnli/dev/accuracy": COLUMN})
    assert translated.columns == [COLUMN]
    assert translated.published["CCD"] == {COLUMN: 50.7}


def test_every_column_may_have_a_run_of_its_own(tmp_path):
    both = dataclasses.replace(table(), rows=[TableRow("CCD", runs={COLUMN: "ccd"})])
    records = {"ccd": {seed: record(tmp_path, 0.37, 0.2) for seed in (1, 2)}}
    (row,) = cells(both, matrix(), records)
    assert row[0].value == pytest.approx(0.2)
    assert [cell.reason for cell in row[1:]] == [f"no run measures {column}" for column in both.columns[1:]]


def test_a_table_has_methods_in_columns(tmp_path):
    records = {"ccd": {seed: record(tmp_path, 0.37, 0.2) for seed in (1, 2)}}
    rows = cells(table(), matrix(), records)
    header, lines = table_lines(table(), rows)
    assert header == ["", "base", "CCD", "CCD-GPT"]
    assert {len(line) for line in lines} == {4}


def test_published_tables_are_whole():
    for file in reproduction.PUBLISHED.glob("*.yaml"):
        for name, printed in yaml.safe_load(file.read_text(encoding="utf-8")).items():
            assert {"title", "where", "setting", "columns", "rows"} <= set(printed), name
            assert all(len(values) == len(printed["columns"]) for values in printed["rows"].values()), name
            for row, by_column in printed.get("recomputed", {}).items():
                assert set(by_column) <= set(printed["columns"])
                assert row in printed["rows"]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda content: content["tables"]["2"]["rows"].update(CCD="cdd"), "table 2 names the run 'cdd'"),
        (lambda content: content["tables"]["2"].update(published="table_9"), "names the published table 'table_9'"),
    ],
)
def test_a_matrix_that_names_what_there_is_not(tmp_path, change, message):
    content = {
        "published": "ccd",
        "seeds": [1],
        "options": {},
        "runs": {"ccd": {"paper": []}},
        "tables": {"2": {"published": "table_2", "rows": {"CCD": "ccd"}}},
    }
    change(content)
    file = tmp_path / "mine" / "matrix.yaml"
    file.parent.mkdir()
    file.write_text(yaml.safe_dump(content))
    with pytest.raises(FairlabError, match=message):
        read_matrix(file, "paper")
    with pytest.raises(FairlabError, match="papers with a matrix: mine"):
        read_matrix(tmp_path / "other" / "matrix.yaml", "paper")


EXPERIMENTS = Path(__file__).parents[3] / "experiments"


@pytest.mark.parametrize("file", sorted(EXPERIMENTS.glob("*/matrix.yaml")), ids=lambda file: file.parent.name)
def test_every_matrix_reads_at_every_scale_and_every_run_is_of_a_table(file):
    scales = [read_matrix(file, scale) for scale in ("quickstart", "paper")]
    tables = [table for found in scales for table in found.tables.values()]
    used = {row.of(column) for table in tables for row in table.rows for column in table.columns}
    for found in scales:
        assert set(found.runs) | set(found.unavailable) == used - {""}


def test_a_record_that_cannot_be_read_stops_no_other(tmp_path, capsys):
    matrix = Matrix("p", "quickstart", [1, 2], {"one": []}, {}, {})
    for seed in (1, 2):
        (tmp_path / "one" / f"seed_{seed}").mkdir(parents=True)
        Record(tmp_path / "one" / f"seed_{seed}", {}, "", status="finished").save()
    (tmp_path / "one" / "seed_1" / "record.json").write_text("[]")
    assert list(finished_records(tmp_path, matrix)["one"]) == [2]
    assert "fairlab: left out: " in capsys.readouterr().err


def test_a_reading_of_another_version_is_marked_and_has_no_star(tmp_path):
    moved = record(tmp_path, 0.3, 0.2)
    cell = cells(table(), matrix(seeds=(1,)), {"ccd": {1: moved}})[1][0]
    assert cell.moved
    assert cell.marks == ()
    moved.readings = [dataclasses.replace(one, version=1) for one in moved.readings]
    cell = cells(table(), matrix(seeds=(1,)), {"ccd": {1: moved}})[1][0]
    assert not cell.moved
    assert cell.marks == ("version 1 of its definition, now 2",)
