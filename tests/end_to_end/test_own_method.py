"""A method of one's own, by the page on extending alone: in an experiment, a sweep, a reproduction and the reports."""

import json
import re
from pathlib import Path

import pytest
import yaml

from fairlab.record import Record
from tests.end_to_end.conftest import only_run

DOCS = Path(__file__).parents[2] / "docs"
CODE = re.findall(r"^```python\n(.*?)^```", (DOCS / "extending.md").read_text("utf-8"), flags=re.DOTALL | re.MULTILINE)
METHOD = next(block for block in CODE if "class WithoutMean" in block)


@pytest.fixture
def own(tmp_path, small):
    """The method of the page outside of the package, and overrides of a small run that takes it."""
    assert len(METHOD.splitlines()) <= 40
    (tmp_path / "my_methods.py").write_text(METHOD, encoding="utf-8")
    (tmp_path / "my_conf" / "method").mkdir(parents=True)
    (tmp_path / "my_conf" / "method" / "without_mean.yaml").write_text("_target_: my_methods.WithoutMean\n")
    return [one for one in small if not one.startswith("trainer.")]


def test_an_experiment_with_a_method_of_ones_own_leaves_what_the_page_lists(run, own, tmp_path):
    done = run("--config-dir", "my_conf", *own, "method=without_mean", PYTHONPATH=str(tmp_path))
    assert done.returncode == 0, done.stderr
    folder = only_run(tmp_path)
    record = Record.load(folder)
    assert record.provenance["method"]["title"] == "projection off the mean"
    assert "projection off the mean" in (folder / "report.html").read_text("utf-8")
    assert record.metrics()["after/cced/groups/gap"] != record.metrics()["before/cced/groups/gap"]
    listed = re.findall(r"^\| `([\w.]+)/?` \|", (DOCS / "where.md").read_text("utf-8"), flags=re.MULTILINE)
    left = {path.name for path in folder.iterdir()} - {".lock"}
    assert left <= set(listed)
    assert set(listed) - left == {"checkpoints"}  # a method without training steps needs none


@pytest.mark.slow
def test_a_sweep_over_methods_and_a_row_of_a_matrix_take_it_too(run, own, tmp_path):
    path = {"PYTHONPATH": str(tmp_path)}
    config = ["--config-dir", "my_conf"]
    chosen = ["+sweep=methods", "method=sentence_debias,without_mean", "seed=1"]
    swept = run(*config, "-m", *own, *chosen, **path)
    assert swept.returncode == 0, swept.stderr + swept.stdout
    (sweep,) = (tmp_path / "multirun" / "ccd_bert").iterdir()
    titles = {Record.load(file.parent).provenance["method"]["title"] for file in sweep.glob("*/record.json")}
    assert titles == {"SentenceDebias", "projection off the mean"} or len(titles) == 2
    assert "without_mean" in (sweep / "report.html").read_text("utf-8")

    matrix = {
        "published": "ccd",
        "seeds": [1],
        "options": {"quickstart": []},
        "runs": {"mine": {"quickstart": ["--config-dir=my_conf", *own, "method=without_mean"]}},
        "tables": {
            6: {"published": "table_6", "columns": {"BERT-large": "cced/groups/gap"}, "rows": {"mine": "mine"}},
        },
    }
    (tmp_path / "experiments" / "own").mkdir(parents=True)
    (tmp_path / "experiments" / "own" / "matrix.yaml").write_text(yaml.safe_dump(matrix))
    done = run("paper=own", entry="reproduce", **path)
    assert done.returncode == 0, done.stderr
    output = tmp_path / "outputs" / "reproduce" / "own" / "quickstart"
    metrics = Record.load(output / "runs" / "mine" / "seed_1").metrics()
    cell = json.loads((output / "table_6.json").read_text())["mine"]["cced/groups/gap"]
    assert cell["value"] == metrics["after/cced/groups/gap"]
