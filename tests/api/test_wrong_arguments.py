"""Methods of results and runs: wrong arguments and folders that are gone end in one sentence."""

import shutil

import numpy as np
import pytest

import fairlab
from fairlab.api.results import Results
from fairlab.record import Reading, Record
from fairlab.types import FairlabError

WRONG = [5, -1, 1.5, True, b"x", [1], {"a": 1}, object(), "a\0b", "\ud800", np.int64(3)]
CALLS = {
    "report": lambda results, value: results.report(value),
    "save": lambda results, value: results.save(value),
    "export": lambda results, value: results.export("csv", value),
    "format": lambda results, value: results.export(value, "new"),
    "key": lambda results, value: results[value],
}
OF_RUNS = {
    "number": lambda runs, value: runs[value],
    "table": lambda runs, value: runs.table(value),
    "save": lambda runs, value: runs.save(value),
}


@pytest.fixture(name="results")
def _results(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    record = Record(tmp_path / "runs" / "1", config={}, command="python -m fairlab.evaluate", status="finished")
    record.folder.mkdir(parents=True)
    record.readings = [Reading("one", "all", "gap", 0.1, "points", 0.0, 8, 0.0, 0.2, headline=True)]
    record.save()
    return Results(record)


def sentence(call, *given):
    with pytest.raises(FairlabError) as error:
        call(*given)
    said = str(error.value)
    assert said.isprintable()
    return said


@pytest.mark.parametrize(
    "value", WRONG, ids=lambda value: type(value).__name__ if type(value) is object else repr(value)
)
def test_a_wrong_argument_is_one_sentence_and_writes_nothing(results, tmp_path, value):
    runs = fairlab.runs(tmp_path / "runs")
    for call in CALLS.values():
        sentence(call, results, value)
    for name, call in OF_RUNS.items():
        if (name, value) != ("number", -1):  # the last run
            sentence(call, runs, value)
    assert [path.name for path in tmp_path.iterdir()] == ["runs"]


@pytest.mark.parametrize("value", ["file/x", "file", "", ".", "\x1b[31m/x", "x" * 5000])
def test_a_place_where_nothing_can_be_written_is_one_sentence(results, tmp_path, value):
    (tmp_path / "file").write_text("mine")
    (tmp_path / "\x1b[31m").write_text("mine")
    sentence(results.save, value)
    sentence(results.report, value if value != "file" else "runs")
    assert (tmp_path / "file").read_text() == "mine"


def test_folders_on_the_way_to_a_file_are_made(results, tmp_path):
    results.report("new/folder/report.html")
    fairlab.runs("runs").save("other/folder/table.csv")
    assert (tmp_path / "new" / "folder" / "report.html").is_file()
    assert (tmp_path / "other" / "folder" / "table.csv").is_file()


def test_results_whose_folder_is_gone_say_so(results, tmp_path):
    shutil.rmtree(tmp_path / "runs")
    for call in (results.report, results.save):
        assert "is gone; measure again" in sentence(call, "new")


def test_a_caption_is_a_text(results):
    assert sentence(results.to_latex, 5).startswith("caption must be a text, not 5")
