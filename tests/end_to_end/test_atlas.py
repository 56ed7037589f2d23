"""The atlas end to end: rows of its matrix on tiny models in place of the real ones, and the page's tables of them."""

from pathlib import Path

import pytest
import yaml

from experiments.atlas import tables
from fairlab.record import Record
from tests.end_to_end.conftest import tiny_backbone

MATRIX = Path(__file__).parents[2] / "experiments" / "atlas" / "matrix.yaml"
RUNS = "outputs/reproduce/mini/quickstart/runs"


def shortened(model, methods, folder):
    """The matrix with two methods of one model, on a tiny model and few items."""
    content = yaml.safe_load(MATRIX.read_text(encoding="utf-8"))
    table = content["tables"][model]
    table["rows"] = {name: row for name, row in table["rows"].items() if row in methods}
    content["options"]["quickstart"] += ["limit=4", "data.limit=40", "benchmark.mb_index.stride=8"]
    runs = {name: content["runs"][name]["quickstart"] for name in methods}
    tiny, short = tiny_backbone(folder), {"smollm2_biasers": ["data.block=32"], "mpnet_inlp": ["method.classifiers=2"]}
    content["runs"] = {
        name: {"quickstart": [one for one in given if not one.startswith("backbone=")] + tiny + short.get(name, [])}
        for name, given in runs.items()
    }
    content["tables"] = {model: table}
    return content


@pytest.mark.slow
@pytest.mark.long
@pytest.mark.data
@pytest.mark.parametrize(
    ("model", "methods", "tiny"),
    [
        ("smollm2", ["smollm2_sentence_debias", "smollm2_biasers"], "llama"),
        ("mpnet", ["mpnet_sentence_debias", "mpnet_inlp"], "bert"),
    ],
)
def test_rows_run_one_after_the_other_and_fill_the_page(run, tiny_folders, tmp_path, model, methods, tiny):
    file = tmp_path / "experiments" / "mini" / "matrix.yaml"
    file.parent.mkdir(parents=True)
    file.write_text(yaml.safe_dump(shortened(model, methods, tiny_folders[tiny])))
    done = run("paper=mini", entry="reproduce")
    assert done.returncode == 0, done.stderr + done.stdout
    first, second = (Record.load(tmp_path / RUNS / name / "seed_42") for name in methods)
    assert second.provenance["before_taken_from"]["folder"] == f"{RUNS}/{methods[0]}/seed_42"
    (file.parent / "records").symlink_to(tmp_path / RUNS)
    shown = tables.overview(file.parent)
    assert "the run has not been started" not in shown
    heads = {"smollm2": "crows_pairs", "mpnet": "cced"}
    assert heads[model] in {reading.benchmark for reading in second.readings if reading.phase == "after"}
    left_out = {entry.benchmark for entry in first.not_run if entry.phase == "before"}
    assert ("perplexity" in left_out) == (model == "mpnet")
    assert "Not run: " in tables.before(model, file.parent)
    assert "CCED gap" in tables.changes(model, file.parent)
