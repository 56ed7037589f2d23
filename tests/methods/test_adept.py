"""The bandwidth of ADEPT-F."""

import pytest
import torch

from tests.methods.test_prototypes import COMPAT, adept


def test_a_scaled_rho_is_found_on_the_first_words_that_differ_and_stays(tiny):
    method = adept(tiny, rho="scaled")
    method.prototypes = torch.zeros(2, 1, 3)
    words = torch.tensor([[[0.5, 0.0, 0.0]], [[0.0, 1.0, 0.0]], [[0.0, 0.0, 1.5]]])
    assert method.bias_loss(words[:1]).item() == 0
    assert method.rho.isnan()
    assert method.bias_loss(words[[1, 1, 1]]).item() == 0  # equally near: they say nothing of a bandwidth
    assert method.rho.isnan()
    method.bias_loss(words)
    found = method.rho.item()
    assert found == pytest.approx((torch.tensor([0.25, 1.0, 2.25]).std(correction=0).item() / 2) ** 0.5)
    method.bias_loss(10 * words)
    assert method.facts()["rho"] == found


def test_only_a_rho_that_was_found_is_kept_in_checkpoints(tiny):
    assert "rho" in adept(tiny, rho="scaled").state_dict()
    assert "rho" not in adept(tiny).state_dict()


def test_rho_is_that_of_the_mode_unless_given(tiny):
    assert [adept(tiny, compat).rho.item() for compat in COMPAT] == [15.0, 10.0, 15.0]
    assert adept(tiny, rho=2.5).facts()["rho"] == 2.5
