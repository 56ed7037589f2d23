"""Fine-tuning on labelled tasks with tiny random models."""

import copy
from dataclasses import replace
from types import SimpleNamespace

import lightning
import numpy as np
import pytest
import torch
from lightning.pytorch.callbacks import LambdaCallback
from scipy import stats
from sklearn.metrics import matthews_corrcoef
from transformers import BertForSequenceClassification

from fairlab import train
from fairlab.backbones.adapters import FILE
from fairlab.backbones.classification import Classifier
from fairlab.backbones.loading import load_backbone
from fairlab.checks.values import faults, hints_of
from fairlab.data.labelled_tasks import LabelledTexts
from fairlab.data.published.tasks import Example
from fairlab.methods.debiasing.base import Debiasing
from fairlab.methods.sequence_classifier import SequenceClassifier
from fairlab.record import Record
from fairlab.run.checkpoints import Checkpoints
from fairlab.run.history import History
from fairlab.types import FairlabError
from tests.conftest import WORDS, write_rows
from tests.methods.training import clipped_norm, fit, losses_of

VALUES = {
    "rank": None,
    "lr": 1e-3,
    "warmup": 0.0,
    "weight_decay": 0.0,
    "dropout": False,
    "epochs": 1,
    "patience": None,
    "validate_every": 100,
    "seed": 0,
}
ROWS = {
    "cola": lambda k: {"sentence": f"the {WORDS[k % 11]} is number {k}", "label": int(k % 11 > 6)},
    "mnli": lambda k: {
        "premise": f"the {WORDS[k % 11]} is number {k}",
        "hypothesis": f"it is a {WORDS[k % 7]}",
        "label": ("entailment", "neutral", "contradiction")[k % 3],
    },
    "stsb": lambda k: {"sentence1": f"a {WORDS[k % 11]}", "sentence2": f"{WORDS[k % 7]} {k}", "score": k % 11 / 2},
    "race": lambda k: {
        "article": f"the {WORDS[k % 11]} is number {k}",
        "question": "what is it?",
        "options": [f"{WORDS[k % 11] if n == k % 4 else WORDS[n - 4]} {k}" for n in range(4)],
        "answer": "ABCD"[k % 4],
    },
}


def make_data(encoder, folder, task="cola", count=40, **changes):
    write_rows(folder / "train.jsonl", [ROWS[task](k) for k in range(count)])
    settings = {"validation": 0.3, "batch_size": 4, "limit": None, "epochs": 1, "seed": 0}
    return LabelledTexts(task=task, path=str(folder), encoder=encoder, **settings | changes)


@pytest.mark.parametrize("task", ["cola", "mnli", "stsb"])
def test_the_first_loss_is_that_of_transformers_text_by_text(tiny, tmp_path, task):
    original = copy.deepcopy(tiny)
    data = make_data(tiny, tmp_path, task)
    batch = next(iter(data.train_dataloader()))
    method = SequenceClassifier(tiny, **VALUES)
    losses = losses_of(method)
    fit(method, data, tmp_path, max_steps=1, limit_val_batches=0)

    torch.manual_seed(0)  # the head that the method draws from its seed
    config = copy.deepcopy(original.model.config)
    config.num_labels = {"cola": 2, "mnli": 3, "stsb": 1}[task]
    reference = BertForSequenceClassification(config).eval()
    reference.bert.load_state_dict(original.model.state_dict())
    expected = []
    for position, label in zip(batch.positions.tolist(), batch.labels, strict=True):
        example = data.examples["train"][position]
        texts = [example.first] if example.second is None else [example.first, example.second]
        encoded = original.tokenizer(*texts, return_tensors="pt")
        expected.append(reference(**encoded, labels=label[None]).loss.item())
    assert losses[0] == pytest.approx(np.mean(expected), rel=1e-5)


def test_a_choice_is_a_softmax_over_the_answers_scores(tiny, tmp_path):
    data = make_data(tiny, tmp_path, "race")
    batch = next(iter(data.train_dataloader()))
    method = SequenceClassifier(tiny, **VALUES)
    losses = losses_of(method)
    original = copy.deepcopy(tiny)
    fit(method, data, tmp_path, max_steps=1, limit_val_batches=0)
    torch.manual_seed(0)
    config = copy.deepcopy(original.model.config)
    config.num_labels = 1
    reference = BertForSequenceClassification(config).eval()
    reference.bert.load_state_dict(original.model.state_dict())
    expected = []
    for position in batch.positions.tolist():
        example = data.examples["train"][position]
        scores = torch.cat(
            [reference(**original.tokenizer(*pair, return_tensors="pt")).logits[0] for pair in example.pairs]
        )
        expected.append(-scores.log_softmax(0)[int(example.label)].item())
    assert losses[0] == pytest.approx(np.mean(expected), rel=1e-5)


