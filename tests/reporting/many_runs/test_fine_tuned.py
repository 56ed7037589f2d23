"""Runs of a matrix that fine-tune encoders on tasks, and the cells that are read from them."""

import dataclasses

import pytest
import yaml

from fairlab.record import Reading, Record
from fairlab.reporting.many_runs.fine_tuned import task_runs, with_tasks
from fairlab.reporting.many_runs.reproduction import Matrix, cells, read_matrix

MATRIX = {
    "published": "ccd",
    "seeds": [1, 2],
    "options": {"paper": ["benchmark=seat"]},
    "runs": {"ccd": {"paper": ["+experiment=ccd_bert"]}, "gpt": {"paper": "asks a model"}},
    "tasks": {
        "sst2": {"paper": ["task=sst2"]},
        "rte": {"paper": ["task=rte", "backbone=bert_base", "backbone.name=runs/sst2_ENCODER/model"]},
        "wnli": {"paper": "too small"},
    },
    "encoders": {
        "base": {"paper": ["backbone=minilm"]},
        "ccd": {"paper": ["backbone=bert_base", "backbone.name=runs/ENCODER/model"]},
        "gpt": {"paper": "asks a model"},
    },
    "tables": {
        "a": {
            "title": "tasks",
            "columns": {"paper": ["seat/6/p", "sst2/dev/accuracy", "rte/dev/accuracy"], "quickstart": ["seat/6/p"]},
            "rows": {"before": {"run": "ccd", "phase": "before", "encoder": "base"}, "CCD": "ccd", "GPT": "gpt"},
        }
    },
}


def test_every_encoder_on_every_task():
    runs = task_runs(MATRIX, "paper")
    assert runs["sst2_base"] == {"options": False, "paper": ["task=sst2", "backbone=minilm"]}
    assert runs["sst2_ccd"]["paper"] == ["task=sst2", "backbone=bert_base", "backbone.name=runs/ccd/model"]
    assert runs["rte_ccd"]["paper"] == ["task=rte", "backbone=bert_base", "backbone.name=runs/sst2_ccd/model"]
    assert runs["wnli_ccd"]["paper"] == "too small"
    assert runs["wnli_gpt"]["paper"] == "asks a model"
    assert len(runs) == 9


def test_rows_are_read_from_the_runs_of_their_encoder():
    columns = ["seat/6/p", "sst2/dev/accuracy"]
    assert with_tasks("ccd", columns, MATRIX) == {"run": "ccd", "runs": {"sst2/dev/accuracy": "sst2_ccd"}}
    before = with_tasks({"run": "ccd", "phase": "before", "encoder": "base"}, columns, MATRIX)
    assert before == {"run": "ccd", "phase": "before", "runs": {"sst2/dev/accuracy": "sst2_base"}}
    assert with_tasks({"reason": "none"}, columns, MATRIX) == {"reason": "none"}
    assert with_tasks("other", columns, MATRIX) == {"run": "other"}


def test_a_matrix_holds_the_runs_that_its_tables_name_and_no_other(tmp_path):
    file = tmp_path / "mine" / "matrix.yaml"
    file.parent.mkdir()
    file.write_text(yaml.safe_dump(MATRIX, sort_keys=False))
    matrix = read_matrix(file, "paper")
    assert set(matrix.runs) == {"ccd", "sst2_base", "rte_base", "sst2_ccd", "rte_ccd"}
    assert matrix.unavailable == dict.fromkeys(("gpt", "sst2_gpt", "rte_gpt"), "asks a model")
    assert matrix.runs["ccd"] == ["+experiment=ccd_bert", "benchmark=seat"]
    assert matrix.runs["sst2_base"] == ["task=sst2", "backbone=minilm"]  # the options are not of fine-tunings
    assert [row.of("rte/dev/accuracy") for row in matrix.tables["a"].rows] == ["rte_base", "rte_ccd", "rte_gpt"]
    assert read_matrix(file, "quickstart").tables["a"].columns == ["seat/6/p"]


def record(tmp_path, phase, task, value):
    reading = Reading(task, "dev", "accuracy", value, "%", 100.0, 10, value - 4, value + 6, phase=phase)
    return Record(tmp_path, {}, "", readings=[reading])


def test_an_average_is_the_mean_of_the_cells_of_other_runs(tmp_path):
    content = dict(MATRIX)
    content["tables"] = {
        "4": {
            "published": "table_4",
            "columns": {
                "sst2/dev/accuracy": "sst2/dev/accuracy",
                "rte/dev/accuracy": "rte/dev/accuracy",
                "glue/average/accuracy": "glue/average/accuracy",
            },
            "averages": {"glue/average/accuracy": ["sst2/dev/accuracy", "rte/dev/accuracy"]},
            "rows": {"no debiasing": {"run": "ccd", "phase": "before", "encoder": "base"}, "CCD-CDA": "ccd"},
        }
    }
    file = tmp_path / "mine" / "matrix.yaml"
    file.parent.mkdir()
    file.write_text(yaml.safe_dump(content, sort_keys=False))
    matrix = read_matrix(file, "paper")
    values = {"sst2_base": (90, 92), "rte_base": (60, 64), "sst2_ccd": (80, 80)}
    records = {
        run: {seed: record(tmp_path, "after", run.partition("_")[0], of[seed - 1]) for seed in (1, 2)}
        for run, of in values.items()
    }
    table = dataclasses.replace(matrix.tables["4"], tolerance={"accuracy": 5})
    base, ccd = cells(table, matrix, records)
    assert [cell.value for cell in base] == [91, 62, pytest.approx(76.5)]  # after training, though the row is of before
    assert (base[2].low, base[2].high) == ((86 + 56) / 2, (98 + 70) / 2)
    assert (base[2].published, base[2].verdict, base[2].deviation) == (72, "match", None)
    assert (ccd[2].value, ccd[2].verdict, ccd[2].reason) == (None, "not run", "seed 1, 2 of rte_ccd")
    assert ccd[2].published == 73.8


def test_a_recomputed_number_follows_its_column():
    from fairlab.reporting.many_runs.reproduction import read_table

    printed = {"title": "t", "columns": ["a/b/c"], "rows": {"x": [1.0]}, "recomputed": {"x": {"a/b/c": 2.0}}}
    table = read_table("1", {"rows": {"x": "run"}, "columns": {"a/b/c": "a/b_seen/c"}}, printed, {})
    (row,) = cells(table, Matrix("p", "paper", [1], {"run": []}, {}, {}), {})
    assert (row[0].published, row[0].recomputed) == (1.0, 2.0)
