import json
import lzma

import pytest

from fairlab.data.groups import groups_files, read_groups, texts_of_groups
from fairlab.types import DataUnavailable, FairlabError
from tests.conftest import make_groups, row, write_rows

GOOD = row(make_groups(1)[0])


def versions(**changes):
    return GOOD | {"versions": GOOD["versions"] | changes}


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        ({"id": "1", "axis": "gender", "versions": {"neutral": "x", "man": "y"}}, "needs the versions 'neutral' and"),
        ({"id": "1", "axis": "gender", "versions": {"man": "x", "woman": "y"}}, "needs the versions 'neutral' and"),
        ({"id": "1", "axis": "gender"}, "has no 'versions'"),
        (["a list"], "has no 'versions'"),
        (versions(man=""), "the version 'man' is empty"),
        (versions(man="  \n"), "the version 'man' is empty"),
        (versions(woman=7), "the version 'woman' is int, not text"),
        (versions(woman=None), "the version 'woman' is NoneType, not text"),
        ({key: value for key, value in GOOD.items() if key != "id"}, "has no 'id'"),
        (GOOD | {"axis": ""}, "has no 'axis'"),
        (GOOD | {"id": "a\0b"}, "contains a NUL character"),
        (versions(man="a\ud83d"), "contains half a surrogate pair"),
        (GOOD | {"axis": "a\x1bb"}, "contains a control character"),
        (versions(**{"a\x1bb": "x"}), "contains a control character"),
        (GOOD, "the id 'g0' was already used in line 1"),
        (GOOD | {"id": "2", "versions": GOOD["versions"] | {"nonbinary": "x"}}, "every group needs the same versions"),
    ],
)
def test_a_bad_row_is_named_by_file_and_line(tmp_path, bad, message):
    path = write_rows(tmp_path / "groups.jsonl", [GOOD, bad])
    with pytest.raises(FairlabError, match=message) as error:
        read_groups(path)
    assert f"{path} line 2" in str(error.value)
    assert "\n" not in str(error.value)


def test_broken_json_and_broken_utf8(tmp_path):
    path = tmp_path / "groups.jsonl"
    path.write_text(json.dumps(GOOD) + "\n{oops\n")
    with pytest.raises(FairlabError, match="line 2 is not JSON"):
        read_groups(str(path))
    path.write_bytes(b'{"id": "\xff"}')
    with pytest.raises(FairlabError, match="is not UTF-8 text"):
        read_groups(str(path))


def test_a_file_that_is_not_there(tmp_path):
    with pytest.raises(DataUnavailable, match=r"is not a file; give counterfactual groups .* embedded/people"):
        read_groups(str(tmp_path / "none.jsonl"))
    with pytest.raises(DataUnavailable, match="embedded/nothing is not a file"):
        read_groups("embedded/nothing")


@pytest.mark.parametrize("content", ["", "\n\n"])
def test_an_empty_data_set(tmp_path, content):
    path = tmp_path / "groups.jsonl"
    path.write_text(content)
    with pytest.raises(FairlabError, match="holds no counterfactual group"):
        read_groups(str(path))


def test_groups_of_tables(tmp_path):
    """Versions in one column or in one column each, in a file or in splits."""
    flat = {f"versions.{name}": text for name, text in GOOD["versions"].items()}
    (tmp_path / "a.csv").write_text(f"id,axis,{','.join(flat)}\ng0,gender,{','.join(flat.values())}\n")
    (tmp_path / "b.json").write_text(json.dumps([GOOD]))
    (tmp_path / "e.json").write_text(json.dumps([GOOD | {"note": "é"}]))
    assert '"é"' in next(texts_of_groups(str(tmp_path / "e.json")))
    for name, place in (("a.csv", "line 3"), ("b.json", "row 2")):
        path = tmp_path / name
        assert read_groups(str(path)) == make_groups(1)
        assert [json.loads(text)["id"] for text in texts_of_groups(str(path))] == ["g0"]
        again = path.read_text()
        path.write_text(again + again.splitlines()[-1] + "\n" if name == "a.csv" else json.dumps([GOOD, GOOD]))
        with pytest.raises(FairlabError, match=f"{name} {place}: the id 'g0' was already used in"):
            read_groups(str(path))
    (tmp_path / "c.csv").write_text("id,axis\n1\n")
    with pytest.raises(FairlabError, match=r"c\.csv, line 2: 1 column"):
        read_groups(str(tmp_path / "c.csv"))


def test_groups_of_a_saved_dataset_keep_their_splits(tmp_path):
    from datasets import Dataset, DatasetDict

    held, taught = make_groups(2)
    splits = {"train": Dataset.from_list([row(taught)]), "test": Dataset.from_list([row(held)])}
    DatasetDict(splits).save_to_disk(tmp_path / "saved")
    assert {group.id: group.extra["split"] for group in read_groups(str(tmp_path / "saved"))} == {
        "g1": "train",
        "g0": "test",
    }
    assert groups_files(str(tmp_path / "saved")) == []


def test_more_than_two_attributes_and_further_keys_are_kept(tmp_path):
    group = GOOD | {"versions": {"young": "b", "neutral": "a", "old": "c", "child": "d"}, "source": "me", "axis": "age"}
    read = read_groups(write_rows(tmp_path / "groups.jsonl", [group]))[0]
    assert read.attributes == ("child", "old", "young")
    assert read.texts == ["a", "d", "c", "b"]
    assert read.extra == {"source": "me"}


def test_groups_read_back_as_written(tmp_path):
    groups = make_groups(5)
    assert read_groups(write_rows(tmp_path / "groups.jsonl", [row(group) for group in groups])) == groups


def test_a_compressed_file_of_groups_is_read(tmp_path):
    text = "\n".join(json.dumps(row(one)) for one in make_groups(2))
    (tmp_path / "own.jsonl.xz").write_bytes(lzma.compress(text.encode()))
    assert [one.id for one in read_groups(str(tmp_path / "own.jsonl.xz"))] == [one.id for one in make_groups(2)]
    assert list(texts_of_groups(str(tmp_path / "own.jsonl.xz"))) == [text]
    assert len(read_groups("embedded/short")) == 1854
    with pytest.raises(DataUnavailable, match=r"embedded/pronouns, .*embedded/short, .*embedded/terms"):
        read_groups("embedded/shorts")
