"""Which runs a plan tries, and what it reads of a command."""

from types import SimpleNamespace

import pytest

from fairlab.run import planned
from fairlab.types import FairlabError


@pytest.mark.parametrize(("size", "parameters", "cheap"), [(0, 0, True), (1, 0, False), (0, 1, False), (0, None, True)])
def test_a_run_is_tried_up_to_50_megabytes_and_200_million_parameters(tmp_path, monkeypatch, size, parameters, cheap):
    (tmp_path / "data" / "below").mkdir(parents=True)
    for name, count in (("a.jsonl", 20_000_000), ("below/b.jsonl", 30_000_000 + size)):
        with (tmp_path / "data" / name).open("wb") as file:
            file.truncate(count)
    found = None if parameters is None else SimpleNamespace(parameters=200_000_000 + parameters)
    monkeypatch.setattr(planned, "model_size", lambda settings: found)
    values = {"data": {"path": str(tmp_path / "data")}, "backbone": {"name": str(tmp_path)}}
    assert planned.is_cheap(values) is cheap
    assert planned.is_cheap({"dataset": {"a": str(tmp_path / "data" / "a.jsonl")}})
    assert not planned.is_cheap(values | {"data": {"path": str(tmp_path / "none")}})


def test_the_data_of_an_evaluation_counts(tmp_path):
    with (tmp_path / "a.jsonl").open("wb") as file:
        file.truncate(50_000_001)
    for dataset in (str(tmp_path / "a.jsonl"), [str(tmp_path / "a.jsonl")], {"a": str(tmp_path / "a.jsonl")}):
        assert not planned.is_cheap({"dataset": dataset})
    assert planned.is_cheap({"dataset": None})


def test_a_plan_is_of_one_run(monkeypatch):
    monkeypatch.setattr("sys.argv", ["fairlab", "--config-dir", "mine", "seed=1", "dry_run=true"])
    assert planned.single_run() == ["seed=1", "dry_run=true"]
    monkeypatch.setattr("sys.argv", ["fairlab", "seed=1,2", "-m"])
    with pytest.raises(FairlabError, match="leave out -m"):
        planned.single_run()


@pytest.mark.parametrize(
    ("given", "asked"),
    [
        (["seed=1"], []),
        (["ckpt=null"], []),
        (["ckpt=last"], [("train", "last")]),
        (["+experiment=ccd", "++ckpt=a=b", "bare"], [("ccd", "a=b")]),
    ],
)
def test_the_run_that_a_command_continues_is_asked_for(monkeypatch, given, asked):
    found = []
    monkeypatch.setattr(planned, "run_folder", lambda name, now, ckpt, _root_: found.append((name, ckpt)))
    planned.refuse_other_run("train", given, None)
    assert found == asked


def test_encoders_of_datasets_are_models_of_an_evaluation():
    benchmark = {"a": {"vectors": "m"}, "b": {"vectors": "spacy:x"}, "c": {}, "d": {"vectors": None}}
    assert planned.embedders_of({"benchmark": benchmark, "dataset": "d"}) == ["m"]
    assert planned.embedders_of({"benchmark": benchmark, "dataset": None}) == []
    assert planned.embedders_of({"benchmark": None, "dataset": "d"}) == []


def test_a_command_that_is_refused_is_planned_as_a_problem_of_one_run():
    found = planned.planned("train", "t", ["seeed=1"])
    assert (found.title, found.times, "seeed" in found.problem) == ("t", 1, True)
