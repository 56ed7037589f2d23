"""Saved datasets, datasets of the hub, and tables of groups and tasks."""

import json

import pyarrow
import pytest
from datasets import ClassLabel, Dataset, DatasetDict, Features, Json, List, Value
from pyarrow import parquet

from fairlab.data.groups import read_groups
from fairlab.data.published.task_files import read_task
from fairlab.data.stream.features import description_of, features_written
from fairlab.data.stream.formats import found_in
from fairlab.data.stream.manifest import dataset_facts
from fairlab.data.stream.rows import read_rows
from fairlab.data.stream.saved import opened
from fairlab.types import FairlabError
from tests.conftest import make_groups, row


@pytest.fixture
def saved(tmp_path):
    """Two splits of two texts and one."""
    parts = {"train": ["a", "b"], "test": ["c"]}
    DatasetDict({name: Dataset.from_dict({"text": texts}) for name, texts in parts.items()}).save_to_disk(
        tmp_path / "d"
    )
    return str(tmp_path / "d")


def texts(source, **settings):
    return [(one.split, one.place, one.number, one.text) for one in read_rows(source, **settings)]


def test_splits_are_read_in_order_and_numbered_through(saved):
    all_of_them = [
        ("train", "train, row 1", 1, "a"),
        ("train", "train, row 2", 2, "b"),
        ("test", "test, row 1", 3, "c"),
    ]
    assert texts(saved, every_split=True) == all_of_them
    assert texts(saved) == all_of_them[:2]  # what is not named is train
    assert texts(f"{saved}:test") == [("test", "test, row 1", 1, "c")]
    assert list(found_in(saved)) == ["train"]


@pytest.mark.parametrize(("source", "config", "splits"), [("a/b", None, ["x", "y"]), ("a/b:c:y", "c", ["y"])])
def test_a_dataset_of_the_hub_is_streamed(monkeypatch, source, config, splits):
    asked = []

    def load_dataset(*names, streaming):
        asked.append((*names, streaming))
        return {"x": [], "y": []}

    monkeypatch.setattr("datasets.load_dataset", load_dataset)
    monkeypatch.setattr("fairlab.data.stream.saved.no_answer_of", lambda address: "")
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", False)
    assert list(opened(source)) == splits
    assert asked == [("a/b", config, True)]


def test_where_no_split_is_for_training_one_is_named(tmp_path):
    part = Dataset.from_dict({"text": ["a"]})
    DatasetDict({"dev": part, "test": part}).save_to_disk(tmp_path / "d")
    with pytest.raises(FairlabError, match="has the splits dev, test and no 'train'; name one as"):
        read_rows(str(tmp_path / "d"))
    part.save_to_disk(tmp_path / "one")
    assert texts(str(tmp_path / "one")) == [("", "row 1", 1, "a")]
    with pytest.raises(FairlabError, match="has no split 'train'; there are: none, so leave it out"):
        read_rows(f"{tmp_path}/one:train")
    (tmp_path / "d" / "dataset_dict.json").write_text(json.dumps({"splits": []}))
    with pytest.raises(FairlabError, match="d has no splits; copy or save the dataset again"):
        description_of(str(tmp_path / "d"))


def test_its_hash_is_that_of_its_files(saved, tmp_path):
    first = dataset_facts(saved)
    assert first["name"] == "d"
    assert dataset_facts(saved) == first
    DatasetDict({"train": Dataset.from_dict({"text": ["z"]})}).save_to_disk(tmp_path / "other")
    assert dataset_facts(str(tmp_path / "other"))["sha256"] != first["sha256"]


def test_a_list_of_json_objects_and_json_lines_of_that_ending(tmp_path):
    (tmp_path / "a.json").write_text('[{"text": "a"}, 3, {"text": "b"}]')
    good, bad, second = read_rows(str(tmp_path / "a.json"))
    assert (good.text, good.place, second.number) == ("a", "row 1", 3)
    assert bad.reason == "a JSON object was expected, not int"
    (tmp_path / "b.json").write_text('{"text": "a"}\n{"text": "b"}\n')
    assert [one.text for one in read_rows(str(tmp_path / "b.json"))] == ["a", "b"]


