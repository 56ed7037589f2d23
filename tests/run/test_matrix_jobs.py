"""Which runs of a matrix take readings before training over from its first run."""

from fairlab.record import Record
from fairlab.reporting.reproduction import Matrix
from fairlab.run.matrix_jobs import command_of, folder_of

RUNS = {
    "first": ["+experiment=ccd_bert"],
    "second": ["+experiment=dpce_bert"],
    "fine_tuned": ["+experiment=glue", "backbone=bert_base", "backbone.name=runs/first/model", "measure_before=false"],
    "of_another": ["+experiment=ccd_bert", "backbone=mpnet"],
    "by_others": ["+experiment=ccd_bert", "benchmark=cced"],
    "measured": ["model=runs/first"],
}


def test_only_runs_that_measure_the_same_model_before_training_take_its_readings_over(tmp_path):
    matrix = Matrix("p", "quickstart", [1], RUNS, {}, {}, before="first", evaluations=frozenset({"measured"}))
    first = folder_of("first", 1, tmp_path)
    first.mkdir(parents=True)
    Record(first, {}, "", status="finished").save()
    given = {run: f"before={first}" in command_of(run, 1, matrix, tmp_path) for run in RUNS}
    assert [run for run, takes_over in given.items() if takes_over] == ["second"]
