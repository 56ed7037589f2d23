"""Optimizers and schedules: values by hand, and those that the files of methods choose."""

from functools import partial
from types import SimpleNamespace

import pytest
import torch
from hydra import compose, initialize_config_dir
from torch import nn
from transformers import get_cosine_schedule_with_warmup, get_linear_schedule_with_warmup

from fairlab.checks.values import target_of
from fairlab.data.seeding import seed_of
from fairlab.methods import base
from fairlab.methods.base import Trained
from fairlab.methods.optimizing import cosine, linear, make_optimizer, make_schedule, takes_one_pass
from fairlab.run.command_line.cli import choices, conf_dir
from fairlab.run.config.build import plain
from fairlab.run.config.optimizing import set_optimizer


def weights():
    return [nn.Parameter(torch.ones(2, 2)), nn.Parameter(torch.ones(2))]


def rates(schedule, steps):
    found = []
    for _ in range(steps):
        found.append(schedule.get_last_lr()[0])
        schedule.optimizer.step()
        schedule.step()
    return found


def scheduled(make, steps, count=None, **values):
    optimizer = torch.optim.SGD(weights(), lr=1.0)
    return rates(make_schedule(make, optimizer, steps, values), count or steps)


def test_rates_by_hand():
    assert scheduled(linear, 4, 5) == [1.0, 0.75, 0.5, 0.25, 0.0]
    assert scheduled(linear, 4, 5, warmup=0.5) == pytest.approx([1 / 3, 2 / 3, 1.0, 0.5, 0.0])
    assert scheduled(linear, 4, 5, warmup=2) == pytest.approx([1 / 3, 2 / 3, 1.0, 0.5, 0.0])
    assert scheduled(linear, 4, 5, floor=0.2) == pytest.approx([1.0, 0.8, 0.6, 0.4, 0.2])
    assert scheduled(partial(linear, from_zero=True), 4, 5, warmup=0.5) == [0.0, 0.5, 1.0, 0.5, 0.0]
    assert scheduled(linear, 4, 6, warmup=1) == pytest.approx([0.5, 1.0, 2 / 3, 1 / 3, 0.0, 0.0])
    assert scheduled(linear, 2, 3, warmup=2) == pytest.approx([1 / 3, 2 / 3, 0.0])
    assert scheduled(cosine, 2, 3, warmup=2) == pytest.approx([1 / 3, 2 / 3, 1.0])
    assert scheduled(cosine, 4, 5, warmup=2, floor=0.2) == pytest.approx([1 / 3, 2 / 3, 1.0, 0.6, 0.2])
    assert scheduled(cosine, 4, 5) == pytest.approx([1.0, (1 + 0.5**0.5) / 2, 0.5, (1 - 0.5**0.5) / 2, 0.0])


@pytest.mark.parametrize(
    ("ours", "theirs"), [(linear, get_linear_schedule_with_warmup), (cosine, get_cosine_schedule_with_warmup)]
)
@pytest.mark.parametrize("warmup", [0.0, 0.06, 0.31])
def test_from_zero_is_the_schedule_of_transformers(ours, theirs, warmup):
    optimizer = torch.optim.SGD(weights(), lr=1.0)
    expected = rates(theirs(optimizer, int(warmup * 37), 37), 37)
    assert scheduled(partial(ours, from_zero=True), 37, warmup=warmup) == expected


def test_a_schedule_of_torch_is_told_the_steps_of_the_run():
    found = scheduled(torch.optim.lr_scheduler.CosineAnnealingLR, 10, 11)
    assert found[-1] == pytest.approx(0)
    assert scheduled(partial(torch.optim.lr_scheduler.CosineAnnealingLR, T_max=5), 10, 6)[-1] == pytest.approx(0)


def test_biases_and_norms_can_be_left_out_of_the_decay():
    values = {"lr": 0.1, "weight_decay": 0.5}
    for decayed, expected in (("all", [0.95, 0.95]), ("matrices", [0.95, 1.0])):
        chosen = weights()
        optimizer = make_optimizer(torch.optim.SGD, chosen, decayed, values)
        for weight in chosen:
            weight.grad = torch.zeros_like(weight)
        optimizer.step()
        assert [weight.flatten()[0].item() for weight in chosen] == pytest.approx(expected)


def test_a_bias_is_in_one_group():
    groups = make_optimizer(torch.optim.SGD, weights(), "matrices", {"lr": 0.1}).param_groups
    assert [[weight.ndim for weight in group["params"]] for group in groups] == [[2], [1]]


def test_an_optimizer_is_fused_unless_it_cannot_or_a_setting_says_how():
    adam = torch.optim.AdamW
    fused = [takes_one_pass(make) for make in (adam, partial(adam, eps=1e-6), partial(adam, foreach=True))]
    assert [*fused, takes_one_pass(torch.optim.RMSprop)] == [True, True, False, False]


