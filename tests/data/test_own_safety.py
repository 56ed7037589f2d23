"""Labelled texts of one's own, from any table."""

from __future__ import annotations

import json
from functools import partial

import pandas as pd
import pytest
from datasets import Dataset

from fairlab.augmentation.identity import Identity
from fairlab.data.own_safety import TableColumns, harm_name
from fairlab.data.safety import SafetyData, made_of
from fairlab.data.safety_readers import read_safety
from fairlab.data.safety_texts import json_rows
from fairlab.data.stream.manifest import Manifest
from fairlab.data.stream.shards import make_shards
from fairlab.types import FairlabError, Row
from tests.conftest import write_rows

ROWS = [
    {"comment": "Blind people are useless.", "group": "disability:blind", "Spam": 0, "Self-Harm": 1, "score": 0.5},
    {"comment": "Buy now!", "group": "--", "Spam": 1, "Self-Harm": 0, "score": 0.25},
    {"comment": "A Muslim baker.", "group": "Religion:Islam", "Spam": 0, "Self-Harm": None, "score": 1.0},
]
ROWS = [one | {"void": None} for one in ROWS]
COLUMNS = TableColumns(text="comment", subgroup="group")


def written(folder, ending):
    file = folder / f"mine.{ending}"
    table = pd.DataFrame(ROWS)
    if ending in ("csv", "tsv"):
        table.to_csv(file, sep="\t" if ending == "tsv" else ",", index=False)
    elif ending == "parquet":
        table.to_parquet(file)
    else:
        file.write_text("".join(json.dumps(row) + "\n" for row in ROWS), encoding="utf-8")
    return str(file)


@pytest.mark.parametrize("ending", ["csv", "tsv", "parquet", "jsonl"])
def test_every_format_gives_the_same_texts(tmp_path, ending):
    texts = read_safety("own", written(tmp_path, ending), COLUMNS)
    assert [text.labels for text in texts] == [{"spam": 0, "self_harm": 1}, {"spam": 1, "self_harm": 0}, {"spam": 0}]
    assert [text.subgroup for text in texts] == ["disability:blind", "", "Religion:Islam"]
    assert [text.key for text in texts] == ["1", "2", "3"]
    assert all(text.seed for text in texts)
    named = read_safety("own", written(tmp_path, ending), TableColumns(text="comment", labels=["Spam"]))
    assert [text.labels for text in named] == [{"spam": 0}, {"spam": 1}, {"spam": 0}]
    assert {text.subgroup for text in named} == {""}


def test_names_of_harms():
    assert harm_name("hate/threatening", "x") == "hate_threatening"
    assert harm_name("Grob unhöflich, größer", "x") == "grob_unhoflich_grosser"
    assert harm_name("V2", "x") == "v2"
    for name in ("12", "1a", "насилие"):
        with pytest.raises(FairlabError, match=rf"row 3: '{name}' is not a valid name of a harm.* a Latin letter"):
            harm_name(name, "row 3")


def test_two_columns_of_one_harm_are_refused(tmp_path):
    (tmp_path / "own.csv").write_text("text,Self harm,self-harm\na text,1,0\nanother,0,1\n", encoding="utf-8")
    with pytest.raises(FairlabError, match=r"'Self harm' and 'self-harm' both name the harm self_harm; rename one"):
        read_safety("own", str(tmp_path / "own.csv"))


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        (TableColumns(), r"has no text in the column 'text'; it has: comment, .*data\.columns\.text=NAME"),
        (TableColumns(text="comment", labels=["x"]), r"has no column 'x' of labels; it has: comment, group, Spam"),
        (
            TableColumns(text="comment", labels=["score"]),
            r"line 2, score: a label must be 0 .* not '0\.5'",
        ),
        (TableColumns(text="comment", key="Spam", subgroup="Self-Harm"), r"has no column of labels 0 and 1"),
        (
            TableColumns(text="comment", subgroup="who"),
            r"has no column 'who' of subgroups; it has: comment, group, Spam",
        ),
    ],
)
def test_bad_columns_are_named(tmp_path, columns, message):
    with pytest.raises(FairlabError, match=message):
        read_safety("own", written(tmp_path, "csv"), columns)


def test_a_table_of_another_separator_is_said_to_be_one_column(tmp_path):
    (tmp_path / "own.csv").write_text("comment;rude\na text;1\nanother;0\n", encoding="utf-8")
    with pytest.raises(FairlabError, match="has a single column, 'comment;rude'; separate its cells by commas"):
        read_safety("own", str(tmp_path / "own.csv"), TableColumns(text="comment"))


def own_data(path, augmentation, columns=COLUMNS):
    return SafetyData(
        name="own", path=path, held_out=[], folds=3, repeats=1, seed=0, columns=vars(columns), augmentation=augmentation
    )


