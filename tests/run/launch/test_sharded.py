"""Whole and sharded checkpoints of Lightning's strategy, by stubs."""

from pathlib import Path
from types import SimpleNamespace

import pytest
import torch
from lightning.pytorch.strategies import ModelParallelStrategy

from fairlab.run.launch import sharded
from fairlab.run.launch.sharded import Sharded


@pytest.fixture
def asked(monkeypatch):
    found = []
    for name in ("save_checkpoint", "load_checkpoint", "setup_environment"):
        monkeypatch.setattr(ModelParallelStrategy, name, lambda self, *given, name=name: found.append((name, *given)))
    monkeypatch.setattr(sharded, "load_shards", lambda *given: found.append(("load_shards", *given)))
    return found


@pytest.fixture
def strategy(asked):
    made = Sharded()
    vars(made)["writer"] = SimpleNamespace(
        wait=lambda: asked.append(("wait",)),
        start=lambda *given: asked.append(("start", *given, made._save_distributed_checkpoint)),
        group="group",
    )
    return made


def test_a_checkpoint_is_whole_unless_a_sharded_one_was_started(strategy, asked, tmp_path):
    trainer = SimpleNamespace(save_checkpoint=lambda folder: strategy.save_checkpoint({"a": 1}, str(folder)))
    strategy.save_checkpoint({"a": 1}, "file")
    strategy.start_checkpoint(trainer, tmp_path, "publish")
    strategy.save_checkpoint({"a": 1}, "file")
    whole = ("save_checkpoint", {"a": 1}, "file", None)
    assert asked == [whole, ("wait",), ("start", {"a": 1}, Path(tmp_path), "publish", True), whole]
    assert strategy._save_distributed_checkpoint is False
    with pytest.raises(ZeroDivisionError):
        strategy.start_checkpoint(SimpleNamespace(save_checkpoint=lambda folder: 1 / 0), tmp_path, "publish")
    assert strategy._save_distributed_checkpoint is False


def test_a_folder_is_loaded_in_shards(strategy, asked, tmp_path):
    strategy._model, strategy._optimizers = "model", ["optimizer"]
    strategy.load_checkpoint(tmp_path / "file", True)
    strategy.load_checkpoint(tmp_path)
    assert asked == [
        ("load_checkpoint", tmp_path / "file", True),
        ("load_shards", tmp_path, "model", ["optimizer"], "group"),
    ]


def test_weights_are_divided_among_all_processes(strategy):
    strategy.parallel_devices, strategy.num_nodes = [torch.device("cpu")] * 3, 2
    strategy.setup_environment()
    assert (strategy._data_parallel_size, strategy._tensor_parallel_size) == (6, 1)
