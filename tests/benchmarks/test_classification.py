"""Readings of a fine-tuned classifier, by hand."""

import numpy as np
import pytest

from fairlab.backbones.classification import SCORE, with_classifier
from fairlab.benchmarks.classification import Classification, outputs_for
from fairlab.benchmarks.probe import Probe
from fairlab.data.published.tasks import find_task
from fairlab.types import CannotScore, FairlabError


class Fixed:
    """A classifier that gives prepared outputs, and what it was asked."""

    cut = 0

    def __init__(self, outputs):
        self.given = np.array(outputs, dtype=np.float32)

    def outputs(self, pairs, progress=""):
        self.pairs = pairs
        return self.given


@pytest.fixture
def measured(tmp_path, tiny, monkeypatch):
    """Measure a task on a file with prepared outputs."""

    def run(task, content, outputs, name="dev.tsv", before=None):
        (tmp_path / name).write_text(content)
        fixed = Fixed(outputs)
        monkeypatch.setattr("fairlab.benchmarks.classification.Classifier", lambda backbone, labels: fixed)
        outcome = Classification(task, str(tmp_path)).measure(tiny, before)
        return {reading.key: reading for reading in outcome.readings}, outcome

    return run


def labels(*numbers, count=2):
    """Outputs that are highest at the labels."""
    return np.eye(count)[list(numbers)]


def test_accuracy_and_majority(measured):
    readings, outcome = measured("sst2", "a\t1\nb\t1\nc\t0\nd\t1\n", labels(1, 0, 0, 1))
    assert readings["sst2/dev/accuracy"].value == 75
    assert readings["sst2/dev/majority"].value == 75
    assert readings["sst2/dev/accuracy"].n == 4
    assert readings["sst2/dev/accuracy"].headline
    assert 0 <= readings["sst2/dev/accuracy"].low < 75 < readings["sst2/dev/accuracy"].high <= 100
    assert outcome.items["dev_predictions"].tolist() == [1, 0, 0, 1]


def test_f1_and_what_the_commonest_label_reaches(measured):
    content = "#1 String\t#2 String\tQuality\n" + "".join(f"a\tb\t{label}\n" for label in (1, 1, 1, 0, 0))
    readings, _ = measured("mrpc", content, labels(1, 1, 0, 1, 0))
    assert readings["mrpc/dev/accuracy"].value == 60
    assert readings["mrpc/dev/f1"].value == pytest.approx(100 * 2 / 3)  # precision 2/3, recall 2/3
    assert readings["mrpc/dev/majority"].value == 60
    assert readings["mrpc/dev/majority_f1"].value == 75  # precision 3/5, recall 1
    assert [key for key, reading in readings.items() if reading.headline] == ["mrpc/dev/accuracy"]


def test_matthews_of_the_four_cells(measured):
    content = "".join(f"s\t{label}\t\tx\n" for label in (1, 1, 1, 0, 0, 0))
    readings, _ = measured("cola", content, labels(1, 1, 0, 0, 0, 1))
    assert readings["cola/dev/matthews"].value == pytest.approx(100 / 3)  # (2 * 2 - 1 * 1) / 9
    assert readings["cola/dev/accuracy"].value == pytest.approx(200 / 3)


def test_correlations_of_scores(measured):
    content = "sentence1\tsentence2\tscore\n" + "".join(f"a\tb\t{score}\n" for score in (0, 1, 2, 5))
    readings, _ = measured("stsb", content, [[0.0], [1.0], [9.0], [4.0]])
    assert readings["stsb/dev/spearman"].value == pytest.approx(80)
    assert readings["stsb/dev/pearson"].value == pytest.approx(100 * np.corrcoef([0, 1, 9, 4], [0, 1, 2, 5])[0, 1])
    assert not {key for key in readings if "majority" in key}


def test_matched_and_mismatched_apart_and_what_is_missing_said(measured, tmp_path):
    (tmp_path / "dev_matched.tsv").write_text("label\tpremise\thypothesis\nneutral\ta\tb\nentailment\ta\tb\n")
    content = "label\tpremise\thypothesis\ncontradiction\ta\tb\nentailment\ta\tb\n"
    readings, outcome = measured("mnli", content, labels(1, 0, count=3), name="dev_mismatched.tsv")
    assert readings["mnli/dev_matched/accuracy"].value == 100
    assert readings["mnli/dev_mismatched/accuracy"].value == 50
    assert [(entry.benchmark, entry.subset) for entry in outcome.not_run] == [("mnli", "dev")]