def test_the_learning_rate_falls_to_nothing_over_the_steps(tiny, tmp_path):
    data = make_data(tiny, tmp_path, epochs=4)
    method = SequenceClassifier(tiny, **VALUES | {"epochs": 4, "steps": 8})
    fit(method, data, tmp_path, max_steps=8, limit_val_batches=0)
    assert data.total_batches > 8
    assert method.trainer.lr_scheduler_configs[0].scheduler.get_last_lr() == [0.0, 0.0]


@pytest.mark.parametrize("task", [pytest.param(one, marks=[] if one == "cola" else pytest.mark.slow) for one in ROWS])
def test_it_overfits_a_handful_of_examples(tiny, tmp_path, task):
    data = make_data(tiny, tmp_path, task, count=16, epochs=60, batch_size=8)
    method = SequenceClassifier(tiny, **VALUES | {"lr": 5e-3})
    losses = losses_of(method)
    fit(method, data, tmp_path, limit_val_batches=0)
    assert sum(losses[-4:]) < 0.2 * sum(losses[:4])
    several = data.task.labels and not data.task.options
    method.finish(tmp_path)
    classifier = Classifier(tiny, data.task.labels if several else ("score",))
    examples = data.examples["train"]
    outputs = classifier.outputs([pair for example in examples for pair in example.pairs])
    truth = np.array([example.label for example in examples])
    if data.task.labels:
        assert (outputs.reshape(len(truth), -1).argmax(axis=1) == truth).mean() > 0.9
    else:
        assert np.abs(outputs[:, 0] - truth).mean() < 0.6


@pytest.mark.parametrize("task", ["cola", "stsb"])
def test_validation_is_over_all_examples_held_out(tiny, tmp_path, task):
    data = make_data(tiny, tmp_path, task, count=80, batch_size=7)
    method = SequenceClassifier(tiny, **VALUES)
    trainer = fit(method, data, tmp_path)
    metrics = {name: value.item() for name, value in trainer.callback_metrics.items()}
    examples = data.examples["validation"]
    assert len(examples) % 7
    outputs = Classifier(tiny, data.task.labels or ("score",)).outputs([pair for e in examples for pair in e.pairs])
    truth = np.array([example.label for example in examples])
    if task == "cola":
        expected = matthews_corrcoef(truth, outputs.argmax(axis=1))
        loss = torch.nn.functional.cross_entropy(torch.tensor(outputs), torch.tensor(truth)).item()
    else:
        expected = stats.pearsonr(outputs[:, 0], truth).statistic
        loss = ((outputs[:, 0] - truth) ** 2).mean()
    assert metrics[f"validation/{data.task.metrics[0]}"] == pytest.approx(expected, abs=1e-3)
    assert metrics["validation/error"] == pytest.approx(1 - expected, abs=1e-3)
    assert metrics["validation/loss"] == pytest.approx(loss, rel=1e-4)


@pytest.mark.slow
def test_two_runs_of_one_seed_are_the_same_and_of_two_seeds_are_not(tiny, tmp_path):
    def run(seed, noise):
        torch.manual_seed(noise)
        encoder = copy.deepcopy(tiny)
        method = SequenceClassifier(encoder, **VALUES | {"seed": seed, "dropout": True})
        losses = losses_of(method)
        fit(method, make_data(encoder, tmp_path), tmp_path, limit_val_batches=0)
        return losses

    assert run(0, noise=1) == run(0, noise=2)
    assert run(0, noise=1)[0] != run(1, noise=1)[0]


def test_adapters_leave_the_encoder_and_are_merged(tiny, tmp_path):
    before = copy.deepcopy(tiny.model.state_dict())
    method = SequenceClassifier(tiny, **VALUES | {"rank": 4, "lr": 1e-2})
    data = make_data(tiny, tmp_path, epochs=3)
    fit(method, data, tmp_path, limit_val_batches=0)
    trained = {name for name, parameter in tiny.model.named_parameters() if parameter.grad is not None}
    assert trained == {name for name, parameter in tiny.model.named_parameters() if parameter.requires_grad}
    for name, value in tiny.model.bert.state_dict().items():
        if ".lora_" not in name and "pooler" not in name:
            assert torch.equal(value, before[name.replace(".base_layer", "")]), f"{name} moved"
    pairs = [example.pairs[0] for example in data.examples["validation"]]
    found = Classifier(tiny, data.task.labels).outputs(pairs)
    method.finish(tmp_path)
    assert (tmp_path / FILE).is_file()
    assert not [name for name, _ in tiny.model.named_modules() if "lora" in name]
    np.testing.assert_allclose(Classifier(tiny, data.task.labels).outputs(pairs), found, atol=1e-2)


@pytest.mark.parametrize("kind", ["roberta_mlm", "distilbert_mlm", "gpt2"])
def test_other_architectures_train(tiny_folders, tmp_path, kind):
    encoder = load_backbone(str(tiny_folders[kind]), pooling="mean", max_length=32, normalize=False)
    data = make_data(encoder, tmp_path, "mnli")
    method = SequenceClassifier(encoder, **VALUES)
    fit(method, data, tmp_path, max_steps=2, limit_val_batches=1)
    assert Classifier(encoder, data.task.labels).outputs([("a", "b")]).shape == (1, 3)