def test_a_saved_dataset_is_a_table(tmp_path):
    Dataset.from_list(ROWS).save_to_disk(tmp_path / "saved")
    texts = read_safety("own", str(tmp_path / "saved"), COLUMNS)
    assert [text.labels["spam"] for text in texts] == [0, 1, 0]


def test_a_row_that_is_no_object_is_named(tmp_path):
    (tmp_path / "a.jsonl").write_text('{"text": "a"}\n3\n')
    rows = json_rows(tmp_path / "a.jsonl")
    assert next(rows)[1] == {"text": "a"}
    with pytest.raises(FairlabError, match=r"a\.jsonl line 2 is int, not a JSON object"):
        next(rows)


def test_labels_in_an_object(tmp_path):
    rows = [{"text": "a", "key": "x", "labels": {"Hate": 1, "spam": None}}, {"text": "b", "labels": {}}]
    path = write_rows(tmp_path / "own.jsonl", rows)
    assert [(text.labels, text.key) for text in read_safety("own", path)] == [({"hate": 1}, "x"), ({}, "2")]
    for wrong, message in ((["hate"], "line 2: labels must be an object"), ({"hate": 2}, "line 2, hate: .* not '2'")):
        with pytest.raises(FairlabError, match=message):
            read_safety("own", write_rows(tmp_path / "own.jsonl", [rows[0], {"text": "b", "labels": wrong}]))


def test_versions_that_cannot_be_made_are_counted(tmp_path):
    """Of the six other religions, two are there; the seed without a label counts as neither safe nor unsafe."""

    class Two(Identity):
        def versions(self, *given):
            return dict(list(super().versions(*given).items())[:2])

    rows = [one | {"group": "Religion:Islam" if "Muslim" in one["comment"] else "--"} for one in ROWS]
    pd.DataFrame(rows).to_csv(tmp_path / "own.csv", index=False)
    facts = own_data(str(tmp_path / "own.csv"), Two()).facts()
    assert (facts["versions_left_out"], facts["seeds_with_versions"], facts["seeds_with_a_subgroup"]) == (4, 1, 1)
    assert facts["unsafe_seeds"] == {"self_harm": 1, "spam": 1}


def test_identities_come_from_lexicons(tmp_path):
    path = written(tmp_path, "csv")
    with pytest.raises(FairlabError, match="text 1 has the subgroup 'disability:blind', which is in no lexicon"):
        own_data(path, Identity())
    both = Identity(identities=["subgroups", "disability"])
    data = own_data(path, both)
    assert data.identities == ("subgroups", "disability")
    assert {text.subgroup.partition(":")[0] for text in data.made} == {"disability", "Religion"}
    assert data.harms() == ["self_harm", "spam"]
    with pytest.raises(FairlabError, match=r"lexicons of different categories, not: .*Religion.*, Religion"):
        Identity(identities=["subgroups", "fairlab/lexicons/subgroups/religion.yaml"])


def test_without_subgroups_words_tell_whom_a_text_is_about(tmp_path):
    data = own_data(written(tmp_path, "csv"), Identity(), TableColumns(text="comment"))
    assert [text.subgroup for text in data.texts if text.seed] == ["", "", "Religion:Islam"]
    assert len(data.made) == 6
    assert own_data(written(tmp_path, "csv"), None, TableColumns(text="comment")).made == []


def test_a_seed_and_its_versions_in_a_folder_are_one_set(tmp_path):
    about = {"A Muslim baker.": "1", "A Hindu film was shown today.": "0", "We met a few Jewish painters in Rome.": "1"}
    rows = [Row("1", text, {"rude": rude}, f"line {k}", k) for k, (text, rude) in enumerate(about.items(), start=2)]
    manifest = Manifest("0", {"name": "x", "sha256": ""}, {})
    for summary in make_shards(rows, partial(Identity, subgroup=None), tmp_path, shard_rows=10):
        manifest.add(summary)
    manifest.write(tmp_path)
    texts = read_safety("own", str(tmp_path))
    assert [text.key for text in texts] == 7 * ["1"] + 7 * ["8"] + 7 * ["15"]  # rows of the seeds, whose ids are equal
    assert [text.labels["rude"] for text in texts] == 7 * [1] + 7 * [0] + 7 * [1]
    assert {*texts[1].labels} == {"rude"}  # no harm is named after the column "corrected" of versions
    assert made_of(texts, Identity()) == []
    facts = own_data(str(tmp_path), Identity(), TableColumns()).facts()
    assert (facts["seeds"], facts["seeds_with_versions"], facts["versions"]["Religion:Judaism"]) == (3, 3, 2)
    assert facts["trained_on"] == "3 seeds of own and 18 versions of them"
