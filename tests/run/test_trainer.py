"""Lightning's trainer as a run builds it, and what a run says of the machine before it trains."""

from types import SimpleNamespace

import pytest
import torch
from lightning.fabric.utilities.exceptions import MisconfigurationException
from omegaconf import OmegaConf

from fairlab.record import Record
from fairlab.run.history import History
from fairlab.run.trainer import (
    fit,
    make_trainer,
    our_strategy,
    parts_of_a_step,
    slow_precision,
    slower_bfloat16,
    throughput,
)
from fairlab.types import FairlabError


def trainer(precision, device="cpu"):
    return SimpleNamespace(precision=precision, strategy=SimpleNamespace(root_device=SimpleNamespace(type=device)))


@pytest.mark.parametrize(
    ("precision", "device", "times", "said"),
    [
        ("bf16-mixed", "cpu", 1.86, True),
        ("bf16-mixed", "cpu", 1.2, False),
        ("bf16-mixed", "cpu", 0.5, False),
        ("32-true", "cpu", 1.86, False),
        ("bf16-mixed", "cuda", 1.86, False),
    ],
)
def test_mixed_precision_that_costs_time_is_said(monkeypatch, precision, device, times, said):
    monkeypatch.setattr("fairlab.run.trainer.slower_bfloat16", lambda: times)
    found = slow_precision(trainer(precision, device))
    assert len(found) == said
    for sentence in found:
        assert sentence.startswith("matrix products take 1.9 times as long in bfloat16")
        assert "trainer.precision=32-true" in sentence
    monkeypatch.setattr("fairlab.run.trainer.slower_bfloat16", lambda: 1.21)
    assert len(slow_precision(trainer("bf16-mixed"))) == 1


def test_the_slowness_of_bfloat16_is_a_ratio_of_the_fastest_products(monkeypatch):
    class Timer:
        def __init__(self, product):
            self.fastest = {torch.bfloat16: 3.0, torch.float32: 2.0}[product().dtype]

        def timeit(self, number):
            return 9.0

        def repeat(self, repeat, number):
            return [5.0, self.fastest, 4.0][:repeat]

    monkeypatch.setattr("fairlab.run.trainer.Timer", Timer)
    assert slower_bfloat16() == 1.5


@pytest.mark.parametrize(
    ("batch", "device_batch", "processes", "parts"),
    [(8192, 32, 8, 32), (10, None, 1, 1), (10, 4, 1, 5), (10, 5, 1, 2), (10, 10, 1, 1), (10, 3, 2, 2), (7, 4, 1, 7)],
)
def test_a_step_has_the_fewest_equal_parts_that_fit(batch, device_batch, processes, parts):
    assert parts_of_a_step(batch, device_batch, processes) == parts


def built(tmp_path, monkeypatch, *, steps=None, max_steps=None, total=400, every=10, terminal=False, first=True):
    monkeypatch.setattr("sys.stderr.isatty", lambda: terminal, raising=False)
    hardware = {"accelerator": "cpu", "devices": 1, "matmul_precision": "highest", "checkpoint_every": 5}
    config = {"trainer": {**hardware, "max_steps": max_steps, "attention": None, "compile": False}, "logger": {}}
    method = SimpleNamespace(
        steps=steps, validate_every=every, monitor="validation/loss", patience=None, measurable_before=first
    )
    data = SimpleNamespace(total_batches=total, epochs=2, sizes=lambda: {"tokens": 1000, "examples": 100})
    history = History(tmp_path)
    record = Record(tmp_path, {}, "")
    return make_trainer(OmegaConf.create(config), record, history, None, method, data, 4), history


@pytest.mark.parametrize(
    ("settings", "most"),
    [({}, 400), ({"steps": 50}, 50), ({"steps": 50, "max_steps": 30}, 30), ({"steps": -1, "max_steps": -1}, 400)],
)
def test_the_least_bound_ends_a_training(tmp_path, monkeypatch, settings, most):
    assert built(tmp_path, monkeypatch, **settings)[0].max_steps == most