@pytest.mark.slow
def test_training_stops_after_the_validations_it_should_wait_and_goes_on_to_the_same_end(tiny, tmp_path):
    def run(folder, killed_at=None, **changes):
        encoder = copy.deepcopy(tiny)
        method = SequenceClassifier(encoder, **VALUES | {"lr": 1e-9, "patience": 2})  # nothing improves
        folder.mkdir(exist_ok=True)
        history = History(folder)
        kill = LambdaCallback(on_train_batch_start=lambda trainer, *_: 1 / (trainer.global_step != killed_at))
        keep = [kill, history, Checkpoints(folder, 1, monitor=method.monitor, patience=method.patience)]
        data = make_data(encoder, tmp_path, epochs=10)
        return fit(
            method, data, folder, callbacks=keep, enable_checkpointing=True, val_check_interval=3, **changes
        ), history

    whole, history = run(tmp_path / "whole")
    assert whole.global_step == 9  # the first validation is the best, the next two are no better
    assert [row["step"] for row in history.rows if "validation/error" in row] == [3, 6, 9]
    with pytest.raises(ZeroDivisionError):
        run(tmp_path / "part", killed_at=5)
    resumed, found = run(tmp_path / "part", ckpt_path=tmp_path / "part" / "last.ckpt")
    assert resumed.global_step == 9
    assert found.rows == history.rows
    again, _ = run(tmp_path / "part", ckpt_path=tmp_path / "part" / "last.ckpt")
    assert again.global_step == 9  # what had stopped stays stopped


def test_a_checkpoint_of_another_architecture_is_refused_in_a_sentence(tiny, tiny_folders, tmp_path):
    def prepared(encoder):
        history = History(tmp_path)
        method, data = SequenceClassifier(encoder, **VALUES), make_data(encoder, tmp_path)
        keep = [history, Checkpoints(tmp_path / "checkpoints", 1)]
        trainer = lightning.Trainer(max_epochs=1, max_steps=1, callbacks=keep, logger=False, limit_val_batches=1)
        return trainer, method, data, Record(tmp_path, {}, ""), history

    (tmp_path / "checkpoints").mkdir()
    other = load_backbone(str(tiny_folders["distilbert_mlm"]), pooling="mean", max_length=32, normalize=False)
    train.fit(*prepared(other))
    with pytest.raises(
        FairlabError, match=r"last.ckpt holds a model that is not the one of this run; put the run's own"
    ):
        train.fit(*prepared(tiny))


def test_a_loss_that_is_not_finite_stops(tiny, tmp_path):
    method = SequenceClassifier(tiny, **VALUES)
    method.on_train_start = lambda: tiny.model.classifier.weight.data.fill_(float("nan"))
    with pytest.raises(FairlabError, match=r"the loss became nan at step 1; lower method\.lr"):
        fit(method, make_data(tiny, tmp_path), tmp_path)


def test_a_warmup_over_the_whole_training():
    (fault,) = faults("method.warmup", 1, hints_of(SequenceClassifier)[0]["warmup"])
    assert fault == "method.warmup must be a number of at least 0 and below 1, not 1"


def test_the_rate_rises_from_zero_and_gradients_are_clipped_to_one(tiny):
    method = SequenceClassifier(tiny, **VALUES)
    schedule = method.schedule(torch.optim.SGD(tiny.model.parameters(), lr=1.0), steps=4, warmup=0.5)
    assert [schedule.lr_lambdas[0](step) for step in range(5)] == [0.0, 0.5, 1.0, 0.5, 0.0]
    assert clipped_norm(method) == pytest.approx(1, rel=1e-2)


@pytest.mark.parametrize(("task", "shape"), [("mnli", (0, 3)), ("stsb", (0,))])
def test_a_share_without_examples_has_no_outputs(tiny, tmp_path, task, shape):
    data = make_data(tiny, tmp_path, task)
    method = SequenceClassifier(tiny, **VALUES | {"debiasing": Debiasing()})
    fit(method, data, tmp_path, max_steps=1, limit_val_batches=0)
    batch = next(iter(data.val_dataloader()))
    assert method(replace(batch, labels=batch.labels[:0])).shape == shape
    assert tiny.model.config._attn_implementation == "eager"  # faster on a CPU
    facts = method.facts()
    assert facts["trained_parameters"] == sum(weight.numel() for weight in tiny.model.parameters())
    assert facts["debiasing"] == "none"


def test_debiasing_that_reads_claims_needs_labelled_pairs():
    def read(labels=("a", "b"), options=False, second="c"):
        task = SimpleNamespace(name="t", labels=labels, options=options)
        examples = {"train": [Example("x", second, 0), Example("x", "d", 1)]}
        return Debiasing().second_texts(SimpleNamespace(task=task, examples=examples))

    assert read() == ["c", "d"]
    for changes in ({"labels": ()}, {"options": True}, {"second": None}):
        with pytest.raises(FairlabError, match="works on labelled pairs of texts"):
            read(**changes)
