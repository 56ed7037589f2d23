"""Which runs of a matrix take readings before training over from its first run."""

from pathlib import Path

import pytest

from fairlab.record import Record
from fairlab.reporting.many_runs.reproduction import Matrix, read_matrix
from fairlab.run.config.composing import composed
from fairlab.run.folders import plain_config
from fairlab.run.launch.matrix_jobs import command_of, data_of, folder_of, making_of, places, run_missing
from fairlab.types import FairlabError

RUNS = {
    "first": ["+experiment=ccd_bert"],
    "second": ["+experiment=dpce_sentences_bert"],
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


@pytest.mark.slow
def test_runs_of_other_encoders_take_readings_over_from_one_of_the_same_encoder_and_benchmarks():
    matrix = read_matrix(Path(__file__).parents[3] / "experiments" / "ccd" / "matrix.yaml", "quickstart")

    def measured(run):
        config = plain_config(composed("train", [*matrix.runs[run], "scale=quickstart"], {}))
        return config["backbone"], config["benchmark"]

    after = {
        run: places("runs", run, matrix)
        for run, overrides in matrix.runs.items()
        if f"{run}_".startswith(("mpnet_", "distilbert_")) and "measure_before=false" not in overrides
    }
    assert {run: first for run, first in after.items() if not first} == {"mpnet_ccd": [], "distilbert_ccd": []}
    for run, first in after.items():
        assert all(measured(run) == measured(one) for one in first)


def of_data(**made):
    return Matrix("p", "quickstart", [1], {"a": ["data.path=made/third"]}, {}, {}, made=made)


CHAIN = {"third": ["input=made/second"], "second": ["input=made/first"], "first": ["input=x.jsonl"]}


def test_data_that_other_data_is_made_of_is_made_before_it(tmp_path, monkeypatch):
    matrix = of_data(**CHAIN)
    assert data_of("a", matrix) == ["first", "second", "third"]
    assert [making_of(name, matrix, tmp_path)[3:] for name in data_of("a", matrix)] == [
        ["input=x.jsonl", f"output={tmp_path}/made/first"],
        [f"input={tmp_path}/made/first", f"output={tmp_path}/made/second"],
        [f"input={tmp_path}/made/second", f"output={tmp_path}/made/third"],
    ]
    asked = {}
    monkeypatch.setattr(
        "fairlab.run.launch.matrix_jobs.run_jobs", lambda needs, make, **_: asked.update(needs) or iter(())
    )
    list(run_missing([("a", 1)], matrix, tmp_path, threads=None))
    assert asked == {
        "data first": [],
        "data second": ["data first"],
        "data third": ["data second"],
        "a seed 1": ["data third"],
    }


def test_data_that_is_made_of_itself_or_of_nothing_is_refused():
    with pytest.raises(FairlabError, match="the data of p depends on itself: third > second > third"):
        data_of("a", of_data(**CHAIN | {"second": ["input=made/third"]}))
    with pytest.raises(FairlabError, match="made/first is not among the data that p makes"):
        data_of("a", of_data(third=CHAIN["third"], second=CHAIN["second"]))
