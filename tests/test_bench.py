"""`make bench` fails on a ratio that fell by more than a fifth, on figures that are made up."""

import json
import subprocess
import sys

import pytest

from tests.test_perf import load

COMMITTED = {"machine": {"threads": 2}, "ratio": 10.0, "ways": {"ours": {"ratio": 4.0, "ratios": [1.0]}}}


@pytest.fixture
def bench(monkeypatch):
    return load("bench", monkeypatch)


def test_ratios_by_where_they_stand(bench):
    repeats = {"ratio": [3.0, 1.0, 2.0], "load": {"ratios": [5.0, 7.0]}, "seconds": {"ours": 1.0}}
    assert dict(bench.ratios(COMMITTED)) == {"ratio": 10.0, "ways, ours": 4.0}
    assert dict(bench.ratios(repeats)) == {"ratio": 2.0, "load": 6.0}


@pytest.mark.parametrize(
    ("found", "said"),
    [
        ({"ratio": 8.0, "ways": {"ours": {"ratio": 40.0}}}, []),
        ({"ratio": 7.9, "ways": {"ours": {"ratio": 4.0}}}, ["ratio from 10 to 7.9"]),
        ({"ratio": 10.0}, ["ways, ours, which is not measured any more"]),
        ({"ratio": float("nan"), "ways": {"ours": {"ratio": 1.0}}}, ["ratio from 10 to nan", "ways, ours from 4 to 1"]),
    ],
)
def test_what_fell_by_more_than_a_fifth(bench, found, said):
    assert bench.fallen(found, COMMITTED) == said


def test_figures_of_a_bench_leave_the_committed_ones(bench, monkeypatch, tmp_path):
    def measure(command, env, **_):
        (tmp_path / "new" / "db_index.json").write_text(json.dumps(COMMITTED | {"ratio": 5.0}))
        assert env["PERF_RESULTS"] == str(tmp_path / "new")
        assert command[2:] == ["--write"]
        return subprocess.CompletedProcess(command, 0)

    (tmp_path / "new").mkdir()
    (tmp_path / "db_index.json").write_text(json.dumps(COMMITTED))
    monkeypatch.setattr(bench, "results", lambda script: tmp_path / f"{script}.json")
    monkeypatch.setattr(bench.subprocess, "run", measure)
    assert bench.run("db_index", [], tmp_path / "new") == ["db_index: ratio from 10 to 5"]
    assert json.loads((tmp_path / "db_index.json").read_text()) == COMMITTED


def test_the_bench_ends_in_one_sentence(bench, monkeypatch, capsys):
    wrong = {"db_index": ["db_index: ratio from 10 to 5"], "shortcut": []}
    monkeypatch.setattr(bench, "run", lambda script, arguments, folder: wrong[script])
    monkeypatch.setattr(sys, "argv", ["bench.py", "shortcut"])
    bench.main()
    monkeypatch.setattr(sys, "argv", ["bench.py", "db_index", "shortcut", "rewriting"])
    with pytest.raises(SystemExit) as ended:
        bench.main()
    assert ended.value.code == "1 fell by more than a fifth or failed: db_index: ratio from 10 to 5"
    assert "rewriting is left out; give --augly" in capsys.readouterr().out


def test_a_script_without_committed_figures_is_not_run(bench, monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(bench, "results", lambda script: tmp_path / f"{script}.json")
    monkeypatch.setattr(bench.subprocess, "run", None)
    assert bench.run("db_index", [], tmp_path) == []
    assert "not compared: no figures of it are committed" in capsys.readouterr().out


def test_scripts_write_where_the_variable_says(bench, monkeypatch, tmp_path):
    harness = load("harness", monkeypatch)
    assert harness.results("x").parent.name == "results"
    monkeypatch.setenv("PERF_RESULTS", str(tmp_path))
    assert harness.results("x") == tmp_path / "x.json"


def test_every_script_of_the_bench_has_committed_figures(bench):
    without = {script for script in bench.SCRIPTS if not bench.results(script).is_file()}
    assert without <= {"likelihood_precision"}  # whose page says that it is not measured yet
    assert set(bench.TAKES) <= set(bench.SCRIPTS)