def test_a_column_keeps_its_type_where_what_was_written_fits(tmp_path):
    known = {"label": ClassLabel(names=["no", "yes"]), "day": Value("date32"), "id": Value("int64"), "n": Value("int8")}
    known |= {"any": Json(), "whole": {"a": Value("int8")}, "more": {"a": Value("int8")}}
    rows = [
        {"id": "1", "label": 1, "day": "2024-01-02", "n": "many", "mixed": 1, "tags": []},
        {"id": "2", "label": None, "day": None, "n": None, "mixed": "x", "tags": ["a"], "late": 0.5},
    ]
    rows[0] |= {"any": {"a": 1}, "whole": {"a": 1}, "more": {"a": 1}}
    rows[1] |= {"any": {"a": 2}, "whole": None, "more": {"a": 2, "b": "x"}}
    files = [tmp_path / "data-00000.jsonl", tmp_path / "data-00001.jsonl"]
    for file, one in zip(files, rows, strict=True):
        file.write_text(json.dumps(one) + "\n")
    assert features_written(files, known) == Features(
        {
            "id": Value("string"),
            "label": known["label"],
            "day": known["day"],
            "n": Value("string"),
            "mixed": Json(),
            "tags": List(Value("string")),
            "any": Json(),
            "whole": known["whole"],
            "more": {"a": Value("int64"), "b": Value("string")},
            "late": Value("float64"),
        }
    )


def test_bytes_are_no_text(tmp_path):
    Dataset.from_dict({"text": ["a"], "more": [{"picture": b"png"}]}).save_to_disk(tmp_path / "d")
    with pytest.raises(FairlabError, match=r"the column 'more' of .* contains bytes"):
        description_of(str(tmp_path / "d"))


def test_a_column_of_an_unknown_type_leaves_the_types_of_the_others(tmp_path):
    columns = {"text": ["a"], "n": pyarrow.array([1], pyarrow.int8())}
    columns["map"] = pyarrow.array([[("k", 1)]], pyarrow.map_(pyarrow.string(), pyarrow.int8()))
    parquet.write_table(pyarrow.table(columns), tmp_path / "a.parquet")
    found = description_of(str(tmp_path / "a.parquet")).features
    assert found == {"text": Value("string"), "n": Value("int8")}


@pytest.mark.parametrize("kind", ["saved", "parquet", "json", "csv"])
def test_groups_in_tables_are_those_in_json_lines(tmp_path, kind):
    rows = [row(group) for group in make_groups(3)]
    data, place = Dataset.from_list(rows), tmp_path / f"groups.{kind}"
    if kind == "csv":
        data.flatten().to_csv(place)  # versions.neutral, versions.man, ...
    else:
        {"saved": data.save_to_disk, "parquet": data.to_parquet, "json": data.to_json}[kind](place)
    assert [(one.id, one.axis, one.versions) for one in read_groups(str(place))] == [
        (one.id, one.axis, one.versions) for one in make_groups(3)
    ]


def test_splits_of_saved_groups_are_theirs(tmp_path):
    rows = [row(group) for group in make_groups(3)]
    parts = DatasetDict({"train": Dataset.from_list(rows[:2]), "test": Dataset.from_list(rows[2:])})
    parts.save_to_disk(tmp_path / "d")
    assert [one.extra["split"] for one in read_groups(str(tmp_path / "d"))] == ["train", "train", "test"]


@pytest.mark.parametrize("kind", ["saved", "csv", "parquet"])
def test_a_labelled_task_of_ones_own(tmp_path, kind):
    features = Features({"sentence": Value("string"), "label": ClassLabel(names=["0", "1"])})
    part = Dataset.from_dict({"sentence": ["good film", "bad film"], "label": [1, 0]}, features=features)
    folder = tmp_path / "task"
    if kind == "saved":
        DatasetDict({"train": part}).save_to_disk(folder)
    else:
        folder.mkdir()
        {"csv": part.to_csv, "parquet": part.to_parquet}[kind](folder / f"train.{kind}")
    examples = read_task("sst2", "train", str(folder))
    assert [(one.first, one.label) for one in examples] == [("good film", 1), ("bad film", 0)]
