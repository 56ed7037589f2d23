"""Labelled examples in batches, on a tiny random BERT."""

import pytest
import torch

from fairlab.augmentation.perturbation import Perturbation
from fairlab.data.labelled_tasks import LabelledTexts, parted, with_more
from fairlab.data.published.task_files import read_task
from fairlab.data.published.tasks import CLAIMS, TASKS, Example
from fairlab.data.stream.manifest import Manifest
from fairlab.data.text import held_out
from fairlab.files import sha256
from fairlab.types import FairlabError
from tests.conftest import WORDS, write_rows

HEADER = "index\tsentence1\tsentence2\tlabel\n"


@pytest.fixture
def rte(tmp_path):
    """Sixty pairs, each first text in two of them."""
    lines = [
        f"{k}\tthe {WORDS[k // 2 % 11]} of number {k // 2}\tit is {' '.join(WORDS[: k % 7])} {k}\t"
        f"{'entailment' if k % 2 else 'not_entailment'}\n"
        for k in range(60)
    ]
    (tmp_path / "train.tsv").write_text(HEADER + "".join(lines))
    return str(tmp_path)


def make(encoder, path, **changes):
    settings = {"task": "rte", "validation": 0.3, "batch_size": 4, "limit": None, "epochs": 2, "seed": 0}
    return LabelledTexts(path=path, encoder=encoder, **settings | changes)


def test_examples_of_one_first_text_stay_together_whatever_the_seed(tiny, rte):
    data, other = make(tiny, rte), make(tiny, rte, seed=5)
    first = {split: {example.first for example in data.examples[split]} for split in ("train", "validation")}
    assert not first["train"] & first["validation"]
    assert first["validation"] == {e.first for e in read_task("rte", "train", rte) if held_out(e.first, 0.3)}
    assert sum(map(len, data.examples.values())) == 60
    assert other.examples == data.examples
    assert [b.positions.tolist() for b in other.train_dataloader()] != [
        b.positions.tolist() for b in data.train_dataloader()
    ]


