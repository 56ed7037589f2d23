"""Tables in the documentation are those the committed records give."""

import pytest
import yaml

from experiments import tables
from experiments.ccd import tables as ccd
from experiments.rendering import matrix_table
from fairlab.record import Reading, Record


@pytest.mark.parametrize("page", tables.PAGES)
def test_a_page_shows_what_its_records_hold(page):
    assert tables.filled(page) == (tables.ROOT / page).read_text(encoding="utf-8")


def test_committed_records_name_no_path_of_a_machine():
    records = list((tables.ROOT / "experiments").glob("*/records/**/record.json"))
    assert len(records) >= 10
    for record in records:
        text = record.read_text(encoding="utf-8")
        assert "/home/" not in text
        assert "/tmp/" not in text
        assert "-dirty" not in text


def test_a_table_of_a_matrix_has_the_seeds_that_were_run_and_the_columns_that_some_run_measures(tmp_path):
    runs = {"one": {"quickstart": []}, "other": {"quickstart": []}, "large": {"quickstart": "no room for it"}}
    columns = ["rte/dev/accuracy", "qqp/dev/accuracy"]
    rows = {name: {"runs": dict(zip(columns, (name, "large"), strict=True))} for name in ("one", "other")}
    table = {"title": "tasks", "columns": columns, "rows": rows}
    content = {"published": "ccd", "seeds": [1, 2], "options": {}, "runs": runs, "tables": {"tasks": table}}
    (tmp_path / "matrix.yaml").write_text(yaml.safe_dump(content))
    assert "one: not run: seed 1, 2 of one" in matrix_table(tmp_path, "tasks")
    folder = tmp_path / "records" / "one" / "seed_2"
    folder.mkdir(parents=True)
    reading = Reading("rte", "dev", "accuracy", 60.0, "%", 100.0, 10, 50.0, 70.0, phase="after")
    Record(folder, {}, "", status="finished", readings=[reading]).save()
    made = matrix_table(tmp_path, "tasks")
    assert [cell.strip() for cell in made.splitlines()[2].split("|")[1:-1]] == [
        "RTE accuracy, development set",
        "60 [50, 70]",
        "not run",
    ]
    assert "other: not run: seed 2 of other" in made
    assert "qqp" not in made
    assert "one: not run: seed 1 of one" in matrix_table(tmp_path, "tasks", all_seeds=True)


def test_the_readme_quotes_means_over_seeds_and_how_far_another_processor_moves_one():
    readme = (tables.ROOT / "README.md").read_text(encoding="utf-8")
    (row,) = [line for line in readme.splitlines() if line.startswith("| Bias-IR distance from an even choice")]
    records = tables.ROOT / "experiments" / "ccd" / "records"
    values = [
        Record.load(records / name).metrics()["after/bias_ir/average/deviation"]
        for name in ("seed_42", "seed_43", "seed_44", "seed_42_elsewhere")
    ]
    assert f"| {sum(values[:3]) / 3:.3f} ({min(values[:3]):.3f} to {max(values[:3]):.3f}) |" in row
    assert f"| {values[0]:.3f}, {values[3]:.3f} |" in row
    assert abs(values[0] - values[3]) > 0.02


def test_what_the_page_says_of_the_linear_map():
    for run in sorted((ccd.RECORDS / "linear" / "minilm").iterdir()):
        found = ccd.readings(f"linear/minilm/{run.name}")
        value = {key: reading.value for key, reading in found.items()}

        def relative(key, value=value):
            return value[f"after/{key}"] / value[f"before/{key}"] - 1

        assert -0.90 < relative("cced/winogender/gap") < -0.85
        assert -0.30 < relative("seat/average/absolute_effect_size") < -0.20
        assert all(found[f"after/seat/{test}/effect_size"].high < 0 for test in ("7", "8"))
        assert value["after/bias_ir/average/margin"] < value["before/bias_ir/average/margin"] < 0
        assert value["after/stsb/dev/spearman"] > value["before/stsb/dev/spearman"] - 0.5
