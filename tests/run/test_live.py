"""Figures of a training while it runs."""

from types import SimpleNamespace

import lightning
import pytest
import torch
from torch import nn

from fairlab.methods.mlm import MLM
from fairlab.run.history import History
from fairlab.run.live import Figures, LiveBar, flops_of_a_token, peak_of
from fairlab.run.planning.hours import gpus
from tests.methods.test_mlm import VALUES, make_data


def trainer(done, device="cpu"):
    progress = SimpleNamespace(batch_progress=SimpleNamespace(current=SimpleNamespace(ready=done)))
    return SimpleNamespace(
        fit_loop=SimpleNamespace(epoch_loop=progress),
        strategy=SimpleNamespace(root_device=torch.device(device)),
        precision="bf16-mixed",
    )


def test_figures_follow_from_the_rate():
    found = Figures(tokens=500.0, batches=100).of(trainer(20), nn.Linear(2, 2), rate=4.0)
    assert found == {"seconds_left": 20.0, "tokens_per_second": 2000.0}


def test_the_share_of_a_gpu_s_peak(monkeypatch):
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda device: "NVIDIA H100 80GB HBM3")
    monkeypatch.setattr(torch.cuda, "max_memory_allocated", lambda device: 3_000_000_000)
    found = Figures(tokens=500.0, batches=100).of(trainer(20, "cuda"), nn.Linear(2, 2, bias=False), rate=4.0)
    assert found["memory_gb"] == 3.0
    assert found["share_of_peak"] == pytest.approx(6 * 4 * 2000 / 989e12)
    monkeypatch.setattr("fairlab.run.live.ranks", lambda: 2)
    found = Figures(tokens=500.0, batches=100).of(trainer(20, "cuda"), nn.Linear(2, 2, bias=False), rate=4.0)
    assert found["share_of_peak"] == pytest.approx(6 * 4 * 1000 / 989e12)
    assert set(Figures(tokens=0.0, batches=100).of(trainer(20, "cuda"), nn.Linear(2, 2), rate=4.0)) == {
        *("seconds_left", "memory_gb"),
    }


def test_the_bar_shows_what_is_known(monkeypatch, tmp_path):
    monkeypatch.setattr("lightning.pytorch.callbacks.RichProgressBar.get_metrics", lambda self, *_: {"v_num": 1})
    history = History(tmp_path)
    assert LiveBar(history).get_metrics(None, None) == {"v_num": 1}
    history.last = {"step": 3, "train/loss": 0.0}
    history.live = {"seconds_left": 5400.0, "share_of_peak": 0.42, "memory_gb": 3.25, "tokens_per_second": 1234.0}
    assert LiveBar(history).get_metrics(None, None) == {
        **{"v_num": 1, "loss": "0", "tokens/s": "1,234", "of peak": "42%", "GB": "3.2", "hours left": "1.5"},
    }


def test_peaks_by_name_and_precision():
    assert peak_of("NVIDIA A100-SXM4-80GB", "32-true", gpus()) == 19.5e12
    assert peak_of("NVIDIA A100-SXM4-80GB", "bf16-mixed", gpus()) == 312e12
    assert peak_of("a card of tomorrow", "32-true", gpus()) is None


def test_a_token_costs_six_flop_a_weight_and_four_with_few_trained():
    model = nn.Sequential(nn.Embedding(100, 8), nn.Linear(8, 8, bias=False), nn.Linear(8, 1, bias=False))
    assert flops_of_a_token(model) == 6 * 72
    model[1].requires_grad_(False)
    assert flops_of_a_token(model) == 4 * 72
    model[2] = nn.Linear(8, 8, bias=False)
    assert flops_of_a_token(model) == 6 * 128
    model[2] = nn.Linear(8, 4, bias=False)  # a third of 64 + 32 weights
    assert flops_of_a_token(model) == 4 * 96


def test_the_figures_of_a_run_are_logged_and_shown(tiny, tmp_path):
    logged = []

    class Logger(lightning.pytorch.loggers.logger.DummyLogger):
        def log_metrics(self, metrics, step):
            logged.append((step, metrics))

    method, data = MLM(tiny, **VALUES), make_data(tiny, tmp_path)
    history = History(tmp_path)
    history.figures = Figures(10.0, data.total_batches).of
    of = lightning.Trainer(
        max_steps=6,
        accelerator="cpu",
        limit_val_batches=0,
        num_sanity_val_steps=0,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
        logger=Logger(),
        callbacks=[history],
    )
    of.fit(method, data)
    rows = [(step, metrics) for step, metrics in logged if "train/loss" in metrics]
    assert [step for step, _ in rows] == [0, 1, 2, 3, 4, 5]
    assert rows[-1][1]["speed/tokens_per_second"] == history.live["tokens_per_second"] > 0
    shown = LiveBar(history).get_metrics(of, method)
    assert {"loss", "tokens/s", "hours left"} <= set(shown)
