"""Fine-tuning on a task of GLUE end to end: its record and model, and bad input in one sentence."""

import json

import pytest
from transformers import AutoModelForSequenceClassification

from fairlab.record import Record
from tests.end_to_end.conftest import only_run, tiny_backbone

HEADER = "index\tsentence1\tsentence2\tlabel\n"


def rows(count, labels=("entailment", "not_entailment")):
    texts = (f"the boat of number {k}\ta {'good' if k % 2 else 'bad'} boat" for k in range(count))
    return "".join(f"{k}\t{text}\t{labels[k % 2]}\n" for k, text in enumerate(texts))


@pytest.fixture
def rte(tmp_path, tiny_folders):
    """Overrides of a run that takes a moment: a tiny random BERT on files of a user's own."""
    folder = tmp_path / "rte"
    folder.mkdir()
    (folder / "train.tsv").write_text(HEADER + rows(60))
    (folder / "dev.tsv").write_text(HEADER + rows(20))
    backbone = tiny_backbone(tiny_folders["bert"])
    return ["+experiment=glue", *backbone, "data.task=rte", f"data.path={folder}", "data.batch_size=8"]


@pytest.mark.slow
def test_a_run_and_what_can_be_asked_of_its_model(run, rte, tmp_path):
    done = run(*rte, "method.epochs=8", "method.lr=5e-3", "method.validate_every=8", "method.patience=4")
    assert done.returncode == 0, done.stderr
    folder = only_run(tmp_path, "glue")
    record = Record.load(folder)
    assert record.status == "finished"
    accuracy = next(reading for reading in record.readings if reading.key == "after/rte/dev/accuracy")
    assert (accuracy.value, accuracy.n) == (100, 20)
    assert record.metrics()["after/rte/dev/majority"] == 50
    assert record.provenance["data"]["train_labels"].keys() == {"not_entailment", "entailment"}
    assert AutoModelForSequenceClassification.from_pretrained(folder / "model").config.id2label == {
        0: "not_entailment",
        1: "entailment",
    }

    (tmp_path / "mnli").mkdir()
    header = HEADER.replace("label", "gold_label")
    (tmp_path / "mnli" / "dev_matched.tsv").write_text(header + rows(4, ("neutral", "entailment")))
    benchmark = ["benchmark=glue", "benchmark.glue.task=mnli", f"benchmark.glue.path={tmp_path / 'mnli'}"]
    other = run(f"model={folder}", *benchmark, entry="evaluate")
    assert other.returncode == 0, other.stderr
    said = "the classifier's labels are not_entailment, entailment, not entailment, neutral, contradiction"
    assert said in " ".join(other.stdout.split())

    (tmp_path / "mnli" / "train.tsv").write_text(header + rows(60, ("neutral", "entailment")))
    backbone = ["backbone=bert_base", f"backbone.name={folder / 'model'}", "backbone.max_length=64"]
    moved = [*backbone, "data.task=mnli", f"data.path={tmp_path / 'mnli'}"]
    onward = run("+experiment=glue", *moved, "method.epochs=1", "data.batch_size=8")
    assert onward.returncode == 0, onward.stderr
    newest = Record.load(max((tmp_path / "outputs" / "glue").iterdir()))
    assert [entry.benchmark for entry in newest.not_run if entry.phase == "before"] == ["mnli"]
    assert "after/mnli/dev_matched/accuracy" in newest.metrics()


@pytest.mark.slow
def test_a_sweep_of_runs_that_learned_nothing_names_no_best_values(run, rte, tmp_path):
    tried = ["method.lr=1e-7,5e-3", "seed=1,2,3", "method.epochs=4", "method.validate_every=4"]
    done = run("-m", *rte, "+sweep=fairtuning", *tried, "hydra.sweep.dir=sweep")
    assert done.returncode == 0, done.stderr
    records = [Record.load(tmp_path / "sweep" / str(number)) for number in range(6)]
    measures: dict[float, list[float]] = {}
    for record in records:
        reached = max(row.get("validation/accuracy", 0) for row in record.history)
        measures.setdefault(record.config["method"]["lr"], []).append(reached)
    assert sorted(measures[5e-3])[1] > sorted(measures[1e-7])[1]
    assert "best_by_validation" not in json.loads((tmp_path / "sweep" / "sweep.json").read_text())
    page = (tmp_path / "sweep" / "report.html").read_text("utf-8")
    assert "Best by validation" not in page


def test_bad_data_is_said_before_anything_is_trained(run, rte, tmp_path):
    (tmp_path / "rte" / "dev.tsv").write_text(HEADER + rows(20, ("entailment", "entailment")))
    done = run(*rte)
    assert done.returncode == 1
    (line,) = done.stderr.strip().splitlines()
    assert "dev.tsv has only examples of the label entailment; give examples of two or more labels" in line
    record = Record.load(only_run(tmp_path, "glue"))
    assert record.status == "failed"
    assert not record.history
