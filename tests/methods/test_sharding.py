"""Blocks that are sharded, and the part of processes without items, in one process."""

from types import SimpleNamespace

import pytest
import torch
from torch import nn

from fairlab.methods import sharding
from fairlab.methods.sharding import empty_sharded_output, gather_sharded_weights, shard_by_block


@pytest.mark.parametrize(
    ("precision", "kinds"), [("bf16-mixed", (torch.bfloat16, torch.float32)), ("32-true", (None, None))]
)
def test_blocks_and_the_rest_are_sharded_and_gathered_in_the_number_format_of_the_run(monkeypatch, precision, kinds):
    asked = []
    monkeypatch.setattr(sharding, "fully_shard", lambda unit, **settings: asked.append((unit, settings)))
    monkeypatch.setattr(sharding, "transformer_blocks", lambda model: [f"{model} 1", f"{model} 2"])
    method = SimpleNamespace(encoder=SimpleNamespace(model="block"))
    shard_by_block(method, "mesh", precision)
    assert [unit for unit, _ in asked] == ["block 1", "block 2", method]
    policies = [settings.pop("mp_policy") for _, settings in asked]
    assert {(policy.param_dtype, policy.reduce_dtype) for policy in policies} == {kinds}
    block = {"mesh": "mesh", "reshard_after_forward": True}
    assert [settings for _, settings in asked] == [block, block, {"mesh": "mesh"}]


def test_a_share_without_items_is_nothing_and_moves_no_weight(tiny):
    for shape in ((), (0, 3)):
        found = empty_sharded_output(tiny, tiny, *shape)
        assert (found.shape, found.sum().item()) == (shape, 0)
    empty_sharded_output(tiny, tiny).backward()
    assert all(weight.grad is None or not weight.grad.any() for weight in tiny.model.parameters())


def test_a_method_that_was_not_sharded_stays_as_it_is():
    method = nn.Linear(2, 2)
    weight = method.weight
    gather_sharded_weights(method)
    assert method.weight is weight