class OfFour(Trained):
    """A method with four trained weights, in a run of seven batches of which two make a step."""

    def __init__(self, precision="32-true", **values):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(2, 2))
        vars(self).update({"lr": 0.1} | values)
        data = SimpleNamespace(total_batches=7)
        self._trainer = SimpleNamespace(precision=precision, accumulate_grad_batches=2, datamodule=data)


@pytest.mark.parametrize(
    ("precision", "clip", "fused"), [("32-true", 1.0, True), ("16-mixed", 1.0, False), ("16-mixed", None, True)]
)
def test_clipping_in_half_precision_needs_an_optimizer_that_is_not_fused(precision, clip, fused):
    assert OfFour(precision, clip=clip).configure_optimizers()["optimizer"].defaults["fused"] is fused


@pytest.mark.parametrize(("most", "last"), [(None, 4), (9, 4), (3, 3)])
def test_the_rate_reaches_nothing_at_the_last_step(most, last):
    made = OfFour(steps=most).configure_optimizers()
    rate = made["lr_scheduler"]["scheduler"].lr_lambdas[0]
    assert [rate(0), rate(last - 1), rate(last)] == pytest.approx([1.0, 1 / last, 0.0])
    assert made["optimizer"].defaults["weight_decay"] == 0


@pytest.mark.parametrize(
    ("given", "own", "gradient"),
    [
        ((None, None), 1.0, 0.5),
        ((None, None), None, 1.0),
        ((0.5, "norm"), 1.0, 0.25),
        ((0.25, "value"), 1.0, 0.25),
        ((0.0, "value"), 1.0, 1.0),
        ((0.0, None), 1.0, 1.0),
    ],
)
def test_the_trainer_clips_gradients_or_else_the_method(given, own, gradient):
    method = OfFour(clip=own)
    method.weight.grad = torch.ones(2, 2)  # of norm 2
    method.configure_gradient_clipping(None, *given)
    torch.testing.assert_close(method.weight.grad, torch.full((2, 2), gradient), atol=1e-5, rtol=1e-5)


def test_the_randomness_of_a_batch_is_that_of_its_number_and_process():
    method = OfFour(seed=3)
    method._trainer.world_size, method._trainer.global_rank = 4, 1
    method.on_train_batch_start(None, 5)
    assert torch.initial_seed() == seed_of(3, 21)


def test_weights_are_sharded_once_and_only_if_the_trainer_asks_for_it(monkeypatch):
    asked = []
    monkeypatch.setattr(base, "shard_by_block", lambda *given: asked.append(given))
    method = OfFour("bf16-mixed")
    method.configure_model()
    assert asked == []
    method._device_mesh = {"data_parallel": "mesh"}
    method.configure_model()
    assert asked == [(method, "mesh", "bf16-mixed")]
    monkeypatch.setattr(base, "FSDPModule", OfFour)
    method.configure_model()
    assert len(asked) == 1


def test_what_a_partial_holds_is_kept():
    optimizer = make_optimizer(partial(torch.optim.AdamW, lr=0.3), weights(), "all", {"lr": 0.1, "betas": (0.5, 0.6)})
    assert (optimizer.defaults["lr"], optimizer.defaults["betas"]) == (0.3, (0.5, 0.6))


def steps_of(method, chosen):
    """Settings of the optimizer's groups, and 20 rates, of a method that holds the values of a configuration."""
    values = {"lr": chosen["lr"], "weight_decay": chosen.get("weight_decay", 0.0)}
    values |= {"betas": tuple(chosen["betas"])} if "betas" in chosen else {}
    optimizer = make_optimizer(method.optimizer, weights(), method.decayed, values)
    groups = [{key: group[key] for key in ("lr", "betas", "weight_decay", "eps")} for group in optimizer.param_groups]
    groups = [{**group, "betas": tuple(group["betas"])} for group in groups]
    found = None
    if method.schedule is not None:
        values = {"warmup": chosen.get("warmup", 0.0), "floor": chosen.get("decay", 0.0)}
        found = rates(make_schedule(method.schedule, optimizer, 20, values), 20)
    return type(optimizer), groups, found


@pytest.mark.parametrize("scale", choices("scale"))
@pytest.mark.parametrize("name", choices("method"))
def test_a_methods_file_chooses_what_the_method_does_by_itself(name, scale):
    with initialize_config_dir(conf_dir(), version_base="1.3"):
        config = compose("train", overrides=[f"method={name}", f"scale={scale}"])
    kind = target_of(config.method)
    if not issubclass(kind, Trained):
        assert (config.get("optimizer"), config.get("schedule")) == (None, None)
        return
    configured = type(kind.__name__, (), {one: getattr(kind, one) for one in ("optimizer", "schedule", "decayed")})()
    set_optimizer(config, configured)
    assert steps_of(configured, plain(config.method)) == steps_of(kind, plain(config.method))