def test_a_trainer_makes_one_pass_in_parts_and_shows_bars_on_a_terminal_alone(tmp_path, monkeypatch):
    found, history = built(tmp_path, monkeypatch)
    assert (found.max_epochs, found.accumulate_grad_batches, found.val_check_interval) == (1, 4, 40)
    assert (found.num_sanity_val_steps, found.log_every_n_steps, found.loggers) == (0, 1, [])
    assert found._accelerator_connector.use_distributed_sampler is False
    names = ["History", "Acceleration", "Checkpoints"]
    assert sorted(type(one).__name__ for one in found.callbacks) == sorted(names)
    assert history.figures.__self__.tokens == 1000 * 2 / 400
    shown, _ = built(tmp_path, monkeypatch, terminal=True, every=1000, first=False)
    assert shown.val_check_interval == 400
    assert sorted(type(one).__name__ for one in shown.callbacks) == ["Checkpoints", "History", "LiveBar"]


def test_names_of_strategies_that_have_settings():
    assert our_strategy("ddp")._ddp_kwargs == {"gradient_as_bucket_view": True}
    assert type(our_strategy("fsdp")).__name__ == "Sharded"
    assert our_strategy("auto") is None


def test_the_speed_of_a_training_by_hand():
    """Thirty of the 120 batches of two epochs are half a pass over the data."""
    data = SimpleNamespace(total_batches=120, epochs=2, sizes=lambda: {"tokens": 1000, "examples": 100})
    assert throughput(data, SimpleNamespace(batches=30, seconds=2.0)) == {
        "tokens_per_second": 250.0,
        "examples_per_second": 25.0,
    }
    assert throughput(data, SimpleNamespace(batches=0, seconds=0.0)) == {}


class Trains:
    """A trainer that notes what it is asked for."""

    def __init__(self, error=None):
        self.error, self.asked = error, []

    def fit(self, method, data, ckpt_path, weights_only):
        self.asked.append(ckpt_path and ckpt_path.rpartition("/")[2])
        if self.error:
            raise self.error

    def validate(self, method, data, verbose):
        self.asked.append(f"validated, verbose={verbose}")


def fitted(folder, *, error=None, last=("train/loss", "validation/loss"), damaged=()):
    """Train with checkpoints from before; return the calls, the weight and the record."""
    (folder / "checkpoints").mkdir()
    for name, value in (("best", 2.0), ("last", 3.0), ("previous", 4.0)):
        file = folder / "checkpoints" / f"{name}.ckpt"
        torch.save({"state_dict": {"weight": torch.full((1, 1), value)}}, file)
        if name in damaged:
            file.write_bytes(b"x")
    method, of = torch.nn.Linear(1, 1, bias=False), Trains(error)
    record = Record(folder, {}, "")
    fit(of, method, None, record, SimpleNamespace(last=dict.fromkeys(last, 1.0), rows=[{"step": 1}]))
    return of.asked, method.weight.item(), Record.load(folder)


def test_training_ends_with_the_best_weights(tmp_path):
    asked, weight, record = fitted(tmp_path)
    assert (asked, weight, record.history, record.notes) == (["last.ckpt"], 2.0, [{"step": 1}], [])


def test_the_last_weights_are_validated_too(tmp_path):
    assert fitted(tmp_path, last=("train/loss",))[0] == ["last.ckpt", "validated, verbose=False"]


@pytest.mark.parametrize(
    ("damaged", "resumed", "said"),
    [
        (["last"], "previous.ckpt", ["checkpoints/last.ckpt is damaged; training resumed from previous.ckpt"]),
        (
            ["last", "previous"],
            None,
            [f"checkpoints/{name}.ckpt is damaged; training resumed from its start" for name in ("last", "previous")],
        ),
    ],
)
def test_a_damaged_checkpoint_is_passed_over_and_noted(tmp_path, damaged, resumed, said):
    asked, _, record = fitted(tmp_path, damaged=damaged)
    assert asked == [resumed]
    assert [note.text for note in record.notes] == said


@pytest.mark.parametrize(
    ("changes", "kind", "words"),
    [
        ({"last": ()}, FairlabError, "training ended before its first step"),
        ({"damaged": ["best"]}, FairlabError, "best.ckpt is damaged; remove"),
        ({"error": RuntimeError("in loading state_dict: x")}, FairlabError, "holds a model that is not the one of"),
        ({"error": RuntimeError("no memory")}, RuntimeError, "no memory"),
        ({"error": MisconfigurationException("a\n b")}, FairlabError, "with these callbacks: a b; change callbacks"),
    ],
)
def test_a_training_that_cannot_end_well(tmp_path, changes, kind, words):
    with pytest.raises(kind, match=words):
        fitted(tmp_path, **changes)
