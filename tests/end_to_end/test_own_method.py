"""A method, an augmentation and a source of one's own, by the page on extending alone."""

import json
import re
from pathlib import Path

import pytest
import yaml

from fairlab.record import Record
from tests.end_to_end.conftest import only_run
from tests.end_to_end.test_safety import SMALL

DOCS = Path(__file__).parents[2] / "docs"
CODE = re.findall(r"^```python\n(.*?)^```", (DOCS / "extending.md").read_text("utf-8"), flags=re.DOTALL | re.MULTILINE)
METHOD = next(block for block in CODE if "class WithoutMean" in block)
AUGMENTATION = next(block for block in CODE if "class LowerCase" in block)
SOURCE = next(block for block in CODE if "class Exclamations" in block)


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
    assert set(listed) - left == {"checkpoints", "generations"}  # of training steps, and of models that write


@pytest.mark.slow
def test_choices_of_ones_own_are_known_to_a_plan_and_to_further_methods(run, own, tmp_path):
    command = [*own, "method=sentence_debias", "then=[without_mean]", "dry_run=true"]
    done = run("--config-dir", "my_conf", *command, PYTHONPATH=str(tmp_path))
    assert (done.returncode, done.stderr) == (0, "")
    assert "    model           " in done.stdout
    assert not (tmp_path / "outputs").exists()
    done = run("--config-dir", "my_conf", *own, "method=without_mean", "dry_run=true", PYTHONPATH=str(tmp_path))
    assert (done.returncode, done.stderr) == (0, "")
    done = run("--config-dir=nowhere", *command)
    said = "fairlab: --config-dir nowhere is not a folder; give one that holds GROUP/NAME.yaml\n"
    assert (done.returncode, done.stderr) == (1, said)
    done = run("--config-dir", "my_conf", *own, "method=without_men", "dry_run=true")
    assert "method=without_men: no such choice; the nearest is without_mean" in done.stderr
    done = run("--config-dir", "my_conf", *command, "data.batchsize=2")
    assert "there is no key 'batchsize' in 'data'; the nearest is batch_size" in done.stderr


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
    plan = run("paper=own", "dry_run=true", entry="reproduce", **path)
    assert "    model           " in plan.stdout, plan.stdout
    done = run("paper=own", entry="reproduce", **path)
    assert done.returncode == 0, done.stderr
    output = tmp_path / "outputs" / "reproduce" / "own" / "quickstart"
    metrics = Record.load(output / "runs" / "mine" / "seed_1").metrics()
    cell = json.loads((output / "table_6.json").read_text())["mine"]["cced/groups/gap"]
    assert cell["value"] == metrics["after/cced/groups/gap"]


def test_an_augmentation_of_ones_own_is_trained_on(run, own, tmp_path):
    (tmp_path / "my_augmentations.py").write_text(AUGMENTATION, encoding="utf-8")
    (tmp_path / "my_conf" / "augmentation").mkdir()
    (tmp_path / "my_conf" / "augmentation" / "lower_case.yaml").write_text("_target_: my_augmentations.LowerCase\n")
    done = run("--config-dir", "my_conf", *own, "augmentation=lower_case", PYTHONPATH=str(tmp_path))
    assert done.returncode == 0, done.stderr
    record = Record.load(only_run(tmp_path))
    assert record.config["augmentation"] == {"_target_": "my_augmentations.LowerCase"}


@pytest.mark.slow
def test_an_ensemble_with_a_source_of_ones_own_scores_where_the_command_names_the_source(run, tmp_path):
    (tmp_path / "my_sources.py").write_text(SOURCE, encoding="utf-8")
    (tmp_path / "my_conf" / "source").mkdir(parents=True)
    (tmp_path / "my_conf" / "source" / "exclamations.yaml").write_text(
        'exclamations:\n  _target_: my_sources.Exclamations\n  mark: "!"\n'
    )
    path, chosen = {"PYTHONPATH": str(tmp_path)}, ["source=[sentiment,exclamations]"]
    done = run("--config-dir", "my_conf", *[one for one in SMALL if not one.startswith("source=")], *chosen, **path)
    assert done.returncode == 0, done.stderr
    folder = only_run(tmp_path, "safety_ensemble")
    card = (folder / "model" / "README.md").read_text("utf-8")
    assert "- exclamation marks: An example: loud texts are not unsafe." in card
    assert "An example of this page." in card

    (tmp_path / "new.csv").write_text("text\nA lovely day.\nStop it!!!!!!!\n", encoding="utf-8")
    given = [f"model={folder}", "input=new.csv", "output=scores.jsonl", "source_scores=true"]
    refused = run(*given, entry="score", **path)
    assert (refused.returncode, refused.stderr.count("\n")) == (1, 1)
    assert refused.stderr.endswith("+sources.exclamations._target_=MODULE.CLASS\n")
    named = "+sources.exclamations._target_=my_sources.Exclamations"
    scored = run(*given, named, entry="score", **path)
    assert scored.returncode == 0, scored.stderr
    rows = [json.loads(line) for line in (tmp_path / "scores.jsonl").read_text().splitlines()]
    assert [row["sources"]["exclamations.marks"] for row in rows] == [0.0, 0.5]
    (tmp_path / "my_sources.py").unlink()
    lost = run(*given, named, "output=other.jsonl", entry="score")
    assert (lost.returncode, lost.stderr.count("\n")) == (1, 1)
    assert (
        "my_sources.Exclamations cannot be imported (ModuleNotFoundError: No module named 'my_sources')" in lost.stderr
    )
