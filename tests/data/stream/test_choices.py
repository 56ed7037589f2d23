"""Perturbed rows and examples, and manifests of choices."""

import json
from types import SimpleNamespace

import pytest

from fairlab.augmentation.perturbation import CHOICE, Perturbation, text_sha256
from fairlab.data.published.task_files import read_task
from fairlab.data.published.tasks import TASKS, Example
from fairlab.data.stream.choices import perturb_examples, read_perturbed, with_choices
from fairlab.data.stream.rows import read_rows, task_rows
from fairlab.types import DataUnavailable, FairlabError, Row
from tests.conftest import write_rows


def rows(*texts):
    return [Row(str(k), text, {}, f"line {k}", k) for k, text in enumerate(texts, start=1)]


def choices(path, *entries):
    selection = {"start": 0, "word": "He", "axis": "gender", "source": "man", "target": "woman"}
    lines = [
        json.dumps({"number": number, "sha256": text_sha256(text), **selection}) + "\n" for number, text in entries
    ]
    path.write_text("".join(lines))
    return path


def test_rows_meet_their_choices(tmp_path):
    file = choices(tmp_path / "c.jsonl", (2, "He left."))
    found = list(with_choices(rows("It rained.", "He left.", "It froze."), file))
    assert [CHOICE in row.extra for row in found] == [False, True, False]
    assert found[1].extra[CHOICE]["target"] == "woman"


@pytest.mark.parametrize(
    ("entries", "message"),
    [
        ([(2, "She left.")], "a text that differs from row 2"),
        ([(4, "He left.")], "chooses a word of row 4, which is missing"),
    ],
)
def test_a_manifest_of_other_data_is_refused(tmp_path, entries, message):
    file = choices(tmp_path / "c.jsonl", *entries)
    with pytest.raises(FairlabError, match=message):
        list(with_choices(rows("It rained.", "He left."), file))


def test_a_file_that_is_no_manifest_is_refused(tmp_path):
    with pytest.raises(DataUnavailable, match="is not a file"):
        list(with_choices(rows("He left."), tmp_path / "none.jsonl"))
    (tmp_path / "bad.jsonl").write_text('{"number": 1}\n')
    with pytest.raises(FairlabError, match=r"bad\.jsonl line 1 is not a choice"):
        list(with_choices(rows("He left."), tmp_path / "bad.jsonl"))


def test_examples_keep_label_order_and_number():
    examples = [
        Example("It rained.", None, 0),
        Example("A man sank his boat.", "The man lost his boat.", 1),
        Example("A girl read.", "Who read?", 2, ("the girl", "the dog", "it", "all")),
    ]
    made = perturb_examples(examples, Perturbation(axes=["gender"], sampling="uniform"))
    assert made.examples[0] == examples[0]
    assert [example.label for example in made.examples] == [0, 1, 2]
    assert made.axes == ["", "gender", "gender"]
    assert made.counts == {"examples": 3, "chosen": 2, "perturbed/gender": 2}
    assert len(made.examples[2].options) == 4
    assert made.examples[2].options[1:] == examples[2].options[1:]


def test_a_faulty_rewrite_is_counted_and_leaves_its_example():
    choice = SimpleNamespace(axis="gender")
    faults, asked = iter([("", ""), ("harm", "")]), []
    perturbation = SimpleNamespace(
        choices=None,
        weights=len,
        choose=lambda texts, numbers, weights: asked.append((list(numbers), weights)) or [choice, None, choice],
        rewrite=lambda examples, chosen: [SimpleNamespace(fields=["new"], fault=next(faults)) for _ in examples],
    )
    examples = [Example(text, None, 0) for text in "abc"]
    made = perturb_examples(examples, perturbation)
    assert asked == [([1, 2, 3], 3)]
    assert made.examples == [Example("new", None, 0), *examples[1:]]
    assert (made.axes, made.counts) == (
        ["gender", "", ""],
        {"examples": 3, "chosen": 2, "perturbed/gender": 1, "harm": 1},
    )


def test_fields_of_every_task_come_back():
    for task in TASKS.values():
        example = Example("a", None if len(task.field_names) == 1 else "b", 0, ("c", "d", "e", "f") * task.options)
        assert len(task.field_names) == len(example.fields)
        assert example.with_fields(example.fields) == example


