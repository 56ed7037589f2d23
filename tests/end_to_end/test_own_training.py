"""A metric, data, a callback and an optimizer of one's own, by the page on extending alone."""

import json
import re
from pathlib import Path

import pytest

from fairlab.record import Record
from tests.end_to_end.conftest import only_run

PAGE = (Path(__file__).parents[2] / "docs" / "extending.md").read_text("utf-8")


def block(language, word):
    """Return the one block of code of the page that holds a word."""
    found = re.findall(rf"^```{language}\n(.*?)^```", PAGE, flags=re.DOTALL | re.MULTILINE)
    return next(one for one in found if word in one)


@pytest.fixture
def own(tmp_path):
    """The files that the page describes, outside of the package."""
    modules = {
        "my_benchmarks": block("python", "class Lengths") + block("python", "class Spreads"),
        "my_data": block("python", "class ShortGroups"),
        "my_callbacks": block("python", "class WeightNorm"),
        "my_optimizers": block("python", "class SignDescent"),
    }
    for name, code in modules.items():
        (tmp_path / f"{name}.py").write_text(code, encoding="utf-8")
    for place, word in (
        ("benchmark/spreads", "my_benchmarks.Spreads"),
        ("data/short_groups", "my_data.ShortGroups"),
        ("optimizer/sign", "my_optimizers.SignDescent"),
    ):
        file = tmp_path / "my_conf" / f"{place}.yaml"
        file.parent.mkdir(parents=True)
        file.write_text(block("yaml", word), encoding="utf-8")


@pytest.mark.slow
def test_all_of_them_reach_the_record_and_the_report(run, own, small, tmp_path):
    kept = [one for one in small if not one.startswith("benchmark")]
    chosen = ["data=short_groups", "data.words=30", "optimizer=sign", "benchmark=[spreads]"]
    callback = "+callbacks.norm._target_=my_callbacks.WeightNorm"
    done = run("--config-dir", "my_conf", *kept, *chosen, callback, PYTHONPATH=str(tmp_path))
    assert done.returncode == 0, done.stderr
    folder = only_run(tmp_path)
    record = Record.load(folder)
    assert record.provenance["data"]["words"] == 30
    assert record.config["optimizer"]["_target_"] == "my_optimizers.SignDescent"
    assert record.metrics()["after/spreads/sentences/spread"] >= 0
    rows = [json.loads(line) for line in (folder / "checkpoints" / "history.jsonl").read_text().splitlines()]
    norms = [row["train/weight_norm"] for row in rows if "train/weight_norm" in row]
    assert len(set(norms)) > 1
    report = (folder / "report.html").read_text("utf-8")
    assert all(word in report for word in ("Spreads spread, my sentences", "my_optimizers.SignDescent", "ShortGroups"))
