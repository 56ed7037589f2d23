"""Hydra's own launchers run the same sweeps as those of fairlab."""

import importlib.util

import pytest

from fairlab.record import Record

OWN = "basic"
OF_HYDRA = {"joblib": "hydra_joblib_launcher", "submitit_local": "hydra_submitit_launcher"}


@pytest.mark.parametrize("launcher", OF_HYDRA)
def test_hydras_launchers_measure_the_same(run, small, tmp_path, launcher):
    if importlib.util.find_spec(f"hydra_plugins.{OF_HYDRA[launcher]}") is None:
        pytest.skip(f"{OF_HYDRA[launcher].replace('_', '-')} is not installed")
    command = ["-m", *small, "seed=1,2", "data.validation=5", "method.validate_every=2"]
    own = run(*command, f"launcher={OWN}", "hydra.sweep.dir=own")
    assert own.returncode == 0, own.stderr
    theirs = run(*command, f"hydra/launcher={launcher}", "hydra.sweep.dir=theirs")
    assert theirs.returncode == 0, theirs.stderr
    for number in ("0", "1"):
        mine, other = Record.load(tmp_path / "own" / number), Record.load(tmp_path / "theirs" / number)
        assert other.status == "finished"
        assert other.metrics() == mine.metrics()
        assert other.history == mine.history
        assert other.config == mine.config
        assert f" seed={int(number) + 1}" in other.command, "settings in reports come from the command"
        assert "hydra/launcher=" not in other.command
    first, second = (Record.load(tmp_path / "theirs" / number).metrics() for number in ("0", "1"))
    assert first != second

    report = run(f"runs={tmp_path / 'theirs'}", entry="report")
    assert report.returncode == 0, report.stderr
    assert (tmp_path / "theirs" / "report.html").is_file()