def test_a_batch_is_the_tokenizers_pairs_padded(tiny, rte):
    data = make(tiny, rte)
    examples = data.examples["train"]
    seen = []
    for batch in data.train_dataloader():
        longest = int(batch.attention_mask.sum(dim=1).max())
        assert batch.input_ids.shape == batch.segments.shape == (len(batch.labels), longest)
        for row, position in enumerate(batch.positions.tolist()):
            example = examples[position]
            alone = tiny.tokenizer(example.first, example.second)
            length = len(alone["input_ids"])
            assert batch.input_ids[row, :length].tolist() == alone["input_ids"]
            assert batch.segments[row, :length].tolist() == alone["token_type_ids"]
            assert batch.attention_mask[row].tolist() == [1] * length + [0] * (longest - length)
            assert not batch.input_ids[row, length:].any()
            assert not batch.segments[row, length:].any()
            assert batch.labels[row] == example.label
            seen.append(position)
    assert sorted(seen) == sorted(2 * list(range(len(examples))))
    assert data.total_batches == 2 * -(-len(examples) // 4)


def test_batches_hold_texts_of_like_length(tiny, rte):
    padding = [1 - batch.attention_mask.float().mean() for batch in make(tiny, rte).train_dataloader()]
    assert sum(padding) / len(padding) < 0.1


def test_answers_to_choose_from_come_one_after_the_other(tiny, tmp_path):
    rows = [
        {
            "article": f"text {k}",
            "question": "which",
            "options": [f"{k} {w}" for w in WORDS[:4]],
            "answer": "ABCD"[k % 4],
        }
        for k in range(12)
    ]
    write_rows(tmp_path / "train.jsonl", rows)
    data = make(tiny, str(tmp_path), task="race", batch_size=2)
    batch = next(iter(data.train_dataloader()))
    assert batch.input_ids.shape[0] == 8
    example = data.examples["train"][batch.positions[1]]
    expected = [tiny.tokenizer(*pair)["input_ids"] for pair in example.pairs]
    for row, ids in zip(batch.input_ids[4:], expected, strict=True):
        assert row[: len(ids)].tolist() == ids
    assert batch.labels[1] == example.label
    assert batch.labels.dtype == torch.long


def test_scores_are_floats(tiny, tmp_path):
    rows = [{"sentence1": f"a {k}", "sentence2": "b", "score": k % 6} for k in range(20)]
    write_rows(tmp_path / "train.jsonl", rows)
    assert next(iter(make(tiny, str(tmp_path), task="stsb").val_dataloader())).labels.dtype == torch.float32


def test_what_the_record_holds(tiny, rte):
    data = make(tiny, rte, limit=21)
    facts = data.facts()
    assert facts["train_examples"] == 21
    assert facts["validation_examples"] == len(data.examples["validation"])
    assert facts["train_labels"] == {
        "not_entailment": sum(e.label == 0 for e in data.examples["train"]),
        "entailment": sum(e.label == 1 for e in data.examples["train"]),
    }
    assert facts["sha256"] == make(tiny, rte).facts()["sha256"]
    assert facts["trained_on"] == "21 examples of rte"
    assert facts["path"] == rte
    assert data.sizes()["examples"] == 21
    assert data.sizes()["tokens"] == sum(
        len(tiny.tokenizer(e.first, e.second)["input_ids"]) for e in data.examples["train"]
    )


def test_cut_texts_are_counted(tiny, rte, tmp_path):
    (tmp_path / "train.tsv").write_text(
        (tmp_path / "train.tsv").read_text() + f"60\tlong\t{'word ' * 99}\tentailment\n"
    )
    assert make(tiny, rte).facts()["texts_cut"] == 1


class Doubles:
    """An augmentation that adds one example to those of a label."""

    def more(self, fields, label):
        return [([*fields[:-1], "made"], "not_entailment")] if label == "entailment" else []


def test_examples_are_added_to_those_trained_on_alone(tiny, rte):
    plain, data = make(tiny, rte, limit=20), make(tiny, rte, limit=20, augmentation=Doubles())
    assert data.examples["validation"] == plain.examples["validation"]
    expected = []
    for example in plain.examples["train"]:
        expected.append(example)
        if example.label == 1:
            expected.append(Example(example.first, "made", 0))
    assert data.examples["train"] == expected
    assert data.facts()["added"] == data.added == len(expected) - 20


def test_scores_have_no_labels_to_add(tiny, tmp_path):
    write_rows(tmp_path / "train.jsonl", [{"sentence1": f"a {k}", "sentence2": "b", "score": k % 6} for k in range(20)])
    with pytest.raises(FairlabError, match="adds labelled texts, but stsb has no labels"):
        make(tiny, str(tmp_path), task="stsb", augmentation=Doubles())
    with pytest.raises(FairlabError, match="adds labelled texts, but race has no labels"):
        with_more([], TASKS["race"], Doubles())


def test_published_examples_alone_can_be_augmented():
    assert LabelledTexts.rows_to_augment({"task": "rte", "path": None}) == "task:rte:train"
    assert LabelledTexts.rows_to_augment({"task": "rte", "path": "here"}) is None


def test_what_is_measured_on_is_never_trained_or_chosen_on(tiny, rte, monkeypatch):
    everything = read_task("rte", "train", rte)
    measured = [Example(f" {e.first.upper()}", e.second.replace(" ", "  "), 1 - e.label) for e in everything[:7]]
    monkeypatch.setattr(
        "fairlab.data.labelled_tasks.read_task",
        lambda name, split, path=None: everything if split == "train" else measured,
    )
    data = make(tiny, rte, unseen=["rte:dev"])
    kept = [example for part in data.examples.values() for example in part]
    assert sorted(e.second for e in kept) == sorted(e.second for e in everything[7:])
    assert data.facts()["left_out"] == 7
    with pytest.raises(FairlabError, match="names sets as TASK:SPLIT, such as fever_symmetric:test, not 'rte'"):
        make(tiny, rte, unseen=["rte"])


def made_folder(folder, rows, source="task:rte:train"):
    """An output of fairlab.augment."""
    folder.mkdir()
    write_rows(folder / "data-00000.jsonl", rows)
    manifest = Manifest("0", {"name": source}, {})
    digest = sha256(folder / "data-00000.jsonl")
    manifest.shards.append({"data": {"file": "data-00000.jsonl", "rows": len(rows), "sha256": digest}})
    manifest.write(folder)
    return str(folder)


def test_an_output_of_augment_is_trained_on(tiny, tmp_path, monkeypatch):
    monkeypatch.setattr("fairlab.data.labelled_tasks.read_task", None)  # the published examples are not needed
    rows = [
        {"id": str(k), "evidence": f"e {k}", "claim": f"c {k}", "label": CLAIMS[k % 2], "augmentation": "x"}
        for k in range(40)
    ]
    data = make(tiny, made_folder(tmp_path / "made", rows), task="fool_me_twice+vitaminc_two_way")
    kept = sorted((e for part in data.examples.values() for e in part), key=lambda e: int(e.first.split()[1]))
    assert kept == [Example(f"e {k}", f"c {k}", k % 2) for k in range(40)]
    with pytest.raises(FairlabError, match="has the columns id, text, label; fool_me_twice has"):
        make(tiny, made_folder(tmp_path / "other", [{"id": "1", "text": "a", "label": "x"}]), task="fool_me_twice")


def test_what_was_made_of_examples_held_out_is_not_trained_on(tiny, rte, tmp_path, monkeypatch):
    published = read_task("rte", "train", rte)
    monkeypatch.setattr("fairlab.data.labelled_tasks.read_task", lambda *_: published)
    labels = TASKS["rte"].labels
    rows = [
        {
            "id": f"{number}-{copy}",
            "source_id": str(number),
            "sentence1": f"{example.first} {copy}",
            "sentence2": example.second,
            "label": labels[int(example.label)],
        }
        for number, example in enumerate(published, start=1)
        for copy in range(3)
    ]
    made = made_folder(tmp_path / "made", rows)
    data = make(tiny, made, validate_on="published")
    out = [example for example in published if held_out(example.first, 0.3)]
    assert data.examples["validation"] == out
    assert 0 < len(out) < len(published)
    assert {e.first[:-2] for e in data.examples["train"]} == {e.first for e in published} - {e.first for e in out}
    assert len(data.examples["train"]) == 3 * (len(published) - len(out))  # whole groups, whatever their new texts
    other = made_folder(tmp_path / "other", rows, source="file.jsonl")
    with pytest.raises(FairlabError, match="cannot find the original of 'the boat of number 0 0'"):
        make(tiny, other, validate_on="published")
    again = [{**row, "sentence1": row["sentence1"][:-2], "source_id": row["id"]} for row in rows]
    data = make(tiny, made_folder(tmp_path / "again", again, source="made"), validate_on="published")
    assert data.examples["validation"] == out  # of an output made of another one, first texts tell what is held out
    kept = [e.first for e in published if not held_out(e.first, 0.3)]
    assert [e.first for e in data.examples["train"]] == [first for first in kept for _ in range(3)]


def test_parts_are_told_by_the_first_texts_of_the_originals():
    texts = [str(k) for k in range(20)]
    out, kept = next(t for t in texts if held_out(t, 0.3)), next(t for t in texts if not held_out(t, 0.3))
    made = [(Example(kept, None, 0), Example(out, None, 0)), (Example(out, None, 0), Example(kept, None, 0))]
    assert parted(made, None, 0.3) == {"train": made[1:], "validation": made[:1]}


@pytest.mark.parametrize("validate_on", ["made", "published"])
def test_what_was_made_of_examples_measured_on_is_not_trained_on(tiny, rte, tmp_path, monkeypatch, validate_on):
    published = read_task("rte", "train", rte)
    measured = published[::4]
    monkeypatch.setattr(
        "fairlab.data.labelled_tasks.read_task", lambda name, *_: measured if name == "measured" else published
    )
    rows = [
        {
            "id": str(number),
            "sentence1": example.first,
            "sentence2": f"again, {example.second}",
            "label": label,
        }
        for number, example in enumerate(published, start=1)
        for label in [TASKS["rte"].labels[int(example.label)]]
    ]
    made = made_folder(tmp_path / "made", rows)
    data = make(tiny, made, validate_on=validate_on, unseen=["measured:test"])
    trained_on = {(e.first, str(e.second).removeprefix("again, ")) for e in data.examples["train"]}
    assert trained_on == {(e.first, e.second) for e in published if e not in measured and not held_out(e.first, 0.3)}
    assert data.left_out == len(measured)
    made = made_folder(tmp_path / "more", [{**row, "id": str(1000 + int(row["id"]))} for row in rows])
    with pytest.raises(FairlabError, match="line 1 comes from example 1001 of rte, which has"):
        make(tiny, made, validate_on=validate_on, unseen=["measured:test"])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"limit": 1}, "the train part of rte has only examples of the label not_entailment"),
        ({"validation": 1e-9}, "rte has no example for validation; give more examples or change data.validation"),
        ({"augmentation": object()}, "works on counterfactual groups"),
        ({"task": "rat"}, "there is no task 'rat'"),
    ],
)
def test_values_out_of_range(rte, tiny, change, message):
    with pytest.raises(FairlabError, match=message):
        make(tiny, rte, **change)


