"""The notebook, and the lines of the README, on the encoder that comes with fairlab."""

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

TOUR = Path(__file__).parents[2] / "docs" / "tour.ipynb"


def code_cells():
    notebook = json.loads(TOUR.read_text(encoding="utf-8"))
    return ["".join(cell["source"]) for cell in notebook["cells"] if cell["cell_type"] == "code"]


@pytest.mark.slow
@pytest.mark.long
@pytest.mark.data
def test_the_tour_runs_from_top_to_bottom_in_three_minutes(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names = {}
    started = time.process_time()  # whatever else the machine does
    for number, cell in enumerate(code_cells()):
        exec(compile(cell, f"tour.ipynb, code cell {number}", "exec"), names)
    assert time.process_time() - started < 180
    assert len(names["runs"]) == 4
    assert (tmp_path / "report.html").is_file()
    assert len(names["runs"].table().cells) == 2


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
