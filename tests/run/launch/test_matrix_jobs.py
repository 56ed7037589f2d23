"""Which runs of a matrix take readings before training over from its first run."""

from dataclasses import replace
from pathlib import Path

import pytest

from fairlab.record import Record
from fairlab.reporting.many_runs.reproduction import Matrix, read_matrix
from fairlab.run.config.composing import composed
from fairlab.run.folders import plain_config
from fairlab.run.launch import matrix_jobs
from fairlab.run.launch.matrix_jobs import (
    DAMAGED,
    FINISHED,
    MISSING,
    UNFINISHED,
    command_of,
    data_of,
    folder_of,
    jobs_of,
    making_of,
    overrides_of,
    places,
    run_missing,
    state_of,
)
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


CHAINED = {
    "base": ["+experiment=ccd_bert"],
    "tuned": ["+experiment=glue", "backbone.name=runs/base/model", "data.path=made/first"],
    "again": ["+experiment=ccd_bert", "method.lr=1"],
    "measured": ["model=runs/tuned"],
}
MADE = {"first": ["input=x.jsonl"]}


def chained(**changes):
    matrix = Matrix("p", "quickstart", [1, 2], CHAINED, {}, {}, made=MADE, before="base", **changes)
    return replace(matrix, evaluations=frozenset({"measured"}))


def test_trainings_start_from_runs_of_the_first_seed_and_evaluations_measure_those_of_their_own():
    assert jobs_of(["measured"], chained()) == [
        *[("base", 1), ("tuned", 1), ("measured", 1)],
        *[("tuned", 2), ("measured", 2)],
    ]
    for runs, sentence in (
        ({"base": ["backbone.name=runs/measured"]}, "circle: measured > tuned > base > measured"),
        ({"tuned": ["backbone.name=runs/none"]}, "tuned starts from runs/none, which is not among the runs"),
    ):
        with pytest.raises(FairlabError, match=sentence):
            jobs_of(["measured"], replace(chained(), runs=CHAINED | runs))


def finish(run, seed, matrix, output, status="finished", **changes):
    folder = folder_of(run, seed, output)
    folder.mkdir(parents=True)
    overrides = overrides_of(run, seed, replace(matrix, **changes), output)
    command = f"python -m fairlab.train {' '.join(reversed(overrides))} ckpt={folder} before=x"
    Record(folder, {}, command, status=status).save()


def test_the_state_of_a_run_is_that_of_a_record_with_its_command(tmp_path):
    matrix = chained(overrides=["benchmark=[seat]"])
    assert state_of("base", 1, matrix, tmp_path) == MISSING
    finish("base", 1, matrix, tmp_path)
    finish("base", 2, matrix, tmp_path, "failed")
    finish("measured", 1, matrix, tmp_path)
    finish("again", 1, matrix, tmp_path, overrides=[])
    assert [state_of(*one, matrix, tmp_path) for one in (("base", 1), ("base", 2), ("measured", 1))] == [
        *(FINISHED, UNFINISHED, FINISHED),
    ]
    assert overrides_of("measured", 2, matrix, tmp_path) == [
        *(f"model={tmp_path}/runs/tuned/seed_2", "seed=2", f"hydra.run.dir={tmp_path}/runs/measured/seed_2"),
    ]
    assert f"backbone.name={tmp_path}/runs/base/seed_1/model" in overrides_of("tuned", 2, matrix, tmp_path)
    with pytest.raises(FairlabError, match="which is not the command in the matrix"):
        state_of("again", 1, matrix, tmp_path)
    (tmp_path / "runs" / "base" / "seed_1" / "record.json").write_text("[]")
    assert state_of("base", 1, matrix, tmp_path) == DAMAGED


def test_missing_runs_wait_for_their_data_their_sources_and_the_first_measurement(tmp_path, monkeypatch):
    asked = []
    monkeypatch.setattr(matrix_jobs, "run_jobs", lambda *given, **settings: asked.append((*given, settings)) or ())
    matrix = chained()
    finish("measured", 1, matrix, tmp_path)
    jobs = [*jobs_of(["again", "measured"], matrix), ("base", 2)]
    for _ in range(2):
        run_missing(jobs, matrix, tmp_path, threads=3, over="here")
        finish("base", 1, matrix, tmp_path) if len(asked) == 1 else None
    (needs, make, settings), (later, _, others) = asked
    assert needs == {
        **{"data first": [], "again seed 1": [], "base seed 1": []},
        **{name: ["base seed 1", "data first"] for name in ("tuned seed 1", "tuned seed 2")},
        **{"again seed 2": [], "measured seed 2": ["tuned seed 2"], "base seed 2": []},
    }
    assert settings == {
        **{"over": "here", "logs": tmp_path},
        "after": {name: ["base seed 1"] for name in ("again seed 1", "again seed 2", "base seed 2")},
    }
    assert (later["tuned seed 1"], others["after"]) == (["data first"], {})
    data, run = make("data first"), make("base seed 2")
    assert (data.folder, data.takes_ckpt, run.takes_ckpt) == (tmp_path / "made" / "first", False, True)
    assert data.command[2:] == ["fairlab.augment", "input=x.jsonl", f"output={tmp_path}/made/first"]
    assert (run.folder, run.command[1:3]) == (tmp_path / "runs" / "base" / "seed_2", ["-m", "fairlab.train"])
    assert run.environment == data.environment == {"OMP_NUM_THREADS": "3"}
    assert run.command[-1] == f"before={tmp_path}/runs/base/seed_1"
    assert command_of("base", 1, matrix, tmp_path)[-1].startswith("hydra.run.dir=")
