"""BiLSTMs as sources, on random weights."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from fairlab.ensemble.bilstm import BiLSTM, _Network
from fairlab.types import DataUnavailable, FairlabError


def test_a_bilstm_that_is_not_there_is_said(tmp_path):
    with pytest.raises(DataUnavailable, match="pip install --no-deps tox-block"):
        BiLSTM(package="tox_block", folder=str(tmp_path))
    with pytest.raises(FairlabError, match="no BiLSTM is known"):
        BiLSTM(package="other")


def test_the_lstm_is_keras_step_by_step():
    """Gates in the order input, forget, cell, output; kernel (input, 4 units); maximum over time of both directions."""
    torch.manual_seed(0)
    network = _Network().eval()
    ids = torch.randint(0, 50, (1, 100))
    state = {name: value.double().numpy() for name, value in network.state_dict().items()}
    embedded = state["embedding.weight"][ids[0].numpy()]

    def run(inputs, suffix):
        kernel, recurrent = state[f"lstm.weight_ih_l0{suffix}"].T, state[f"lstm.weight_hh_l0{suffix}"].T
        bias = state[f"lstm.bias_ih_l0{suffix}"] + state[f"lstm.bias_hh_l0{suffix}"]
        hidden, cell, states = np.zeros(50), np.zeros(50), []
        for one in inputs:
            into, forget, new, out = np.split(one @ kernel + hidden @ recurrent + bias, 4)
            gate = lambda value: 1 / (1 + np.exp(-value))  # noqa: E731
            cell = gate(forget) * cell + gate(into) * np.tanh(new)
            hidden = gate(out) * np.tanh(cell)
            states.append(hidden)
        return np.max(states, axis=0)

    pooled = np.concatenate([run(embedded, ""), run(embedded[::-1], "_reverse")])
    dense = np.maximum(state["dense.weight"] @ pooled + state["dense.bias"], 0)
    expected = 1 / (1 + np.exp(-(state["dense_1.weight"] @ dense + state["dense_1.bias"])))
    with torch.inference_mode():
        np.testing.assert_allclose(network(ids)[0].numpy(), expected, atol=1e-5)


def test_zeros_before_a_text_are_counted_without_being_run_through():
    """The same as the whole network on 100 words, zeros first, whatever the text's length."""
    torch.manual_seed(1)
    network = _Network().eval()
    ids = torch.randint(1, 50, (3, 100))
    ids[0, :97] = 0
    ids[1, :60] = 0
    with torch.inference_mode():
        states, _ = network.lstm(network.embedding(ids))
        whole = torch.sigmoid(network.dense_1(torch.relu(network.dense(states.amax(dim=1)))))
        for length, rows in ((3, [0]), (40, [0, 1]), (100, [0, 1, 2])):
            np.testing.assert_allclose(network(ids[rows, -length:]), whole[rows], atol=1e-6)
