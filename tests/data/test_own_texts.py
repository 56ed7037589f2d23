"""Labelled texts of one's own: labels in any spelling, pairs, scores, and what is wrong with a file."""

import datasets
import pandas
import pytest

from fairlab.data.own_texts import OwnTexts, own_task
from fairlab.types import FairlabError

ROWS = [{"Review text": f"She saw number {k}.", "why": f"He knew {k}.", "Stars": k % 3 + 1.0} for k in range(40)]


@pytest.fixture
def csv(tmp_path):
    def write(rows=ROWS, name="my reviews.csv"):
        pandas.DataFrame(rows).to_csv(tmp_path / name, index=False)
        return str(tmp_path / name)

    return write


def test_labels_are_the_values_of_the_column_in_order(csv):
    task, examples = own_task(csv(), "Review text", "Stars")
    assert task.labels == ("1", "2", "3")
    assert task.name == "my reviews"
    assert [one.label for one in examples[:4]] == [0, 1, 2, 0]
    assert examples[0].second is None


def test_labels_are_named_in_the_order_given(csv):
    rows = [one | {"Stars": ("Yes", "no")[k % 2]} for k, one in enumerate(ROWS)]
    task, examples = own_task(csv(rows), "Review text", "Stars", ["no", "yes"])
    assert task.labels == ("no", "yes")
    assert [one.label for one in examples[:2]] == [1, 0]


def test_classes_of_a_saved_dataset_keep_their_names_and_order(tmp_path):
    kinds = datasets.Features({"text": datasets.Value("string"), "label": datasets.ClassLabel(names=["good", "bad"])})
    rows = {"text": ["He left.", "She ran.", "They sat."], "label": [1, 0, -1]}
    saved = datasets.Dataset.from_dict(rows, features=kinds)
    saved.select([0, 1]).save_to_disk(tmp_path / "named")
    for labels, found in [(None, [1, 0]), (["bad", "good"], [0, 1])]:
        task, examples = own_task(str(tmp_path / "named"), "text", "label", labels)
        assert (task.labels, [one.label for one in examples]) == (tuple(labels or ("good", "bad")), found)
    saved.save_to_disk(tmp_path / "unlabelled")
    with pytest.raises(FairlabError, match="row 3: 'label' has no class -1; give a label or remove the row"):
        own_task(str(tmp_path / "unlabelled"), "text", "label")


def test_a_hundred_labels_are_not_too_many(csv):
    task, _ = own_task(csv([one | {"Stars": k % 100} for k, one in enumerate(ROWS * 3)]), "Review text", "Stars")
    assert len(task.labels) == 100


def test_pairs_and_scores(csv):
    task, examples = own_task(csv(), ["Review text", "why"], "Stars", [])
    assert task.labels == ()
    assert examples[4].pairs == [("She saw number 4.", "He knew 4.")]
    assert examples[4].label == 2.0


def test_a_module_holds_rows_out(csv, tiny):
    settings = {"validation": 0.2, "batch_size": 8, "limit": None, "epochs": 1, "seed": 0}
    data = OwnTexts(path=csv(), field="Review text", label="Stars", labels=None, encoder=tiny, **settings)
    assert len(data.examples["train"]) + len(data.examples["validation"]) == 40
    assert data.facts()["task"] == "my reviews"
    assert data.collate("train", [0, 1]).labels.dtype.is_floating_point is False


@pytest.mark.parametrize(
    ("rows", "given", "words"),
    [
        (ROWS, ("text", "Stars"), "has no column 'text'; it has: Review text, why, Stars"),
        (ROWS, ("Review text", "label"), "has no column 'label'; it has: why, Stars; give data.label=COLUMN"),
        (ROWS, ("Review text", "Stars", ["1", "2"]), "line 4: '3' in 'Stars' is not in data.labels"),
        (ROWS, (["Review text", "why", "Stars"], "Stars"), "data.field names too many columns"),
        (ROWS, ("Review text", ["Stars", "why"]), "data.label names too many columns"),
        ([*ROWS, ROWS[0] | {"Stars": None}], ("Review text", "Stars"), "line 42: the cell of 'Stars' is empty"),
        (
            [*ROWS, ROWS[0] | {"Stars": "none"}],
            ("Review text", "Stars"),
            "line 42: the cell of 'Stars' holds 'none', which",
        ),
        ([one | {"Stars": "good"} for one in ROWS], ("Review text", "Stars", []), "'good' in 'Stars' is not a number"),
        ([one | {"Stars": k} for k, one in enumerate(ROWS * 3)], ("Review text", "Stars"), "has 120 values"),
    ],
)
def test_bad_files_end_in_a_sentence(csv, rows, given, words):
    with pytest.raises(FairlabError) as error:
        own_task(csv(rows), *given)
    assert words in str(error.value)
    assert "\n" not in str(error.value)