def test_a_choice_of_answers(measured):
    row = '{"article": "a", "question": "q", "options": ["1", "2", "3", "4"], "answer": "%s"}\n'
    outputs = [[0], [3], [1], [0], [0], [2], [1], [9]]
    readings, _ = measured("race", row % "B" + row % "A", outputs, name="dev.jsonl")
    assert readings["race/dev/accuracy"].value == 50


def test_one_label_for_all_is_noted(measured):
    _, outcome = measured("sst2", "a\t1\nb\t0\n", labels(1, 1))
    (note,) = outcome.notes
    assert note.text == "every example of dev was given the label positive"


def test_the_comparison_is_paired(measured):
    content = "a\t1\nb\t1\nc\t0\nd\t1\n"
    _, first = measured("sst2", content, labels(1, 0, 0, 1))
    _, same = measured("sst2", content, labels(1, 0, 0, 1), before=first.items)
    accuracy = same.comparisons[0]
    assert (accuracy.quantity, accuracy.difference, accuracy.p) == ("accuracy", 0, 1)
    _, better = measured("sst2", content, labels(1, 1, 0, 1), before=first.items)
    assert better.comparisons[0].difference == 25


def test_a_real_model_whatever_the_order_of_the_examples(tmp_path, tiny):
    tiny.model = with_classifier(tiny, ("negative", "positive")).eval()
    lines = [f"{'very ' * (k % 5)}good number {k}\t{k % 2}\n" for k in range(40)]
    found = []
    for order in (lines, lines[::-1]):
        (tmp_path / "dev.tsv").write_text("".join(order))
        found.append(Classification("sst2", str(tmp_path)).measure(tiny))
    first, second = found
    assert first.items["dev_predictions"].tolist() == second.items["dev_predictions"][::-1].tolist()
    assert first.readings[0].value == second.readings[0].value


def test_models_that_cannot(tmp_path, tiny):
    (tmp_path / "dev.tsv").write_text("a\t1\nb\t0\n")
    with pytest.raises(CannotScore, match="BertModel has no classification head"):
        Classification("sst2", str(tmp_path)).measure(tiny)
    tiny.model = with_classifier(tiny, SCORE)
    with pytest.raises(FairlabError, match="labels are score, not negative, positive"):
        Classification("sst2", str(tmp_path)).measure(tiny)


@pytest.mark.parametrize(
    ("task", "model", "outputs"),
    [
        ("stsb", SCORE, SCORE),
        ("race", SCORE, SCORE),
        ("sst2", ("NEGATIVE", "POSITIVE"), ("negative", "positive")),
        ("hans", ("entailment", "neutral", "contradiction"), ("entailment", "neutral", "contradiction")),
        ("hans", ("non-entailment", "entailment"), ("non-entailment", "entailment")),
    ],
)
def test_outputs_are_the_labels_of_the_task_or_finer_ones_of_the_model(tiny, task, model, outputs):
    tiny.model = with_classifier(tiny, model)
    assert sorted(outputs_for(find_task(task), tiny)) == sorted(outputs)


def test_no_data_is_not_run(tmp_path, tiny):
    outcome = Classification("sst2", str(tmp_path)).measure(tiny)
    assert not outcome.readings
    assert "contains none of dev.tsv" in outcome.not_run[0].reason


def test_a_probe_needs_labels():
    for task in ("stsb", "race"):
        with pytest.raises(FairlabError, match=f"a probe needs a task with labels, unlike {task}"):
            Probe(task)


def test_a_classifier_of_finer_labels_is_measured_by_what_they_mean(measured, tiny):
    tiny.model = with_classifier(tiny, ("entailment", "neutral", "contradiction"))
    content = "gold_label\tsentence1\tsentence2\n" + "".join(
        f"{label}\ta\tb\n" for label in ("entailment", "non-entailment", "non-entailment", "non-entailment")
    )
    readings, outcome = measured("hans", content, labels(0, 1, 2, 0, count=3))
    assert outcome.items["dev_predictions"].tolist() == [1, 0, 0, 1]
    assert readings["hans/dev/accuracy"].value == 75
    assert readings["hans/dev/macro_f1"].value == pytest.approx(100 * (2 / 3 + 4 / 5) / 2)
    readings, outcome = measured("hans", content, labels(1, 0, 0, 1))  # one of its own labels
    assert outcome.items["dev_predictions"].tolist() == [1, 0, 0, 1]
