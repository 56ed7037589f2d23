"""Results in the formats of other tools: what they hold, and that readers and validators take them."""

import json
import os
import subprocess
from pathlib import Path

import numpy as np
import pytest
import yaml
from safetensors.numpy import save_file

from fairlab.judge.reading import read_tool_runs
from fairlab.record import Note, Reading, Record
from fairlab.reporting.exports.exporting import FORMS, export_results
from fairlab.types import FairlabError

VALIDATOR = os.environ.get("EVERY_EVAL_EVER")  # the command, of an environment of its own: it needs Python 3.12


def read_tool_run(place):
    """Return the only run of a place."""
    (run,) = read_tool_runs(place)
    return run


@pytest.fixture
def record(tmp_path):
    """A run with three readings and the scores of four items."""
    readings = [
        Reading(
            "seat", "average", "absolute_effect_size", 0.5, "effect size", 0.0, 6, 0.4, 0.7, headline=True, version=2
        ),
        Reading("crows_pairs", "all", "metric_score", 55.0, "%", 50.0, 400, 50.0, 60.0, headline=True, version=1),
        Reading("winobias", "all", "margin", 0.25, "nats", 0.0, 400, 0.1, 0.4, version=1),
    ]
    folder = tmp_path / "run"
    (folder / "items").mkdir(parents=True)
    save_file(
        {"all": np.array([[0.5, 1.0], [0.25, 0.0], [0.125, 1.0], [np.nan, 0.0]])}, folder / "items" / "mine.safetensors"
    )
    config = {"model": "lab/tiny", "benchmark": {}}
    notes = [Note("winobias", "cut", mark="cut")]
    return Record(folder, config, "fairlab evaluate model=lab/tiny", status="finished", readings=readings, notes=notes)


def contents(record, form, folder):
    return {
        path.relative_to(folder).as_posix(): path.read_text(encoding="utf-8")
        for path in export_results(record, form, folder)
    }


def test_every_eval_ever_has_direction_ideal_and_interval(record, tmp_path):
    (text,) = contents(record, "eee", tmp_path / "new").values()
    results = {one["evaluation_name"]: one for one in json.loads(text)["evaluation_results"]}
    size, score = results["seat/average/absolute_effect_size"], results["crows_pairs/all/metric_score"]
    assert (size["metric_config"]["lower_is_better"], size["metric_config"]["min_score"]) == (True, 0.0)
    assert size["score_details"]["uncertainty"]["confidence_interval"]["upper"] == 0.7
    assert score["metric_config"]["additional_details"]["ideal"] == "50"
    assert "either side" in score["metric_config"]["additional_details"]["direction"]
    assert "direction" not in size["metric_config"]["additional_details"]
    assert results["winobias/all/margin"]["metric_config"]["max_score"] == "Infinity"
    assert results["winobias/all/margin"]["metric_config"]["additional_details"]["heed"] == "cut"


def test_the_validator_of_every_eval_ever_passes(record, tmp_path):
    if VALIDATOR is None:
        pytest.skip("EVERY_EVAL_EVER names no command; install every-eval-ever into an environment with Python 3.12")
    (path,) = export_results(record, "eee", tmp_path / "new")
    place = path.relative_to(tmp_path / "new")
    done = subprocess.run(
        [VALIDATOR, "validate", place], cwd=tmp_path / "new", capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_hub_reads_headline_readings(record, tmp_path):
    (text,) = contents(record, "eval_results", tmp_path / "new").values()
    first, second = yaml.safe_load(text)
    assert first["dataset"] == {"id": "fairlab/seat", "task_id": "average_absolute_effect_size"}
    assert (first["value"], second["value"]) == (0.5, 55.0)
    assert "95 % interval: 49.98 to 60.02, n 400, ideal 50" in second["notes"]


@pytest.mark.parametrize("form", ["csv", "lm_eval"])
def test_our_own_readers_take_what_was_written(record, tmp_path, form):
    files = export_results(record, form, tmp_path / "new")
    found = read_tool_run(tmp_path / "new" if form == "lm_eval" else files[0])
    assert found.name in ("lab/tiny", "tiny")
    scores = {one.metric: one for one in found.tasks}
    assert scores["all 2"].mean == 0.5
    assert scores["all 1"].values.tolist() == [0.5, 0.25, 0.125]  # nan is left out
    assert scores["all 2"].ids == ("1", "2", "3", "4")


def test_results_of_lm_eval_hold_values_and_errors(record, tmp_path):
    found = contents(record, "lm_eval", tmp_path / "new")
    (name,) = [name for name in found if name.startswith("results_")]
    content = json.loads(found[name])
    assert content["results"]["crows_pairs_all"]["metric_score,none"] == 55.0
    assert content["results"]["crows_pairs_all"]["metric_score_stderr,none"] == pytest.approx(10 / 3.919928, rel=1e-5)
    assert content["higher_is_better"] == {"seat_average": {"absolute_effect_size": False}}


def test_results_of_mteb_are_read_back(record, tmp_path):
    export_results(record, "mteb", tmp_path / "new")
    (scores,) = read_tool_run(tmp_path / "new").tasks
    assert dict(zip(scores.ids, scores.values, strict=True)) == {
        "fairlab.crows_pairs": 55.0,
        "fairlab.seat": 0.5,
        "fairlab.winobias": 0.25,
    }


@pytest.mark.parametrize("form", FORMS)
def test_every_model_has_a_folder_of_its_own(record, tmp_path, form):
    record.readings = [Reading(**{**vars(one), "phase": phase}) for phase in ("a/b", "c") for one in record.readings]
    for phase in ("a/b", "c"):
        (record.folder / "items" / phase).mkdir(parents=True)
        save_file({"all": np.ones((2, 1))}, record.folder / "items" / phase / "mine.safetensors")
    found = export_results(record, form, tmp_path / "new")
    assert {path.relative_to(tmp_path / "new").parts[0] for path in found} == {"a_b", "c"}


def test_bad_requests_are_one_sentence(record, tmp_path):
    with pytest.raises(
        FairlabError, match="there is no format 'xml'; there are: csv, eee, eval_results, lm_eval, mteb"
    ):
        export_results(record, "xml", tmp_path / "new")
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "x").write_text("")
    with pytest.raises(FairlabError, match="already exists; give a new folder"):
        export_results(record, "eee", tmp_path / "full")
    record.readings = []
    with pytest.raises(FairlabError, match="cannot be written as csv: it has no readings"):
        export_results(record, "csv", tmp_path / "new")
    assert not Path(tmp_path / "new").exists()
