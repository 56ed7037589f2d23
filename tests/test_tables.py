"""Tables in the documentation are those the committed records give."""

import pytest
import yaml

from experiments import tables
from experiments.ccd import picture
from experiments.ccd import tables as ccd
from experiments.rendering import matrix_table
from fairlab.record import Reading, Record


@pytest.mark.parametrize("page", tables.PAGES)
def test_a_page_shows_what_its_records_hold(page):
    assert tables.filled(page) == (tables.ROOT / page).read_text(encoding="utf-8")


def test_the_picture_of_the_ccd_page_is_made_of_its_records():
    assert picture.FILE.read_text(encoding="utf-8") == picture.picture()
    assert {one["method"] for one in picture.points()} == set(picture.COLOURS)


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


# Ranges of what the page says: the gap, SEAT's average, the deviation and STS-B, by encoder.
LINEAR = {
    "minilm_mlm": {"gap": (-0.90, -0.89), "seat": (-0.41, -0.39), "deviation": (0.10, 0.112), "sts": (-0.35, -0.30)},
    "mpnet": {"gap": (-0.84, -0.82), "seat": (0.09, 0.12), "deviation": (0.09, 0.11), "sts": (-0.58, -0.54)},
}


@pytest.mark.parametrize("encoder", LINEAR)
@pytest.mark.parametrize("seed", ccd.SEEDS)
def test_what_the_page_says_of_the_linear_map(encoder, seed):
    found = ccd.readings(f"linear/{encoder}/{seed}")
    value = {key: reading.value for key, reading in found.items()}

    def change(key):
        return value[f"after/{key}"] / value[f"before/{key}"] - 1

    said = {
        "gap": change("cced/winogender/gap"),
        "seat": change("seat/average/absolute_effect_size"),
        "deviation": value["after/bias_ir/average/deviation"],
        "sts": value["after/stsb/dev/spearman"] - value["before/stsb/dev/spearman"],
    }
    for name, (low, high) in LINEAR[encoder].items():
        assert low < said[name] < high, name
    beyond_zero = {
        test for test in ("6", "6b", "7", "7b", "8", "8b") if found[f"after/seat/{test}/effect_size"].high < 0
    }
    assert beyond_zero == {"7"}
    assert found["after/bias_ir/average/male_ratio"].p > 0.05
    record = Record.load(ccd.RECORDS / "linear" / encoder / seed)
    margin = next(one for one in record.comparisons if one.key == ccd.MARGIN)
    assert margin.difference < 0
    assert (margin.p < 0.05) == (encoder == "mpnet")


def test_what_the_page_says_of_the_direction():
    turned = {(one["method"], one["seed"]): one for one in picture.points()}
    encoder, projection = turned["CCD in the encoder", 42], turned["SentenceDebias", 42]
    assert encoder["cosine"] > 0.9
    assert encoder["length_kept"] < 0.25
    assert abs(projection["cosine"]) < 0.3
    assert turned["linear map", 42]["length_kept"] == pytest.approx(0.28, abs=0.01)