@pytest.mark.data
@pytest.mark.parametrize("task", ["wnli", "stsb"])
@pytest.mark.slow
def test_published_examples_give_a_part_for_choosing(tiny, task):
    data = make(tiny, None, task=task, validation=0.1)
    total = len(data.examples["train"]) + len(data.examples["validation"])
    assert 0.07 < len(data.examples["validation"]) / total < 0.13
    assert TASKS[task].name == data.facts()["task"]


def test_perturbation_is_of_the_training_examples_alone(tiny, tmp_path):
    lines = [
        f"{k}\tthe {'king' if k % 2 else 'boat'} of number {k}\tthe king is {k}\t"
        f"{'entailment' if k % 3 else 'not_entailment'}\n"
        for k in range(40)
    ]
    (tmp_path / "train.tsv").write_text(HEADER + "".join(lines))
    plain = make(tiny, str(tmp_path))
    data = make(tiny, str(tmp_path), augmentation=Perturbation(axes=["gender"], sampling="uniform", mode="lexical"))
    assert data.examples["validation"] == plain.examples["validation"]
    assert [example.label for example in data.examples["train"]] == [e.label for e in plain.examples["train"]]
    for made, source in zip(data.examples["train"], plain.examples["train"], strict=True):
        (word,) = {"queen", "monarch"} & set(made.second.split())
        assert made.second == source.second.replace("king", word)
        assert made.first == source.first.replace("king", word)
    count = len(data.examples["train"])
    assert data.facts()["perturbed"] == {"examples": count, "chosen": count, "perturbed/gender": count}
    assert "perturbed" not in plain.facts()
    with pytest.raises(FairlabError, match="augmentation=fairtuning, eda, crossaug or none"):
        make(tiny, str(tmp_path), augmentation=object())
