import numpy as np
import pytest

from fairlab.data.published.task_files import parse_examples
from fairlab.data.published.tasks import find_task
from fairlab.text.labels import as_written, is_missing, label_meant
from fairlab.types import FairlabError

DIGITS = ("0", "1", "negative", "positive")


@pytest.mark.parametrize(
    "value",
    [1, "1", 1.0, "1.0", "1.", " 1 ", True, "True", "TRUE", np.float64(1), np.bool_(True), "Positive", "POSITIVE "],
)
def test_spellings_of_one_label(value):
    assert label_meant(value, DIGITS) in ("1", "positive")


@pytest.mark.parametrize("value", [2, 1.5, "1.01", "yes", "-1", "", "posit", None, float("nan")])
def test_other_values_mean_no_label(value):
    assert label_meant(value, DIGITS) is None


def test_the_exact_spelling_comes_first():
    assert label_meant("True", ["true", "True"]) == "True"
    assert label_meant("TRUE", ["true", "1"]) == "true"
    assert label_meant("not equivalent", ["equivalent", "not_equivalent"]) == "not_equivalent"
    assert label_meant("-1", ["-", "-1"]) == "-1"


def test_missing_labels():
    assert all(map(is_missing, (None, float("nan"), "", " ", "NaN", "null", "None")))
    assert not any(map(is_missing, (0, "0", False, "-", "none of these")))
    assert as_written(-1.0) == "-1"


def write(folder, rows):
    (folder / "train.csv").write_text(
        "premise,hypothesis,sentence,label\n" + "".join(f"a,b,c,{label}\n" for label in rows)
    )
    return folder / "train.csv"


def test_rows_without_a_label_follow_one_rule_of_the_task(tmp_path):
    file = write(tmp_path, ["0", "", "nan", "-", "-1.0", "2.0"])
    assert [one.label for one in parse_examples(file, find_task("snli"))] == [0, 2]
    file = write(tmp_path, ["0", "", "1"])
    with pytest.raises(FairlabError, match=r"train\.csv line 3 has no label; sst2 has 0, 1, so fill it in or remove"):
        parse_examples(file, find_task("sst2"))


def test_a_boolean_says_nothing_about_three_labels(tmp_path):
    (tmp_path / "train.jsonl").write_text('{"premise": "a", "hypothesis": "b", "label": true}\n')
    with pytest.raises(FairlabError, match="has the label 'True'; snli has 0, 1, 2"):
        parse_examples(tmp_path / "train.jsonl", find_task("snli"))
