"""A benchmark of one's own, by the page on extending alone: one file and one yaml outside of the package."""

import json
import re
from pathlib import Path

import pytest

import fairlab
from fairlab.record import Record
from fairlab.reporting.many_runs.sweep import report_sweep
from fairlab.reporting.view.browsing import browse, view_page
from fairlab.reporting.view.items import items_of
from tests.end_to_end.conftest import only_run

PAGE = (Path(__file__).parents[2] / "docs" / "extending.md").read_text("utf-8")
CODE = re.findall(r"^```python\n(.*?)^```", PAGE, flags=re.DOTALL | re.MULTILINE)
CLASS = next(block for block in CODE if "class Lengths" in block)
YAML = next(
    block for block in re.findall(r"^```yaml\n(.*?)^```", PAGE, flags=re.DOTALL | re.MULTILINE) if "Lengths" in block
)
TITLE = "Lengths mean length, my sentences"


@pytest.fixture
def own(tmp_path):
    """The benchmark of the page outside of the package, and the overrides that choose it."""
    (tmp_path / "my_benchmarks.py").write_text(CLASS, encoding="utf-8")
    (tmp_path / "my_conf" / "benchmark").mkdir(parents=True)
    file = tmp_path / "my_conf" / "benchmark" / "lengths.yaml"
    file.write_text(YAML.replace("fairlab.benchmarks.lengths", "my_benchmarks"), encoding="utf-8")
    return ["--config-dir", "my_conf"]


def test_it_is_whole_on_the_terminal_in_the_report_in_a_sweep_and_in_view(run, own, small, tmp_path):
    options = [one for one in small if not one.startswith("benchmark")]
    done = run(*own, *options, "benchmark=[lengths]", "+debug=smoke", PYTHONPATH=str(tmp_path))
    assert done.returncode == 0, done.stderr
    assert any(line.startswith(f"{TITLE}: ") for line in done.stdout.splitlines()), done.stdout
    folder = only_run(tmp_path)
    record = Record.load(folder)  # by a process that has no class of it
    assert {reading.n for reading in record.readings if reading.benchmark == "lengths"} == {2}
    keys = {key for key in record.metrics() if "/lengths/" in key}
    assert keys == {f"{phase}/lengths/sentences/length" for phase in ("before", "after", "change")}
    report = (folder / "report.html").read_text("utf-8")
    for told in (TITLE, "mean length of the embeddings", "Do embeddings keep their length?", "What else was measured?"):
        assert told in report
    card = (folder / "model" / "README.md").read_text("utf-8")
    assert f"- {TITLE} (`lengths/sentences/length`): mean length of the embeddings" in card

    report_sweep(folder.parent)
    assert TITLE in (folder.parent / "report.html").read_text("utf-8")
    (items,) = items_of(record)
    assert (items.ids, items.values, items.free) == (["sentence 1", "sentence 2"], ["length"], True)
    assert items.texts == [["They are a welder."], ["The river is deep."]]
    page = view_page(browse([folder.parent]), served=False)
    assert TITLE in page
    assert "They are a welder." in page


def test_an_evaluation_takes_a_limit_and_what_does_not_fit_is_one_sentence(run, own, tiny_folders, tmp_path):
    command = [*own, f"model={tiny_folders['bert']}", "max_length=32", "benchmark=[lengths]", "limit=1"]
    path = {"PYTHONPATH": str(tmp_path)}
    done = run(*command, entry="evaluate", **path)
    assert done.returncode == 0, done.stderr
    (file,) = tmp_path.glob("outputs/evaluate/*/items/lengths.texts.json")
    assert [len(part["texts"]) for part in json.loads(file.read_text("utf-8"))] == [1]
    code = (tmp_path / "my_benchmarks.py").read_text("utf-8")
    for old, new, said in (
        ('title="Lengths"', 'title=""', "the description of benchmark my_benchmarks.Lengths has no title; add it"),
        ('name="lengths"', 'name="seat"', "my_benchmarks.Lengths has the same name, 'seat', as fairlab's own SEAT"),
        ("    version = 1\n", "", "my_benchmarks.Lengths has no version; give its class version = 1"),
    ):
        (tmp_path / "my_benchmarks.py").write_text(code.replace(old, new), encoding="utf-8")
        done = run(*command, entry="evaluate", **path)
        assert done.returncode == 1
        assert said in done.stderr
        assert "Traceback" not in done.stderr
        assert len(list(tmp_path.glob("outputs/evaluate/*/items"))) == 1  # of the first


def test_two_runs_of_it_are_compared_and_tabled_under_its_label(run, own, tiny_folders, tmp_path):
    for name in ("bert", "bert_mlm"):
        command = [*own, f"model={tiny_folders[name]}", "max_length=32", "benchmark=[lengths]"]
        done = run(*command, f"hydra.run.dir=runs/{name}", entry="evaluate", PYTHONPATH=str(tmp_path))
        assert done.returncode == 0, done.stderr
    done = run("runs/bert", "runs/bert_mlm", entry="compare")  # by a process that has no class of it
    assert done.returncode == 0, done.stderr
    assert TITLE in done.stdout
    table = fairlab.runs(tmp_path / "runs").table()
    assert TITLE in table.to_markdown()
