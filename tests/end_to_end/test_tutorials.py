"""The tutorials, and the lines of the README, on the encoder that comes with fairlab."""

import json
import time
from pathlib import Path

import pytest
from sentence_transformers import SentenceTransformer

import fairlab
from fairlab.backbones.loading import find_weights
from fairlab.record import Record
from tests.conftest import MINILM
from tests.end_to_end.conftest import only_run

TUTORIALS = sorted((Path(__file__).parents[2] / "docs" / "tutorials").glob("*.ipynb"))
# What a tutorial says in the end: a name of the notebook, and what holds of its value.
REACHED = {
    "audit_a_classifier": lambda names: (
        names["found"]["audit/gender/flips"] > 50 and names["fixed"]["audit/gender/flips"] == 0
    ),
    "compare_two_models": lambda names: len(names["judgement"].to_pandas()) == 1,
    "debias_an_encoder": lambda names: len(names["runs"]) == 4 and len(names["runs"].table().rows) == 3,
    "measure_an_encoder": lambda names: [one.benchmark for one in names["results"].not_run] == ["crows_pairs"],
    "moderation_model": lambda names: names["scores"][0]["toxicity"] < names["scores"][1]["toxicity"],
    "own_axis": lambda names: names["run"].results.comparisons,
}


def cells(path, kind):
    notebook = json.loads(path.read_text(encoding="utf-8"))
    return ["".join(cell["source"]) for cell in notebook["cells"] if cell["cell_type"] == kind]


def test_tutorials_hold_no_outputs_and_say_what_they_are():
    assert {path.stem for path in TUTORIALS} == set(REACHED)
    for path in TUTORIALS:
        assert path.stat().st_size < 10_000
        assert cells(path, "markdown")[0].startswith("# ")
        notebook = json.loads(path.read_text(encoding="utf-8"))
        assert not [cell for cell in notebook["cells"] if cell.get("outputs")]


@pytest.mark.slow
@pytest.mark.data
@pytest.mark.parametrize("path", TUTORIALS, ids=lambda path: path.stem)
def test_a_tutorial_runs_from_top_to_bottom_in_three_minutes(path, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names = {}
    started = time.process_time()  # whatever else the machine does
    for number, cell in enumerate(cells(path, "code")):
        exec(compile(cell, f"{path.name}, code cell {number}", "exec"), names)
    assert time.process_time() - started < 180
    assert REACHED[path.stem](names)


@pytest.mark.slow
@pytest.mark.long
@pytest.mark.data
def test_three_lines_on_a_sentence_transformer_equal_the_command(run, tmp_path):
    folder = find_weights(**MINILM)
    model = SentenceTransformer(str(folder))
    results = fairlab.evaluate(model, "seat")
    done = run(f"model={folder}", "benchmark=[seat]", entry="evaluate")
    assert done.returncode == 0, done.stderr
    assert results.record.metrics() == Record.load(only_run(tmp_path, "evaluate")).metrics()
    named = fairlab.evaluate("minilm", "seat")
    assert named["seat/average/absolute_effect_size"] == pytest.approx(results["seat/average/absolute_effect_size"])