def test_several_columns_are_one_text(tmp_path):
    (tmp_path / "p.csv").write_text("premise,hypothesis,label\nHe ran.,He moved.,1\nHe ran.,,0\n")
    good, bad = read_rows(str(tmp_path / "p.csv"), ["premise", "hypothesis"])
    assert good.text == "He ran. <SEP> He moved."
    assert (good.names, good.fields, good.extra) == (
        ["premise", "hypothesis"],
        ["He ran.", "He moved."],
        {"label": "1"},
    )
    assert "no text in the field 'hypothesis'" in bad.reason


@pytest.mark.data
@pytest.mark.parametrize(
    ("name", "examples"), [("qnli_halves", 5463), ("sst2_halves", 9613), ("qqp_halves", 9999), ("bios", 1270)]
)
def test_two_halves_share_no_first_text_and_lose_none(name, examples):
    train, dev = (read_task(name, split) for split in ("train", "dev"))
    assert not {example.first for example in train} & {example.first for example in dev}
    assert len(train) + len(dev) == examples
    assert abs(len(train) - len(dev)) < 300


@pytest.mark.data
def test_rows_of_a_task():
    row = next(iter(task_rows("task:rte:dev")))
    assert row.names == ["sentence1", "sentence2"]
    assert row.extra == {"label": "not_entailment"}
    assert (row.id, row.number, row.place) == ("1", 1, "row 1")


def test_a_choice_of_an_earlier_perturbation_is_replaced_and_a_column_of_this_name_refused(tmp_path):
    file = choices(tmp_path / "c.jsonl", (2, "He left."))
    rows = [
        Row(str(k), text, {CHOICE: {"word": "old"}}, f"line {k}", k) for k, text in ((1, "It is."), (2, "He left."))
    ]
    first, second = with_choices(rows, file)
    assert first.extra == {}  # its text has changed since that choice
    assert second.extra[CHOICE]["word"] == "He"
    own = Row("1", "It is.", {CHOICE: "b"}, "line 1", 1)
    with pytest.raises(FairlabError, match=r"line 1: the column 'choice' would be lost, because .*c\.jsonl fills it"):
        list(with_choices([own], file))


def test_examples_meet_their_choices_by_number(tmp_path):
    examples = [Example("It rained.", None, 0), Example("He left.", None, 1), Example("He left.", None, 0)]
    file = choices(tmp_path / "c.jsonl", (2, "He left."))
    made = perturb_examples(examples, Perturbation(axes=["gender"], sampling="uniform", choices=str(file)))
    assert made.examples == [examples[0], Example("She left.", None, 1), examples[2]]
    assert (made.axes, made.changed) == (["", "gender", ""], [1])
    assert made.counts == {"examples": 3, "chosen": 1, "perturbed/gender": 1}


def test_an_output_is_read_with_its_axes(tmp_path, monkeypatch):
    choice = {"axis": "gender"}
    lines = [
        {"id": "1", "sentence": "It rained.", "perturbed": False},
        {"id": "2", "sentence": "She left.", "perturbed": True, "source_text": "He left.", CHOICE: choice},
    ]
    write_rows(tmp_path / "rows.jsonl", lines)
    monkeypatch.setattr("fairlab.data.stream.choices.data_files", lambda folder: [folder / "rows.jsonl"])
    examples = [Example("It rained.", None, 0), Example("He left.", None, 1)]
    found = read_perturbed(tmp_path, examples, ["sentence"])
    assert found.examples == [examples[0], Example("She left.", None, 1)]
    assert (found.axes, found.counts) == (["", "gender"], {"examples": 2, "perturbed/gender": 1})
    with pytest.raises(FairlabError, match="row 2 is a different text"):
        read_perturbed(tmp_path, [examples[0], Example("It left.", None, 1)], ["sentence"])
    with pytest.raises(FairlabError, match="is not a perturbation of these 1 examples"):
        read_perturbed(tmp_path, examples[:1], ["sentence"])


@pytest.mark.parametrize("row", ['{"text": "a"}', '{"sentence": "a"}', '{"text": "a", "perturbed": false}'])
def test_an_output_of_other_fields_is_refused(tmp_path, monkeypatch, row):
    (tmp_path / "rows.jsonl").write_text(row + "\n")
    monkeypatch.setattr("fairlab.data.stream.choices.data_files", lambda folder: [folder / "rows.jsonl"])
    with pytest.raises(FairlabError, match="is not a perturbation of these 1 examples"):
        read_perturbed(tmp_path, [Example("a", None, 0)], ["sentence"])
